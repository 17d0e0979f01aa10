// SPDX-License-Identifier: Apache-2.0
#include "daemon/api/views.h"

#include <algorithm>

#include <string>

#include "bpf/stages/ecn.h"

namespace lossless::api {
namespace {

v1::Port::State view_state(port::PortState state) {
  switch (state) {
    case port::PortState::Attached:
      return v1::Port::ATTACHED;
    case port::PortState::Absent:
      return v1::Port::ABSENT;
    case port::PortState::Refused:
      return v1::Port::REFUSED;
    case port::PortState::Detached:
      return v1::Port::DETACHED;
  }
  return v1::Port::STATE_UNSPECIFIED;
}

std::string view_xdp(const port::Port& port) {
  if (port.xdp) return "native";
  return port.xdp_refused.empty() ? "off" : port.xdp_refused;
}

}  // namespace

v1::Port view_port(const port::Port& port, const ll_port_stats& stats, const std::string& driver) {
  v1::Port out;
  out.set_name(port.config.name);
  out.set_ifindex(static_cast<unsigned>(port.link.ifindex));
  out.set_state(view_state(port.state));
  out.set_reason(port.reason);
  out.set_link_up(port.link.up);
  out.set_rate_bps(port.config.rate_bps);
  out.set_trust(std::string(to_string(port.config.trust)));
  out.set_priority(port.config.priority);
  out.set_mtu(port.link.mtu);
  out.set_driver(driver);
  out.set_bad_l2_short(stats.bad[LL_BAD_L2_SHORT]);
  out.set_bad_ip_short(stats.bad[LL_BAD_IP_SHORT]);
  out.set_bad_ip_version(stats.bad[LL_BAD_IP_VERSION]);
  out.set_bad_ip_hlen(stats.bad[LL_BAD_IP_HLEN]);
  out.set_bad_remark(stats.bad[LL_BAD_REMARK]);
  out.set_untrusted(stats.untrusted);
  out.set_remarked(stats.remarked);
  if (port.link.ifindex != 0) out.set_xdp(view_xdp(port));
  return out;
}

std::uint64_t tail_drops(const net::QdiscInfo* leaf, std::uint64_t emptied) {
  if (!leaf) return 0;
  return leaf->dropped_packets - std::min<std::uint64_t>(leaf->dropped_packets, emptied);
}

v1::Queue view_queue(const port::Port& port, unsigned tc, const net::QdiscInfo* leaf, std::uint64_t emptied,
                     const ll_class_stats& rx) {
  const QueueConfig& queue = port.config.queues[tc];
  v1::Queue out;
  out.set_port(port.config.name);
  out.set_tc(tc);
  out.set_lossless(queue.lossless);
  out.set_schedule(std::string(to_string(queue.schedule)));
  out.set_group(queue.group);
  out.set_weight(queue.weight);
  out.set_limit_bytes(queue.limit_bytes);
  if (leaf) {
    out.set_backlog_bytes(leaf->backlog_bytes);
    out.set_backlog_packets(leaf->backlog_packets);
    out.set_sent_packets(leaf->sent_packets);
    out.set_sent_bytes(leaf->sent_bytes);
    out.set_dropped_packets(tail_drops(leaf, emptied));
  }
  out.set_rx_packets(rx.packets);
  out.set_rx_bytes(rx.bytes);
  return out;
}

v1::Ecn view_ecn(const port::Port& port, unsigned tc, const ll_ecn_stats& stats) {
  const QueueConfig& queue = port.config.queues[tc];
  v1::Ecn out;
  out.set_port(port.config.name);
  out.set_tc(tc);
  out.set_enabled(queue.ecn.has_value());
  out.set_lossless(queue.lossless);
  if (queue.ecn) {
    out.set_kmin_bytes(queue.ecn->kmin_bytes);
    out.set_kmax_bytes(queue.ecn->kmax_bytes);
    out.set_pmax(queue.ecn->pmax);
    out.set_ewma_shift(queue.ecn->ewma_shift);
  }
  out.set_point("enqueue");
  out.set_not_ect(stats.seen[LL_ECN_NOT_ECT]);
  out.set_ect1(stats.seen[LL_ECN_ECT1]);
  out.set_ect0(stats.seen[LL_ECN_ECT0]);
  out.set_ce(stats.seen[LL_ECN_CE]);
  out.set_not_ip(stats.not_ip);
  out.set_selected(stats.selected);
  out.set_marked(stats.marked);
  out.set_dropped(stats.dropped);
  out.set_already_ce(stats.already_ce);
  out.set_spared(stats.spared);
  out.set_failed(stats.failed);
  out.set_no_depth(stats.no_depth);
  return out;
}

v1::PriorityMap view_priority_map(const port::Port& port) {
  v1::PriorityMap out;
  out.set_port(port.config.name);
  out.set_trust(std::string(to_string(port.config.trust)));
  out.set_priority(port.config.priority);
  for (const auto tc : port.config.maps.dot1p_tc) out.add_dot1p_tc(tc);
  for (const auto dot1p : port.config.maps.dscp_dot1p) out.add_dscp_dot1p(dot1p);
  for (const auto dscp : port.config.maps.dscp_dscp) out.add_dscp_dscp(dscp);
  return out;
}

}  // namespace lossless::api
