// SPDX-License-Identifier: Apache-2.0
// What of BFD's settings does not fit together.
#include "daemon/core/address.h"
#include "daemon/core/config_keys.h"

namespace lossless {
namespace {

constexpr std::size_t kShortKey = 16;  // RFC 5880, 4.2 and 4.3; SHA1 has 20

bool is_sha1(BfdAuth auth) { return auth == BfdAuth::KeyedSha1 || auth == BfdAuth::MeticulousSha1; }

ThresholdFault fault(std::string_view key, std::string message) { return {key, {}, std::move(message)}; }

}  // namespace

std::optional<ThresholdFault> find_fault(const BfdSettings& bfd) {
  if (bfd.auth == BfdAuth::None) {
    if (bfd.key.empty()) return std::nullopt;
    return fault("key", "is of no use without authentication; allowed: with auth beside it");
  }
  if (bfd.key.empty()) return fault("auth", "needs a key; allowed: with key beside it");
  if (!is_sha1(bfd.auth) && bfd.key.size() > kShortKey)
    return fault("key", "has " + std::to_string(bfd.key.size()) +
                            " characters; allowed: 1 to 16 (20 with keyed-sha1 and meticulous-sha1)");
  return std::nullopt;
}

std::optional<ThresholdFault> find_fault(const BfdPeerConfig& peer) {
  const auto address = parse_ip(peer.address);
  const auto local = parse_ip(peer.local);
  if (address && local && address->v6 != local->v6)
    return fault("local", "is of another family than address; allowed: IPv4 with IPv4, IPv6 with IPv6");
  if (address && address->is_link_local() && peer.interface.empty())
    return fault("address", "is a link-local address; allowed: with interface beside it");
  if (peer.multihop && !peer.interface.empty())
    return fault("interface",
                 "says where the neighbour is, and it is several hops away; allowed: without multihop");
  return std::nullopt;
}

}  // namespace lossless
