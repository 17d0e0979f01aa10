// SPDX-License-Identifier: Apache-2.0
#include "daemon/lldp/local.h"

#include <algorithm>

namespace lossless::lldp {
namespace {

constexpr std::uint8_t kByIfindex = 2;  // interface numbering of a management address
constexpr std::uint8_t kIpv4 = 1;
constexpr std::uint8_t kIpv6 = 2;

ManagementAddress management_of(const net::InterfaceAddress& from) {
  const ByteView bytes = from.address.view();
  return {.family = from.address.v6 ? kIpv6 : kIpv4,
          .address = Bytes(bytes.begin(), bytes.end()),
          .interface_subtype = kByIfindex,
          .interface_number = static_cast<std::uint32_t>(from.ifindex),
          .oid = {}};
}

}  // namespace

Timing timing_of(const LldpConfig& config) {
  return {.interval = Seconds(config.interval_s),
          .hold = config.hold,
          .fast_start = config.fast_start,
          .max_neighbours = config.max_neighbors};
}

Mac choose_chassis(const Mac& chosen, const std::vector<net::Link>& ports) {
  if (chosen != Mac{}) return chosen;
  Mac lowest{};
  for (const net::Link& port : ports)
    if (lowest == Mac{} || port.address < lowest) lowest = port.address;
  return lowest;
}

LocalSystem describe_system(const LldpConfig& config, const Machine& machine, const Mac& chassis,
                            const std::vector<net::Link>& ports) {
  LocalSystem out{.chassis = chassis,
                  .name = config.system_name.empty() ? machine.host_name : config.system_name,
                  .description = machine.description,
                  .capabilities = {.supported = kCapBridge | kCapRouter | kCapStation, .enabled = 0}};
  const bool bridges = std::ranges::any_of(ports, [](const net::Link& l) { return !l.master.empty(); });
  if (bridges) out.capabilities.enabled |= kCapBridge;
  if (machine.routes) out.capabilities.enabled |= kCapRouter;
  if (out.capabilities.enabled == 0) out.capabilities.enabled = kCapStation;
  return out;
}

LocalPort describe_port(const net::Link& port, const std::vector<net::InterfaceAddress>& addresses) {
  LocalPort out{.description = port.name, .management = {}};
  for (const net::InterfaceAddress& address : addresses)
    if (address.ifindex == port.ifindex) out.management.push_back(management_of(address));
  if (!out.management.empty()) return out;
  for (const bool v6 : {false, true}) {
    const auto first =
        std::ranges::find_if(addresses, [v6](const auto& entry) { return entry.address.v6 == v6; });
    if (first != addresses.end()) out.management.push_back(management_of(*first));
  }
  return out;
}

}  // namespace lossless::lldp
