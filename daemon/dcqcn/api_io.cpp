// SPDX-License-Identifier: Apache-2.0
#include "daemon/dcqcn/api_io.h"

#include <dcqcn.grpc.pb.h>

#include <algorithm>
#include <array>

#include "daemon/api/on_loop.h"
#include "daemon/core/clock.h"
#include "daemon/dcqcn/tables.h"

namespace lossless::dcqcn {
namespace {

// By enum ll_roce_kind, from LL_ROCE_UDP_LENGTH on: what comes before is not known to be RoCEv2.
constexpr std::array kKinds{"udp-length", "bth-short", "bth-version", "opcode", "ext-short", "pad", "icrc"};
static_assert(LL_ROCE_UDP_LENGTH + kKinds.size() == LL_ROCE_KINDS);

void fill_parameters(const DcqcnConfig& config, v1::DcqcnParameters& out) {
  out.set_cnp_per(std::string(to_string(config.cnp_per)));
  out.set_min_time_between_cnps_us(config.min_time_between_cnps_us);
  out.set_cnp_dscp(config.cnp_dscp);
  out.set_cnp_802p_prio(config.cnp_802p_prio);
  out.set_rate_reduce_monitor_period_us(config.rate_reduce_monitor_period_us);
  out.set_dce_tcp_rtt_us(config.dce_tcp_rtt_us);
  out.set_dce_tcp_g(config.dce_tcp_g);
  out.set_rpg_time_reset_us(config.rpg_time_reset_us);
  out.set_rpg_byte_reset(config.rpg_byte_reset);
  out.set_rpg_threshold(config.rpg_threshold);
  out.set_rpg_ai_rate_bps(config.rpg_ai_rate_bps);
  out.set_rpg_hai_rate_bps(config.rpg_hai_rate_bps);
  out.set_rpg_min_rate_bps(config.rpg_min_rate_bps);
}

void fill_port(const port::Port& port, const ll_host_stats& stats, v1::DcqcnPort& out) {
  out.set_port(port.config.name);
  out.set_np_ecn_marked_roce_packets(stats.np_ecn_marked_roce_packets);
  out.set_np_cnp_sent(stats.np_cnp_sent);
  out.set_rp_cnp_handled(stats.rp_cnp_handled);
  out.set_rp_cnp_ignored(stats.rp_cnp_ignored);
  out.set_np_held(stats.np_held);
  out.set_np_no_peer(stats.np_no_peer);
  out.set_np_no_carrier(stats.np_no_carrier);
  out.set_rp_paced(stats.rp_paced);
  auto& dropped = *out.mutable_dropped();
  dropped["ip-headers"] = stats.headers;
  for (std::size_t i = 0; i < kKinds.size(); ++i) dropped[kKinds[i]] = stats.bad[LL_ROCE_UDP_LENGTH + i];
}

void fill_qp(const Flow& flow, const std::vector<port::Port>& ports, v1::DcqcnQp& out) {
  const auto port = std::ranges::find(ports, flow.key.slot, &port::Port::slot);
  if (port != ports.end()) out.set_port(port->config.name);
  const ll_rp_flow& state = flow.state;
  out.set_qpn(state.qpn);
  out.set_peer(to_string(IpAddress::of_mapped(flow.key.peer.byte)));
  out.set_peer_qpn(flow.key.peer_qpn);
  out.set_rate_bps(state.rp.rate_bps);
  out.set_target_bps(state.rp.target_bps);
  out.set_line_bps(state.rp.line_bps);
  out.set_alpha(static_cast<double>(state.rp.alpha) / LL_DCQCN_ALPHA_ONE);
  out.set_timer_stage(state.rp.timer_stage);
  out.set_byte_stage(state.rp.byte_stage);
  out.set_cuts(state.rp.cuts);
  out.set_cnps(state.cnps);
  out.set_packets(state.packets);
  out.set_bytes(state.bytes);
  out.set_paced(state.paced);
  const std::uint64_t now = monotonic_now();
  out.set_last_ms_ago(now > state.last_ns ? (now - state.last_ns) / kMillisecondNs : 0);
}

class DcqcnApi final : public v1::Dcqcn::CallbackService {
 public:
  DcqcnApi(asio::io_context& loop, DcqcnService& service) : loop_(loop), service_(service) {}

  grpc::ServerUnaryReactor* GetDcqcn(grpc::CallbackServerContext* call, const v1::GetDcqcnRequest*,
                                     v1::GetDcqcnReply* reply) override {
    return api::answer_on_loop(call, loop_, [this, reply] { return get(*reply); });
  }

 private:
  grpc::Status get(v1::GetDcqcnReply& reply) const {
    const Config& config = service_.ports().running();
    const bool on = is_on(config);
    reply.set_enabled(on);
    reply.set_np(on && config.dcqcn.np);
    reply.set_rp_reason(service_.no_rp());
    reply.set_rp(on && reply.rp_reason().empty());
    reply.set_guard(on && config.dcqcn.guard);
    fill_parameters(config.dcqcn, *reply.mutable_parameters());
    reply.set_known_qps(static_cast<std::uint32_t>(service_.known_qps()));
    reply.set_rdma_reason(service_.no_rdma());
    const auto& ports = service_.ports().ports();
    for (const port::Port& port : ports) fill_port(port, service_.stats(port), *reply.add_ports());
    for (const Flow& flow : service_.flows()) fill_qp(flow, ports, *reply.add_qps());
    return grpc::Status::OK;
  }

  asio::io_context& loop_;
  DcqcnService& service_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, DcqcnService& service) {
  return std::make_shared<DcqcnApi>(loop, service);
}

}  // namespace lossless::dcqcn
