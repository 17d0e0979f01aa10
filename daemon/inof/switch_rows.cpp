// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/switch_rows.h"

#include <algorithm>

namespace lossless::inof {

static_assert(kMaxZones == LL_ZONES);

ll_zone_key zone_key(const IpAddress& address) {
  ll_zone_key key{};
  std::ranges::copy(address.mapped(), key.byte);
  return key;
}

ZoneRow zone_row(const AddressRow& row) {
  ZoneRow out;
  std::ranges::fill(out.host.zones, LL_ZONE_NONE);
  if (row.initiator) out.host.flags |= LL_ZONE_INITIATOR;
  if (row.zones.size() <= LL_ZONE_LIST) {
    std::ranges::copy(row.zones, out.host.zones);
    return out;
  }
  out.host.flags |= LL_ZONE_MANY;
  out.bits = ll_zone_bits{};
  for (const ZoneId zone : row.zones) out.bits->word[zone / 64] |= std::uint64_t{1} << (zone % 64);
  return out;
}

std::uint8_t guard_of(const InofConfig& config, const std::string& port) {
  if (!config.on) return 0;
  unsigned guard = 0;
  if (config.hard_zoning) guard |= LL_GUARD_ZONES;
  if (config.block_initiators) guard |= LL_GUARD_INITIATORS;
  const auto& exceptions = config.whitelist.exceptions;
  if (config.whitelist.on && std::ranges::find(exceptions, port) == exceptions.end()) guard |= LL_GUARD_LIST;
  return static_cast<std::uint8_t>(guard);
}

std::vector<ll_allow_key> allow_rows(const InofWhitelistConfig& list, const std::string& port,
                                     std::uint32_t slot) {
  std::vector<ll_allow_key> out;
  for (const InofAllowConfig& entry : list.allow) {
    if (entry.port != port) continue;
    for (const AddressRange& range : entry.hosts) {
      for (const AddressPrefix& prefix : prefixes_of(range)) {
        const unsigned mapped = prefix.address.v6 ? 0 : 96;
        out.push_back(
            {.prefix = 32 + mapped + prefix.length, .slot = slot, .address = zone_key(prefix.address)});
      }
    }
  }
  return out;
}

}  // namespace lossless::inof
