// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/tables.h"

#include <algorithm>
#include <cmath>

namespace lossless::port {

bool wants_xdp(XdpMode mode, std::string_view kind) {
  return mode == XdpMode::Native || (mode == XdpMode::Auto && kind.empty());
}

ll_port make_port_row(const PortConfig& config, std::uint32_t slot, std::uint8_t group) {
  const PriorityMaps& maps = config.maps;
  ll_port row{};
  row.slot = slot;
  row.group = group;
  row.apps = config.applications ? 1 : 0;
  row.trust = static_cast<std::uint8_t>(config.trust);  // the same numbers: checked in config_keys.cpp
  row.port_tc = maps.dot1p_tc[config.priority];
  std::ranges::copy(maps.dot1p_tc, row.dot1p_tc);
  for (unsigned dscp = 0; dscp < kDscps; ++dscp) {
    const std::uint8_t remarked = maps.dscp_dscp[dscp];
    row.dscp_new[dscp] = remarked;
    row.dscp_tc[dscp] = maps.dot1p_tc[maps.dscp_dot1p[remarked]];
    if (remarked != dscp) row.remark = 1;
  }
  return row;
}

std::uint32_t probability_to_u32(double probability) {
  return static_cast<std::uint32_t>(std::llround(std::clamp(probability, 0.0, 1.0) * UINT32_MAX));
}

double probability_from_u32(std::uint32_t probability) {
  return static_cast<double>(probability) / UINT32_MAX;
}

ll_wred make_wred_row(const QueueConfig& queue, std::uint64_t rate_bps, unsigned mtu) {
  ll_wred row{};
  if (queue.lossless) row.flags |= LL_WRED_LOSSLESS;
  row.egress_alpha = static_cast<std::uint8_t>(queue.alpha);
  if (!queue.ecn) return row;
  row.flags |= LL_WRED_ON;
  row.kmin = queue.ecn->kmin_bytes;
  row.kmax = queue.ecn->kmax_bytes;
  row.pmax = probability_to_u32(queue.ecn->pmax);
  if (queue.ecn->ewma_shift) {
    row.flags |= LL_WRED_EWMA;
    row.ewma_shift = static_cast<std::uint8_t>(queue.ecn->ewma_shift);
    if (rate_bps)
      row.idle_ns = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(std::uint64_t{mtu} * 8 * 1'000'000'000 / rate_bps, UINT32_MAX));
  }
  return row;
}

}  // namespace lossless::port
