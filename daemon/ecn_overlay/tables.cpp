// SPDX-License-Identifier: Apache-2.0
#include "daemon/ecn_overlay/tables.h"

#include <algorithm>

namespace lossless::ecn_overlay {
namespace {

bool is_carried(OverlayDscp carry, const PortConfig& port, unsigned dscp) {
  if (carry != OverlayDscp::Lossless) return carry == OverlayDscp::All;
  const PriorityMaps& maps = port.maps;
  return port.queues[maps.dot1p_tc[maps.dscp_dot1p[maps.dscp_dscp[dscp]]]].lossless;
}

}  // namespace

bool is_on(const Config& config, const PortConfig& port) {
  return config.ecn_overlay.enabled && port.ecn_overlay;
}

ll_overlay make_row(const Config& config, const PortConfig& port) {
  ll_overlay row{};
  if (!is_on(config, port)) return row;
  row.udp_port = static_cast<__u16>(config.ecn_overlay.port);
  for (unsigned dscp = 0; dscp < kDscps; ++dscp)
    if (is_carried(config.ecn_overlay.carry_dscp, port, dscp)) row.carried |= 1ULL << dscp;
  return row;
}

ll_zone_key make_end(const IpAddress& address) {
  ll_zone_key key{};
  std::ranges::copy(address.mapped(), key.byte);
  return key;
}

}  // namespace lossless::ecn_overlay
