// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/address.h"

#include <arpa/inet.h>

#include <algorithm>

namespace lossless {

IpAddress IpAddress::v4_of(ByteView four) {
  IpAddress out;
  std::ranges::copy(four.first(4), out.bytes.begin());
  return out;
}

IpAddress IpAddress::v6_of(ByteView sixteen) {
  IpAddress out{.v6 = true};
  std::ranges::copy(sixteen.first(16), out.bytes.begin());
  return out;
}

namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

IpAddress IpAddress::of_mapped(ByteView sixteen) {
  return std::ranges::equal(sixteen.first(12), kMappedPrefix) ? v4_of(sixteen.subspan(12)) : v6_of(sixteen);
}

std::array<std::uint8_t, 16> IpAddress::mapped() const {
  if (v6) return bytes;
  std::array<std::uint8_t, 16> out{};
  std::ranges::copy(kMappedPrefix, out.begin());
  std::ranges::copy(view(), out.begin() + kMappedPrefix.size());
  return out;
}

bool IpAddress::is_zero() const {
  return std::ranges::all_of(bytes, [](std::uint8_t b) { return b == 0; });
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  IpAddress out{.v6 = text.find(':') != std::string_view::npos};
  const std::string terminated(text);
  if (inet_pton(out.v6 ? AF_INET6 : AF_INET, terminated.c_str(), out.bytes.data()) != 1) return std::nullopt;
  return out;
}

std::string to_string(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(address.v6 ? AF_INET6 : AF_INET, address.bytes.data(), text.data(), text.size());
  return text.data();
}

std::string mac_text(ByteView mac) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : mac) {
    if (!out.empty()) out += ':';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xfU];
  }
  return out;
}

}  // namespace lossless
