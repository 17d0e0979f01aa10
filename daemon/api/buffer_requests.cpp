// SPDX-License-Identifier: Apache-2.0
// The calls about the buffer model and priority flow control.
#include <algorithm>
#include <cmath>

#include "bpf/stages/latency.h"
#include "bpf/stages/mmu.h"
#include "daemon/api/requests.h"
#include "daemon/api/views.h"
#include "daemon/core/clock.h"
#include "daemon/net/qdisc_io.h"

namespace lossless::api {
namespace {

using grpc::Status;
using grpc::StatusCode;

// Figures of a histogram with the bins of bpf/stages/latency.h.
template <class Count>
void set_latency(v1::Latency& out, const Count& count_of) {
  std::uint64_t count = 0;
  for (std::uint32_t bin = 0; bin < LL_LATENCY_BINS; ++bin) count += count_of(bin);
  out.set_count(count);
  std::uint64_t seen = 0;
  for (std::uint32_t bin = 0; bin < LL_LATENCY_BINS; ++bin) {
    const std::uint64_t here = count_of(bin);
    if (here == 0) continue;
    const auto us = static_cast<std::uint32_t>(ll_latency_us(bin));
    if (seen * 2 < count) out.set_p50_us(us);
    if (seen * 100 < count * 99) out.set_p99_us(us);
    seen += here;
    out.set_max_us(us);
  }
}

double alpha_of(unsigned alpha) {
  return alpha ? std::ldexp(1.0, static_cast<int>(alpha) - static_cast<int>(LL_ALPHA_ONE)) : 0;
}

std::uint64_t in_cells(const Context& context, std::uint64_t bytes) {
  const std::uint64_t cell = context.ports.running().cell_bytes;
  return (bytes + cell - 1) / cell;
}

std::string why_withheld(const Context& context, const pfc::WatchdogService::Port& port, unsigned tc) {
  if (context.pfc.escape().on()) return "escape";
  const pfc::Watchdog& dog = port.classes[tc].dog;
  return std::string(dog.state() == pfc::WatchdogState::Off ? to_string(dog.off_reason())
                                                            : to_string(dog.state()));
}

v1::Pfc view_pfc(const Context& context, const port::Port& port, unsigned tc, std::uint64_t now) {
  const std::uint32_t row = LL_ROW(port.slot, tc);
  const auto& mmu = context.pfc.mmu();
  const auto& pause = context.pfc.pause();
  v1::Pfc out;
  out.set_port(port.config.name);
  out.set_tc(tc);
  const pfc::PortInfo* info = context.pfc.port(port.slot);
  if (info && info->plans[tc]) {
    const pfc::Plan& plan = *info->plans[tc];
    out.set_enabled(true);
    out.set_xoff_bytes(plan.xoff_bytes);
    out.set_xon_bytes(plan.xon_bytes);
    out.set_headroom_bytes(plan.headroom_bytes);
    out.set_needed_headroom_bytes(plan.needed_bytes);
    out.set_quanta(plan.quanta);
    out.set_alpha(alpha_of(plan.alpha));
  }
  pfc::HardwarePfc nic;
  if (const auto* watched = context.pfc.watchdogs().port(port.slot)) {
    out.set_rx_fps(watched->classes[tc].rx.rate_fps());
    out.set_tx_fps(watched->classes[tc].tx.rate_fps());
    nic = watched->hardware;
    if (info && info->plans[tc] && !info->in_force(tc)) out.set_withheld(why_withheld(context, *watched, tc));
  }
  out.set_tx_xoff(mmu.get(row, &ll_mmu::tx_xoff) + nic.tx_frames[tc]);
  out.set_tx_xon(mmu.get(row, &ll_mmu::tx_xon));
  out.set_peer_stopped(mmu.get(row, &ll_mmu::xoff) != 0);
  out.set_rx_frames(pause.get(row, &ll_pause::rx_frames) + nic.rx_frames[tc]);
  out.set_transitions(pause.get(row, &ll_pause::transitions));
  const std::uint64_t since = pause.get(row, &ll_pause::since_ns);
  const std::uint64_t present = since ? now - std::min(now, since) : 0;
  out.set_paused(since != 0 || (nic.paused >> tc & 1U));
  out.set_paused_ms((pause.get(row, &ll_pause::paused_ns) + present + nic.paused_ns[tc]) / kMillisecondNs);
  if (const std::uint64_t last = pause.get(row, &ll_pause::last_ns))
    out.set_last_pause_ms_ago(ms_between(last, now));
  return out;
}

v1::PfcPort view_pfc_port(const Context& context, const port::Port& port) {
  const ll_pfc_stats stats = context.ports.maps().pfc_stats.sum(port.slot);
  v1::PfcPort out;
  out.set_port(port.config.name);
  out.set_rx_pfc(stats.rx[LL_PFC_OK]);
  out.set_rx_pause(stats.rx[LL_PFC_PAUSE]);
  out.set_bad_short(stats.rx[LL_PFC_BAD_SHORT]);
  out.set_bad_address(stats.rx[LL_PFC_BAD_ADDRESS]);
  out.set_bad_opcode(stats.rx[LL_PFC_BAD_OPCODE]);
  out.set_bad_vector(stats.rx[LL_PFC_BAD_VECTOR]);
  out.set_lossy(stats.lossy);
  out.set_no_carrier(stats.no_carrier);
  out.set_no_event(stats.no_event);
  if (const auto* watched = context.pfc.watchdogs().port(port.slot)) {
    out.set_rx_fps(watched->rx.rate_fps());
    out.set_tx_fps(watched->tx.rate_fps());
    out.set_rx_alarm(watched->rx.raised());
    out.set_tx_alarm(watched->tx.raised());
    std::uint64_t by_nic = 0;
    for (const std::uint64_t frames : watched->hardware.rx_frames) by_nic += frames;
    out.set_rx_pfc(out.rx_pfc() + by_nic);
    std::uint64_t storms = 0;
    for (const auto& c : watched->classes) storms += c.dog.counters().lossy_storms;
    out.set_lossy_storms(storms);
  }
  return out;
}

v1::Buffer view_buffer(const Context& context, const port::Port& port, unsigned tc,
                       const net::QdiscInfo* leaf) {
  const std::uint32_t row = LL_ROW(port.slot, tc);
  const auto& mmu = context.pfc.mmu();
  const auto cells = [&](std::uint64_t bytes) { return in_cells(context, bytes); };
  const QueueConfig& queue = port.config.queues[tc];
  v1::Buffer out;
  out.set_port(port.config.name);
  out.set_tc(tc);
  out.set_lossless(queue.lossless);
  const std::uint64_t headroom = mmu.get(row, &ll_mmu::headroom);
  const std::uint64_t bytes = mmu.get(row, &ll_mmu::bytes) + headroom;
  const std::uint64_t peak = mmu.get(row, &ll_mmu::peak);
  out.set_ingress_bytes(bytes);
  out.set_ingress_cells(cells(bytes));
  out.set_ingress_peak_bytes(peak);
  out.set_egress_bytes(leaf ? leaf->backlog_bytes : 0);
  out.set_egress_cells(cells(out.egress_bytes()));
  out.set_egress_peak_bytes(mmu.get(row, &ll_mmu::egress_peak));
  out.set_limit_bytes(queue.limit_bytes);
  out.set_guaranteed_bytes(queue.guaranteed_bytes);
  out.set_egress_alpha(alpha_of(queue.alpha));
  out.set_over_limit(mmu.get(row, &ll_mmu::over_limit));
  const pfc::PortInfo* info = context.pfc.port(port.slot);
  if (!info || !info->plans[tc]) return out;
  const pfc::Plan& plan = *info->plans[tc];
  const auto& pools = context.pfc.pools();
  const ll_pfc thresholds = pfc::make_pfc_row(info->buffer[tc], &plan, {}, info->rate_bps);
  out.set_xoff_bytes(ll_xoff_level(&thresholds, pools.get(LL_POOL_SHARED, &ll_pool::size),
                                   pools.get(LL_POOL_SHARED, &ll_pool::used)));
  out.set_alpha(alpha_of(plan.alpha));
  out.set_headroom_bytes(plan.headroom_bytes);
  out.set_headroom_used_bytes(headroom);
  out.set_headroom_peak_bytes(mmu.get(row, &ll_mmu::headroom_peak));
  return out;
}

// Guarantees of all attached ports.
std::uint64_t reserved_bytes(const Context& context) {
  std::uint64_t sum = 0;
  for (const port::Port& port : context.ports.ports())
    for (const QueueConfig& queue : port.config.queues)
      if (port.state == port::PortState::Attached) sum += queue.guaranteed_bytes;
  return sum;
}

void view_pools(const Context& context, v1::ListBufferReply& reply) {
  static constexpr const char* kNames[LL_POOLS] = {"guaranteed", "shared", "headroom"};
  const auto& pools = context.pfc.pools();
  for (std::uint32_t id = 0; id < LL_POOLS; ++id) {
    v1::Pool& out = *reply.add_pools();
    out.set_name(kNames[id]);
    out.set_size_bytes(id == LL_POOL_GUARANTEED ? reserved_bytes(context) : pools.get(id, &ll_pool::size));
    out.set_used_bytes(pools.get(id, &ll_pool::used));
    out.set_used_cells(in_cells(context, out.used_bytes()));
    out.set_peak_bytes(pools.get(id, &ll_pool::peak));
    out.set_over_limit(pools.get(id, &ll_pool::over_limit));
  }
}

}  // namespace

Status list_pfc(const Context& context, const v1::ListPfcRequest& request, v1::ListPfcReply& reply) {
  const std::uint64_t now = monotonic_now();
  const ll_latency sent = context.ports.maps().pfc_latency.sum(0);
  set_latency(*reply.mutable_send(), [&](std::uint32_t bin) { return std::uint64_t{sent.bin[bin]}; });
  const pfc::Histogram& closing = context.pfc.thread().closing();
  set_latency(*reply.mutable_close(), [&](std::uint32_t bin) { return closing[bin].load(); });
  return for_ports(context, request.port(), [&](const port::Port& port) {
    for (unsigned tc = 0; tc < kTcs; ++tc) *reply.add_queues() = view_pfc(context, port, tc, now);
    *reply.add_ports() = view_pfc_port(context, port);
  });
}

Status list_buffer(const Context& context, const v1::ListBufferRequest& request, v1::ListBufferReply& reply) {
  const auto qdiscs = net::list_qdiscs(context.ports.netlink());
  if (!qdiscs) return {StatusCode::INTERNAL, qdiscs.error()};
  reply.set_cell_bytes(context.ports.running().cell_bytes);
  reply.set_healed(context.pfc.healed());
  reply.set_missed(context.ports.missed_runs());
  view_pools(context, reply);
  return for_ports(context, request.port(), [&](const port::Port& port) {
    for (unsigned tc = 0; tc < kTcs; ++tc)
      *reply.add_queues() = view_buffer(context, port, tc, net::find_leaf(*qdiscs, port.link.ifindex, tc));
  });
}

Status clear_watermark(const Context& context, const v1::ClearWatermarkRequest& request,
                       v1::ClearWatermarkReply& reply) {
  if (request.port().empty()) context.pfc.buffer().clear_pool_watermarks();
  return for_ports(context, request.port(), [&](const port::Port& port) {
    context.pfc.buffer().clear_watermarks(port.slot);
    reply.add_ports(port.config.name);
  });
}

Status list_packet_drops(const Context& context, const v1::ListPacketDropsRequest& request,
                         v1::ListPacketDropsReply& reply) {
  const auto qdiscs = net::list_qdiscs(context.ports.netlink());
  if (!qdiscs) return {StatusCode::INTERNAL, qdiscs.error()};
  return for_ports(context, request.port(), [&](const port::Port& port) {
    for (unsigned tc = 0; tc < kTcs; ++tc) {
      auto* out = reply.add_queues();
      out->set_port(port.config.name);
      out->set_tc(tc);
      out->set_lossless(port.config.queues[tc].lossless);
      const auto* leaf = net::find_leaf(*qdiscs, port.link.ifindex, tc);
      out->set_tail(
          tail_drops(leaf, context.pfc.watchdog().get(LL_ROW(port.slot, tc), &ll_watchdog::emptied)));
      out->set_wred(context.ports.maps().ecn_stats.sum(LL_ROW(port.slot, tc)).dropped);
      out->set_pool(context.pfc.mmu().get(LL_ROW(port.slot, tc), &ll_mmu::dropped));
      out->set_watchdog(context.pfc.watchdog().get(LL_ROW(port.slot, tc), &ll_watchdog::discarded));
    }
    const ll_zone_stats zone = context.ports.maps().zone_stats.sum(port.slot);
    auto* ingress = reply.add_ports();
    ingress->set_port(port.config.name);
    ingress->set_zone(zone.drop[LL_ZONE_DROP_ISOLATED] + zone.drop[LL_ZONE_DROP_STRANGER] +
                      zone.drop[LL_ZONE_DROP_INITIATORS]);
    ingress->set_whitelist(zone.drop[LL_ZONE_DROP_DENIED]);
  });
}

}  // namespace lossless::api
