// SPDX-License-Identifier: Apache-2.0
// The figures of a run.
#include <algorithm>
#include <set>

#include "veth-topo/endpoint/codec.h"
#include "veth-topo/endpoint/engine.h"

namespace lossless::endpoint {

// What the receivers' links carry in payload, at most what their senders' links can send: the sum over all
// receivers, with full packets of the flows that end there.
double Engine::goodput_limit_mbps() const {
  double limit = 0;
  for (std::uint32_t to = 0; to < config_.hosts.size(); to++) {
    std::set<std::uint32_t> senders;
    double share = 0;
    double flows = 0;
    for (const FlowConfig& f : config_.flows) {
      if (f.to != to) continue;
      senders.insert(f.from);
      const auto length = frame_length(config_.hosts[to].address.v6, f.pcp.has_value(), 0, f.mtu);
      share += static_cast<double>(f.mtu) / static_cast<double>(length);
      flows += 1;
    }
    if (senders.empty()) continue;
    double sent_bps = 0;
    for (const std::uint32_t s : senders) sent_bps += static_cast<double>(config_.hosts[s].link_bps);
    limit += std::min(sent_bps, static_cast<double>(config_.hosts[to].link_bps)) * share / flows / 1e6;
  }
  return limit;
}

Results Engine::results() const {
  Results r;
  for (std::size_t i = 0; i < hosts_.size(); i++) {
    r.host_names.push_back(config_.hosts[i].name);
    r.hosts.push_back(hosts_[i].stats);
    r.hosts.back().paused_ms = static_cast<double>(hosts_[i].pause.total(last_activity_)) / 1e6;
  }
  for (const QpPair& p : pairs_) {
    FlowStats f;
    f.from = p.flow->from;
    f.to = p.flow->to;
    f.qpn = p.qpn;
    f.peer_qpn = p.peer_qpn;
    f.messages = p.completed;
    f.unfinished = p.posted - p.completed;
    f.goodput_bytes = p.receiver.delivered_bytes();
    f.retransmitted = p.sender.retransmitted();
    f.timeouts = p.sender.timeouts();
    f.naks = p.sender.naks();
    f.cnp_received = p.cnp_received;
    f.rate_cuts = p.rp.cuts;
    f.duplicates = p.receiver.duplicates();
    f.out_of_order = p.receiver.out_of_order();
    f.reordered = p.receiver.reordered();
    f.failed = p.sender.failed();
    f.rate_mbps_end = p.rate_mbps_end;
    r.flows.push_back(f);
  }
  r.fct = fct_;
  r.series = series_;
  r.mice_bytes = config_.mice_bytes;
  r.start_ns = run_start_;
  r.steady_s = static_cast<double>(run_end_ - steady_start_) / 1e9;
  if (r.steady_s > 0)
    r.goodput_mbps = static_cast<double>(end_delivered_ - steady_delivered_) * 8 / (r.steady_s * 1e6);
  r.goodput_limit_mbps = goodput_limit_mbps();
  r.connect_ms = run_start_ > connect_start_ ? static_cast<double>(run_start_ - connect_start_) / 1e6 : 0;
  r.interrupted = interrupted_;
  r.error = error_;
  return r;
}

}  // namespace lossless::endpoint
