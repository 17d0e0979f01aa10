// SPDX-License-Identifier: Apache-2.0
// Which frame a host sends next, and what is in it.
#include <algorithm>
#include <array>

#include "veth-topo/endpoint/codec.h"
#include "veth-topo/endpoint/engine.h"

namespace lossless::endpoint {
namespace {

constexpr std::uint8_t kNotEct = 0;

// What the data is does not matter, the ICRC says whether it arrived.
std::span<const std::uint8_t> payload_bytes(std::size_t length) {
  static const auto pattern = [] {
    std::array<std::uint8_t, 4096> bytes{};
    FlowRandom random(4791, 0);
    for (auto& b : bytes) b = static_cast<std::uint8_t>(random.bits24());
    return bytes;
  }();
  return std::span(pattern).first(length);
}

std::uint8_t tos_of(const FlowConfig& flow) { return static_cast<std::uint8_t>(flow.dscp << 2 | flow.ecn); }

// The class selector, as switches map it by default, unless the frame has a tag.
unsigned priority_of_flow(const FlowConfig& flow) { return flow.pcp ? *flow.pcp & 7U : flow.dscp >> 3U; }

// The part of a head that says where it goes.
FrameHead head_between(const Config& config, std::uint32_t from, std::uint32_t to,
                       const std::optional<std::uint8_t>& pcp) {
  FrameHead head;
  head.src = &config.hosts[from].address;
  head.dst = &config.hosts[to].address;
  head.pcp = pcp;
  return head;
}

}  // namespace

void Engine::queue_cm(std::uint32_t from, std::uint32_t to, std::uint32_t pair, const ll_cm& cm) {
  hosts_[from].control.push_back({FrameKind::Cm, pair, to, cm});
}

// When the reaction point lets the next packet go; 0: now.
Nanos Engine::paced_at(QpPair& pair, Nanos now) const {
  if (!config_.dcqcn.rp) return 0;
  ll_dcqcn_rp_advance(&pair.params, &pair.rp, now);
  if (ll_dcqcn_rp_limited(&pair.rp) == 0) return 0;
  const Nanos due = pair.sent_at + serialization_ns(pair.sent_bytes, pair.rp.rate_bps);
  return due <= now ? 0 : due;
}

unsigned Engine::priority_of(const Control& control) const {
  if (control.kind == FrameKind::Cnp) return config_.dcqcn.cnp_dscp >> 3U;
  if (control.kind == FrameKind::Cm) return config_.cm_dscp >> 3U;
  return priority_of_flow(*pairs_[control.pair].flow);
}

// The first control frame whose priority is not paused.
std::deque<Engine::Control>::const_iterator Engine::sendable(const Host& host, Nanos now) const {
  return std::ranges::find_if(host.control,
                              [&](const Control& c) { return !host.pause.paused(priority_of(c), now); });
}

// QPs of a priority that may send again get in line.
void Engine::unpark(Host& host, Nanos now) {
  for (unsigned p = 0; p < PauseState::kPriorities; p++) {
    if (host.parked[p].empty() || host.pause.paused(p, now)) continue;
    for (const std::uint32_t id : host.parked[p]) host.robin.add(id, 0);
    host.parked[p].clear();
  }
}

// Puts a QP that has something to send into its host's round robin. One that waits for its pace is
// looked at again when its rate rises.
void Engine::schedule(QpPair& pair, std::uint32_t id, Nanos now) {
  if (pair.queued || !sending_ || !pair.sender.can_send()) return;
  Nanos when = paced_at(pair, now);
  if (when != 0) when = std::min(when, Nanos{ll_dcqcn_rp_deadline(&pair.params, &pair.rp)});
  pair.queued = true;
  hosts_[pair.flow->from].robin.add(id, when);
}

FrameMeta Engine::build_ack(QpPair& pair, Host& host, std::span<std::uint8_t> out) {
  const AckPacket ack = pair.ack.value_or(AckPacket{});
  pair.ack.reset();
  FrameHead head = head_between(config_, pair.flow->to, pair.flow->from, pair.flow->pcp);
  head.tos = tos_of(*pair.flow);
  head.ip_id = host.control_ip_id++;
  head.sport = ll_roce_sport(pair.peer_qpn, pair.qpn);
  head.opcode = LL_OP_ACK;
  head.dest_qp = config_.cm ? pair.responder.peer_qpn() : pair.qpn;
  head.psn = ack.psn;
  std::array<std::uint8_t, sizeof(ll_aeth)> aeth{};
  aeth[0] = ack.syndrome;
  ll_put24(&aeth[1], ack.msn);
  return {FrameKind::Ack, pair.flow->dscp, static_cast<std::uint32_t>(build_frame(out, head, aeth, {}))};
}

FrameMeta Engine::build_cnp_frame(QpPair& pair, Host& host, std::span<std::uint8_t> out) {
  FrameHead head = head_between(config_, pair.flow->to, pair.flow->from, pair.flow->pcp);
  if (head.pcp) head.pcp = static_cast<std::uint8_t>(config_.dcqcn.cnp_dscp >> 3);
  head.tos = static_cast<std::uint8_t>(config_.dcqcn.cnp_dscp << 2 | kNotEct);
  head.ip_id = host.control_ip_id++;
  head.sport = ll_roce_sport(pair.peer_qpn, pair.qpn);
  head.dest_qp = config_.cm ? pair.responder.peer_qpn() : pair.qpn;
  cnp_sent_++;
  return {FrameKind::Cnp, config_.dcqcn.cnp_dscp, static_cast<std::uint32_t>(build_cnp(out, head))};
}

FrameMeta Engine::build_cm(const Control& control, Host& host, std::uint32_t index,
                           std::span<std::uint8_t> out) {
  const FlowConfig& flow = *pairs_[control.pair].flow;
  FrameHead head = head_between(config_, index, control.to, std::nullopt);
  head.tos = static_cast<std::uint8_t>(config_.cm_dscp << 2 | kNotEct);
  head.ip_id = host.control_ip_id++;
  head.sport = ll_roce_sport(1, 1);
  head.opcode = LL_OP_UD_SEND_ONLY;
  head.dest_qp = 1;
  head.psn = host.cm_psn++ & LL_PSN_MASK;
  std::array<std::uint8_t, kDethLen> deth{};
  std::array<std::uint8_t, LL_MAD_LEN> mad{};
  encode_deth(deth);
  encode_cm(mad, control.cm, flow.mtu, *head.src, *head.dst);
  return {FrameKind::Cm, config_.cm_dscp, static_cast<std::uint32_t>(build_frame(out, head, deth, mad))};
}

// There is one that may be sent.
FrameMeta Engine::build_control(Host& host, std::uint32_t index, Nanos now, std::span<std::uint8_t> out) {
  const auto chosen = sendable(host, now);
  const Control control = *chosen;
  host.control.erase(chosen);
  QpPair& pair = pairs_[control.pair];
  switch (control.kind) {
    case FrameKind::Ack:
      return build_ack(pair, host, out);
    case FrameKind::Cnp:
      return build_cnp_frame(pair, host, out);
    default:
      return build_cm(control, host, index, out);
  }
}

// The next data packet in turn, of a QP that is allowed to send now.
std::optional<FrameMeta> Engine::build_data(Host& host, Nanos now, std::span<std::uint8_t> out) {
  unpark(host, now);
  host.robin.advance(now);
  while (host.robin.has_ready()) {
    const std::uint32_t id = host.robin.pop();
    QpPair& pair = pairs_[id];
    if (const unsigned priority = priority_of_flow(*pair.flow); host.pause.paused(priority, now)) {
      host.parked[priority].push_back(id);
      continue;
    }
    pair.queued = false;
    if (!sending_ || !pair.sender.can_send()) continue;
    if (paced_at(pair, now) != 0) {
      schedule(pair, id, now);
      continue;
    }
    const DataPacket packet = pair.sender.take(now);
    if (packet.retransmit) retransmitted_++;
    FrameHead head = head_between(config_, pair.flow->from, pair.flow->to, pair.flow->pcp);
    head.tos = tos_of(*pair.flow);
    head.ip_id = pair.wire_order++;
    head.sport = ll_roce_sport(pair.qpn, pair.peer_qpn);
    head.opcode = packet.opcode;
    head.ack_request = packet.ack_request;
    head.dest_qp = config_.cm ? pair.initiator.peer_qpn() : pair.peer_qpn;
    head.psn = packet.psn;
    std::array<std::uint8_t, sizeof(ll_reth)> reth{};
    ll_put32(&reth[8], pair.peer_qpn);  // any R_Key will do
    ll_put32(&reth[12], static_cast<std::uint32_t>(packet.message_bytes));
    const bool with_reth = pair.flow->write && packet.first;
    const auto ext = std::span<const std::uint8_t>(reth).first(with_reth ? reth.size() : 0);
    const std::size_t length = build_frame(out, head, ext, payload_bytes(packet.payload));

    const Nanos due = pair.sent_at + serialization_ns(pair.sent_bytes, pair.rp.rate_bps);
    pair.sent_at = std::clamp(due, now - std::min(now, config_.link_burst_ns), now);
    pair.sent_bytes = length;
    if (config_.dcqcn.rp) ll_dcqcn_rp_sent(&pair.params, &pair.rp, static_cast<__u32>(length));
    if (!pair.flow->load && pair.sender.all_sent() && wants_message(pair)) post(pair, id, now);
    schedule(pair, id, now);
    arm(id);
    return FrameMeta{FrameKind::Data, pair.flow->dscp, static_cast<std::uint32_t>(length)};
  }
  return std::nullopt;
}

std::optional<FrameMeta> Engine::next_frame(std::uint32_t index, Nanos now, std::span<std::uint8_t> out) {
  Host& host = hosts_[index];
  if (!host.pacer.ready(now)) return std::nullopt;
  std::optional<FrameMeta> meta;
  if (sendable(host, now) != host.control.end()) {
    meta = build_control(host, index, now, out);
  } else {
    meta = build_data(host, now, out);
  }
  if (meta) host.pacer.sent(meta->length, now);
  return meta;
}

void Engine::on_sent(std::uint32_t index, const FrameMeta& meta, Nanos now) {
  HostStats& stats = hosts_[index].stats;
  stats.tx_frames++;
  stats.tx[static_cast<std::size_t>(meta.kind)]++;
  stats.tx_dscp[meta.dscp]++;
  tx_total_++;
  last_activity_ = now;
}

}  // namespace lossless::endpoint
