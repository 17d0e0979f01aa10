// SPDX-License-Identifier: Apache-2.0
#include "daemon/ecn_overlay/service.h"

#include <spdlog/spdlog.h>

#include <cstring>

#include "daemon/ecn_overlay/tables.h"
#include "daemon/net/address_io.h"

namespace lossless::ecn_overlay {
namespace {

bool differs(const std::optional<ll_overlay>& have, const ll_overlay& want) {
  return !have || std::memcmp(&*have, &want, sizeof want) != 0;
}

}  // namespace

void EcnOverlayService::apply(const Config& config, const std::vector<port::Port>& ports) {
  for (const port::Port& port : ports) {
    const ll_overlay row = make_row(config, port.config);
    if (!differs(maps_.overlay.get(port.slot), row)) continue;
    if (auto ok = maps_.overlay.set(port.slot, row); !ok)
      spdlog::error("port {}: ECN overlay: {}", port.config.name, ok.error());
  }
  follow_addresses(config.ecn_overlay.enabled);
}

// What the map holds counts and not what this daemon remembers: an earlier one may have filled it.
void EcnOverlayService::follow_addresses(bool on) {
  std::set<IpAddress> wanted;
  if (on) {
    const auto found = net::list_addresses(netlink_);
    if (!found) return spdlog::error("ECN overlay: {}", found.error());
    for (const net::InterfaceAddress& each : *found) wanted.insert(each.address);
  }
  std::set<std::vector<std::uint8_t>> keys;
  for (const IpAddress& address : wanted) {
    const ll_zone_key key = make_end(address);
    keys.insert({key.byte, key.byte + sizeof key.byte});
    if (maps_.overlay_ends.get(key)) continue;
    if (auto ok = maps_.overlay_ends.set(key, 1); !ok)
      spdlog::error("ECN overlay: {}: {}", to_string(address), ok.error());
  }
  for (const ll_zone_key& key : maps_.overlay_ends.keys())
    if (!keys.contains({key.byte, key.byte + sizeof key.byte})) maps_.overlay_ends.erase(key);
  ends_ = std::move(wanted);
}

}  // namespace lossless::ecn_overlay
