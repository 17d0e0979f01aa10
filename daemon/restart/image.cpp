// SPDX-License-Identifier: Apache-2.0
#include "daemon/restart/image.h"

#include <algorithm>
#include <array>

namespace lossless::restart {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic{'L', 'L', 'S', 'T', 'A', 'T', 'E', '\n'};
constexpr std::uint64_t kHalf = 32;

// FNV-1a over 8 bytes at a time: finds what was written in part, not what somebody forged.
std::uint64_t checksum(ByteView bytes) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t sum = 0xcbf29ce484222325;
  std::uint64_t word = 0;
  std::size_t in_word = 0;
  for (const std::uint8_t byte : bytes) {
    word = word << 8U | byte;
    if (++in_word < 8) continue;
    sum = (sum ^ word) * kPrime;
    sum ^= sum >> kHalf;
    word = in_word = 0;
  }
  return (sum ^ word ^ bytes.size()) * kPrime;
}

}  // namespace

std::string_view to_string(Kind kind) {
  static constexpr std::array<std::string_view, kKinds> kNames{"bgp", "inof", "bfd"};
  return kNames[static_cast<std::size_t>(kind) - 1];
}

Bytes wrap(Kind kind, std::uint16_t version, ByteView body) {
  Writer header;
  header.u16(static_cast<unsigned>(kind)).u16(version).u64(body.size()).u64(checksum(body));
  WireWriter out;
  out.bytes(kMagic).bytes(header.take()).bytes(body);
  return out.take();
}

std::expected<ByteView, std::string> unwrap(ByteView image, Kind kind, std::uint16_t version) {
  WireReader in(image);
  if (!std::ranges::equal(in.bytes(kMagic.size()), kMagic)) return std::unexpected("it is no saved state");
  if (in.u16() != static_cast<unsigned>(kind)) return std::unexpected("it is of another subject");
  if (const std::uint16_t theirs = in.u16(); theirs != version)
    return std::unexpected("its version is " + std::to_string(theirs) + ", this losslessd reads " +
                           std::to_string(version));
  Reader numbers(in.bytes(16));
  const std::uint64_t size = numbers.u64();
  if (!in.ok() || size > in.left()) return std::unexpected("it is cut short");
  const ByteView body = in.bytes(size);
  if (checksum(body) != numbers.u64()) return std::unexpected("its checksum is wrong");
  return body;
}

Writer& Writer::u8(std::uint32_t value) {
  out_.u8(value);
  return *this;
}
Writer& Writer::u16(std::uint32_t value) {
  out_.u16(value);
  return *this;
}
Writer& Writer::u32(std::uint32_t value) {
  out_.u32(value);
  return *this;
}
Writer& Writer::u64(std::uint64_t value) {
  out_.u32(static_cast<std::uint32_t>(value >> kHalf)).u32(static_cast<std::uint32_t>(value));
  return *this;
}
Writer& Writer::bytes(ByteView value) {
  out_.u32(static_cast<std::uint32_t>(value.size())).bytes(value);
  return *this;
}
Writer& Writer::text(std::string_view value) {
  return bytes(ByteView(reinterpret_cast<const std::uint8_t*>(value.data()), value.size()));
}
Writer& Writer::address(const IpAddress& value) {
  out_.u8(value.v6 ? 6 : 4).bytes(value.view());
  return *this;
}
Writer& Writer::time(const std::optional<std::chrono::microseconds>& value) {
  flag(value.has_value());
  return value ? time(*value) : *this;
}

std::uint64_t Reader::u64() {
  const std::uint64_t high = in_.u32();
  return high << kHalf | in_.u32();
}

std::uint8_t Reader::number_below(unsigned end) {
  const std::uint8_t value = in_.u8();
  if (value < end) return value;
  fail();
  return 0;
}

std::size_t Reader::count(std::size_t least) {
  const std::size_t value = in_.u32();
  if (value <= in_.left() / least) return value;
  fail();
  return 0;
}

ByteView Reader::view() {
  const std::size_t size = in_.u32();
  return in_.bytes(size);
}

Bytes Reader::bytes() {
  const ByteView value = view();
  return {value.begin(), value.end()};
}

std::string Reader::text() {
  const ByteView value = view();
  return {value.begin(), value.end()};
}

IpAddress Reader::address() {
  const std::uint8_t family = in_.u8();
  if (family != 4 && family != 6) fail();
  const ByteView value = in_.bytes(family == 6 ? 16 : 4);
  if (!ok()) return {};
  return family == 6 ? IpAddress::v6_of(value) : IpAddress::v4_of(value);
}

std::chrono::microseconds Reader::time() {
  return std::chrono::microseconds(static_cast<std::int64_t>(u64()));
}

std::optional<std::chrono::microseconds> Reader::optional_time() {
  if (!flag()) return std::nullopt;
  return time();
}

}  // namespace lossless::restart
