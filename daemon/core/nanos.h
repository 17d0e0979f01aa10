// SPDX-License-Identifier: Apache-2.0
// Times as the datapath has them: nanoseconds in 64 bits. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace lossless {

inline constexpr std::uint64_t kMillisecondNs = 1'000'000;
inline constexpr std::uint64_t kSecondNs = 1'000'000'000;

// Whole milliseconds from one time to a later one; 0 when it is not later.
inline std::uint64_t ms_between(std::uint64_t from_ns, std::uint64_t to_ns) {
  return (to_ns - std::min(from_ns, to_ns)) / kMillisecondNs;
}

inline timespec timespec_of(std::uint64_t ns) {
  return {.tv_sec = static_cast<time_t>(ns / kSecondNs), .tv_nsec = static_cast<long>(ns % kSecondNs)};
}

}  // namespace lossless
