// SPDX-License-Identifier: Apache-2.0
// IP and Ethernet addresses as values with their text. Pure.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/wire.h"

namespace lossless {

struct IpAddress {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // network order; IPv4: the first four, the others 0

  static IpAddress v4_of(ByteView four);     // exactly 4 bytes
  static IpAddress v6_of(ByteView sixteen);  // exactly 16 bytes
  // Of 16 bytes that hold IPv4 as ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2), as the datapath's maps do.
  static IpAddress of_mapped(ByteView sixteen);
  std::array<std::uint8_t, 16> mapped() const;
  std::size_t size() const { return v6 ? 16 : 4; }
  ByteView view() const { return ByteView(bytes).first(size()); }
  bool is_zero() const;
  bool is_link_local() const { return v6 && bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80; }
  auto operator<=>(const IpAddress&) const = default;
};

// "10.0.0.1" or "fd00::1"; no scope, no prefix length.
std::optional<IpAddress> parse_ip(std::string_view text);
std::string to_string(const IpAddress& address);
// "02:00:00:aa:00:02"
std::string mac_text(ByteView mac);

}  // namespace lossless
