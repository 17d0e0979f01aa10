// SPDX-License-Identifier: Apache-2.0
// A run of IP addresses as configurations write it: one address, a prefix, or FIRST-LAST. Pure.
#pragma once

#include <compare>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/address.h"

namespace lossless {

struct AddressRange {
  IpAddress first;
  IpAddress last;  // of the same family, not below `first`

  static AddressRange of(const IpAddress& address) { return {address, address}; }
  bool single() const { return first == last; }
  bool contains(const IpAddress& address) const { return first <= address && address <= last; }
  auto operator<=>(const AddressRange&) const = default;
};

inline constexpr std::string_view kRangeForm =
    "an address, a prefix such as \"10.0.0.0/24\", or \"FIRST-LAST\", IPv4 or IPv6";

// "10.0.0.1", "10.0.0.0/24", "fd00::1-fd00::ff". A prefix with bits beyond its length is an error, as is a
// last address below the first. The error is the end of a sentence that begins with the text: "is not ...".
std::expected<AddressRange, std::string> parse_range(std::string_view text);
// The shortest of the three forms; parse_range(to_string(r)) == r.
std::string to_string(const AddressRange& range);

struct AddressPrefix {
  IpAddress address;
  unsigned length = 0;  // bits, 0 to 32 or 128
  bool operator==(const AddressPrefix&) const = default;
};
// The fewest prefixes that are together the range, in order: at most 62 (IPv4) or 254 (IPv6).
std::vector<AddressPrefix> prefixes_of(const AddressRange& range);

}  // namespace lossless
