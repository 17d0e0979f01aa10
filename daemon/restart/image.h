// SPDX-License-Identifier: Apache-2.0
// What a daemon leaves to the next one, as bytes (docs/restart.md): a header with kind, version, size and
// checksum before what the subject has written. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/address.h"
#include "daemon/core/wire.h"

namespace lossless::restart {

enum class Kind : std::uint8_t { Bgp = 1, Inof = 2, Bfd = 3 };
inline constexpr std::size_t kKinds = 3;
std::string_view to_string(Kind kind);  // "bgp"

inline constexpr std::size_t kHeader = 28;  // magic 8, kind 2, version 2, size 8, checksum 8

Bytes wrap(Kind kind, std::uint16_t version, ByteView body);
// The body, which is part of `image`; or why it is not used: no image, another kind or version, cut short,
// changed. Bytes behind the image are passed over.
std::expected<ByteView, std::string> unwrap(ByteView image, Kind kind, std::uint16_t version);

// The values that states are made of. Times are of the monotonic clock, which all processes share.
class Writer {
 public:
  Writer& u8(std::uint32_t value);
  Writer& u16(std::uint32_t value);
  Writer& u32(std::uint32_t value);
  Writer& u64(std::uint64_t value);
  Writer& flag(bool value) { return u8(value ? 1 : 0); }
  Writer& bytes(ByteView value);  // at most 4 GiB
  Writer& text(std::string_view value);
  Writer& address(const IpAddress& value);
  Writer& time(std::chrono::microseconds value) { return u64(static_cast<std::uint64_t>(value.count())); }
  Writer& time(const std::optional<std::chrono::microseconds>& value);
  Bytes take() { return out_.take(); }

 private:
  WireWriter out_;
};

// Like WireReader: after something that cannot be, everything read is empty and ok() is false.
class Reader {
 public:
  explicit Reader(ByteView in) : in_(in) {}
  bool ok() const { return in_.ok() && good_; }
  bool at_end() const { return in_.left() == 0; }
  std::uint8_t u8() { return in_.u8(); }
  std::uint16_t u16() { return in_.u16(); }
  std::uint32_t u32() { return in_.u32(); }
  std::uint64_t u64();
  bool flag() { return number_below(2) != 0; }
  // One byte below `end`.
  std::uint8_t number_below(unsigned end);
  // How many of something follow, of which each takes `least` bytes or more.
  std::size_t count(std::size_t least);
  ByteView view();
  Bytes bytes();
  std::string text();
  IpAddress address();
  std::chrono::microseconds time();
  std::optional<std::chrono::microseconds> optional_time();
  void fail() { good_ = false; }

 private:
  WireReader in_;
  bool good_ = true;
};

}  // namespace lossless::restart
