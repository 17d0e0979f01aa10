// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/endpoint/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "veth-topo/endpoint/codec.h"

namespace lossless::endpoint {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double v) { return std::round(v * 1000) / 1000; }

std::uint64_t of(const std::array<std::uint64_t, kFrameKinds>& counts, FrameKind kind) {
  return counts[static_cast<std::size_t>(kind)];
}

Json host_json(const std::string& name, const HostStats& h) {
  Json bad = Json::object();
  for (std::size_t k = LL_ROCE_OTHER; k < LL_ROCE_KINDS; k++) {
    if (h.bad[k] != 0) bad[kind_name(static_cast<ll_roce_kind>(k))] = h.bad[k];
  }
  return {{"name", name},
          {"tx_frames", h.tx_frames},
          {"rx_frames", h.rx_frames},
          {"tx_data", of(h.tx, FrameKind::Data)},
          {"rx_data", of(h.rx, FrameKind::Data)},
          {"tx_ack", of(h.tx, FrameKind::Ack)},
          {"rx_ack", of(h.rx, FrameKind::Ack)},
          {"tx_cnp", of(h.tx, FrameKind::Cnp)},
          {"rx_cnp", of(h.rx, FrameKind::Cnp)},
          {"tx_cm", of(h.tx, FrameKind::Cm)},
          {"rx_cm", of(h.rx, FrameKind::Cm)},
          {"rx_ce", h.rx_ce},
          {"rx_stray", h.rx_stray},
          {"rx_pfc", h.rx_pfc},
          {"rx_pfc_bad", h.rx_pfc_bad},
          {"paused_ms", rounded(h.paused_ms)},
          {"socket_drops", h.socket_drops},
          {"tx_retry", h.tx_retry},
          {"tx_error", h.tx_error},
          {"bad", std::move(bad)},
          {"icrc_bad", h.bad[LL_ROCE_ICRC]}};
}

Json flow_json(const FlowStats& f, const std::vector<std::string>& hosts) {
  return {{"from", hosts[f.from]},
          {"to", hosts[f.to]},
          {"qpn", f.qpn},
          {"peer_qpn", f.peer_qpn},
          {"messages", f.messages},
          {"unfinished", f.unfinished},
          {"goodput_bytes", f.goodput_bytes},
          {"retransmitted", f.retransmitted},
          {"timeouts", f.timeouts},
          {"naks", f.naks},
          {"cnp_received", f.cnp_received},
          {"rate_cuts", f.rate_cuts},
          {"duplicates", f.duplicates},
          {"out_of_order", f.out_of_order},
          {"reordered", f.reordered},
          {"failed", f.failed},
          {"rate_mbps_end", rounded(f.rate_mbps_end)}};
}

// Nearest rank; 0 without samples.
double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

template <typename Wanted>
Json fct_json(const std::vector<FctSample>& samples, const Wanted& wanted) {
  std::vector<double> ms;
  for (const FctSample& s : samples) {
    if (wanted(s)) ms.push_back(s.ms);
  }
  std::ranges::sort(ms);
  return {{"n", ms.size()}, {"p50", rounded(percentile(ms, 0.5))}, {"p99", rounded(percentile(ms, 0.99))}};
}

// Sent minus received over all hosts, for each DSCP that was used.
Json lost_json(const std::vector<HostStats>& hosts) {
  Json by_dscp = Json::object();
  for (std::size_t dscp = 0; dscp < 64; dscp++) {
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (const HostStats& h : hosts) {
      sent += static_cast<std::int64_t>(h.tx_dscp[dscp]);
      received += static_cast<std::int64_t>(h.rx_dscp[dscp]);
    }
    if (sent != 0 || received != 0) by_dscp[std::to_string(dscp)] = sent - received;
  }
  return {{"by_dscp", std::move(by_dscp)}};
}

Json series_json(const std::vector<SeriesPoint>& series) {
  Json out = Json::array();
  for (const SeriesPoint& p : series) {
    out.push_back({{"t_ms", rounded(p.t_ms)},
                   {"goodput_mbps", rounded(p.goodput_mbps)},
                   {"cnp", p.cnp},
                   {"retransmitted", p.retransmitted}});
  }
  return out;
}

}  // namespace

std::string to_json(const Results& r) {
  Json hosts = Json::array();
  std::uint64_t cnp_sent = 0;
  std::uint64_t cnp_received = 0;
  std::uint64_t ce = 0;
  for (std::size_t i = 0; i < r.hosts.size(); i++) {
    hosts.push_back(host_json(r.host_names[i], r.hosts[i]));
    cnp_sent += of(r.hosts[i].tx, FrameKind::Cnp);
    cnp_received += of(r.hosts[i].rx, FrameKind::Cnp);
    ce += r.hosts[i].rx_ce;
  }
  Json flows = Json::array();
  std::uint64_t retransmitted = 0;
  std::uint64_t reordered = 0;
  for (const FlowStats& f : r.flows) {
    flows.push_back(flow_json(f, r.host_names));
    retransmitted += f.retransmitted;
    reordered += f.reordered;
  }
  Json out = {{"hosts", std::move(hosts)},
              {"flows", std::move(flows)},
              {"fct_ms",
               {{"all", fct_json(r.fct, [](const FctSample&) { return true; })},
                {"mice", fct_json(r.fct, [&](const FctSample& s) { return s.bytes <= r.mice_bytes; })},
                {"elephants", fct_json(r.fct, [&](const FctSample& s) { return s.bytes > r.mice_bytes; })}}},
              {"goodput_mbps", rounded(r.goodput_mbps)},
              {"goodput_limit_mbps", rounded(r.goodput_limit_mbps)},
              {"start_ns", r.start_ns},
              {"steady_s", rounded(r.steady_s)},
              {"connect_ms", rounded(r.connect_ms)},
              {"retransmitted", retransmitted},
              {"reordered", reordered},
              {"cnp", {{"sent", cnp_sent}, {"received", cnp_received}}},
              {"ce_received", ce},
              {"lost", lost_json(r.hosts)},
              {"interrupted", r.interrupted},
              {"series", series_json(r.series)}};
  if (!r.error.empty()) out["error"] = r.error;
  return out.dump(1) + "\n";
}

std::string progress_json(const SeriesPoint& p) {
  const Json line = {{"t_ms", rounded(p.t_ms)},
                     {"goodput_mbps", rounded(p.goodput_mbps)},
                     {"cnp", p.cnp},
                     {"retransmitted", p.retransmitted}};
  return line.dump();
}

}  // namespace lossless::endpoint
