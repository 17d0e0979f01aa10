// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/address_range.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace lossless {
namespace {

__extension__ using Number = unsigned __int128;

Number number_of(const IpAddress& address) {
  Number n = 0;
  for (const std::uint8_t byte : address.view()) n = n << 8U | byte;
  return n;
}

IpAddress address_of(Number n, bool v6) {
  IpAddress out;
  out.v6 = v6;
  for (std::size_t i = out.size(); i-- > 0; n >>= 8U) out.bytes[i] = static_cast<std::uint8_t>(n);
  return out;
}

// The lowest `bits` bits set.
Number ones(unsigned bits) { return bits >= 128 ? ~Number{0} : (Number{1} << bits) - 1; }

unsigned width_of(bool v6) { return v6 ? 128 : 32; }

std::unexpected<std::string> no_range() { return std::unexpected("is not " + std::string(kRangeForm)); }

std::expected<AddressRange, std::string> parse_prefix(const IpAddress& address, std::string_view digits) {
  unsigned length = 0;
  const char* begin = digits.data();
  const char* end = begin + digits.size();
  const auto [stop, error] = std::from_chars(begin, end, length);
  if (error != std::errc{} || stop != end || digits.size() > 3) return no_range();
  const unsigned width = width_of(address.v6);
  if (length > width) return std::unexpected("has a prefix length above " + std::to_string(width));
  const Number host = ones(width - length);
  const Number first = number_of(address);
  if ((first & host) != 0) {
    return std::unexpected("has bits set beyond its prefix length; the prefix is " +
                           to_string(address_of(first & ~host, address.v6)) + "/" + std::to_string(length));
  }
  return AddressRange{address, address_of(first | host, address.v6)};
}

// Length of the prefix that the range is, if it is one.
std::optional<unsigned> prefix_length(const AddressRange& range) {
  const Number difference = number_of(range.first) ^ number_of(range.last);
  if ((difference & (difference + 1)) != 0 || (number_of(range.first) & difference) != 0) return std::nullopt;
  unsigned host_bits = 0;
  while (host_bits < width_of(range.first.v6) && ones(host_bits) != difference) ++host_bits;
  return width_of(range.first.v6) - host_bits;
}

}  // namespace

std::expected<AddressRange, std::string> parse_range(std::string_view text) {
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    const auto address = parse_ip(text.substr(0, slash));
    return address ? parse_prefix(*address, text.substr(slash + 1)) : no_range();
  }
  const auto dash = text.find('-');
  const auto first = parse_ip(text.substr(0, dash));
  if (!first) return no_range();
  if (dash == std::string_view::npos) return AddressRange::of(*first);
  const auto last = parse_ip(text.substr(dash + 1));
  if (!last) return no_range();
  if (first->v6 != last->v6) return std::unexpected("mixes IPv4 and IPv6");
  if (*last < *first) return std::unexpected("ends below its beginning");
  return AddressRange{*first, *last};
}

std::string to_string(const AddressRange& range) {
  if (range.single()) return to_string(range.first);
  if (const auto length = prefix_length(range)) return to_string(range.first) + "/" + std::to_string(*length);
  return to_string(range.first) + "-" + to_string(range.last);
}

std::vector<AddressPrefix> prefixes_of(const AddressRange& range) {
  const bool v6 = range.first.v6;
  const unsigned width = width_of(v6);
  const Number last = number_of(range.last);
  std::vector<AddressPrefix> out;
  for (Number at = number_of(range.first);;) {
    unsigned bits = 0;  // the largest aligned block that begins here and does not reach beyond the end
    while (bits < width && (at & ones(bits + 1)) == 0 && (at | ones(bits + 1)) <= last) ++bits;
    out.push_back({address_of(at, v6), width - bits});
    const Number end = at | ones(bits);
    if (end >= last) return out;
    at = end + 1;
  }
}

}  // namespace lossless
