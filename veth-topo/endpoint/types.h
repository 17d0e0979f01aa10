// SPDX-License-Identifier: Apache-2.0
// Words that all parts of the endpoint share.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

namespace lossless::endpoint {

using Nanos = std::uint64_t;  // CLOCK_MONOTONIC, or any one clock in tests
inline constexpr Nanos kNever = std::numeric_limits<Nanos>::max();
inline constexpr Nanos kMicrosecond = 1000;
inline constexpr Nanos kMillisecond = 1000 * kMicrosecond;
inline constexpr Nanos kSecond = 1000 * kMillisecond;

// Time that `bytes` take at `bps`, rounded up. bytes < 2^27, bps > 0.
constexpr Nanos serialization_ns(std::uint64_t bytes, std::uint64_t bps) {
  return (bytes * 8 * kSecond + bps - 1) / bps;
}

// One address of a host; IPv4 in the first four bytes of `ip`.
struct Address {
  std::array<std::uint8_t, 6> mac{};
  std::array<std::uint8_t, 16> ip{};
  bool v6 = false;
  bool operator==(const Address&) const = default;
};

}  // namespace lossless::endpoint
