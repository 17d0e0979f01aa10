// SPDX-License-Identifier: Apache-2.0
// What happens with a frame that arrives.
#include <algorithm>

#include "veth-topo/endpoint/codec.h"
#include "veth-topo/endpoint/engine.h"

namespace lossless::endpoint {
namespace {

FrameKind kind_of(std::uint8_t opcode) {
  if (opcode == LL_OP_ACK) return FrameKind::Ack;
  if (opcode == LL_OP_CNP) return FrameKind::Cnp;
  return opcode == LL_OP_UD_SEND_ONLY ? FrameKind::Cm : FrameKind::Data;
}

}  // namespace

// True for a MAC control frame: it is for the link, and no part of the traffic.
bool Engine::on_pause(std::uint32_t index, std::span<const std::uint8_t> frame, Nanos now) {
  ll_pause_frame pause;
  if (frame.empty()) return false;  // data() may be null, with which one cannot reckon
  ll_pfc_parse(frame.data(), frame.data() + frame.size(), &pause);
  if (pause.kind == LL_PFC_NONE) return false;
  Host& host = hosts_[index];
  if (pause.kind > LL_PFC_PAUSE) {
    host.stats.rx_pfc_bad++;
    return true;
  }
  host.stats.rx_pfc++;
  host.pause.on_frame(pause, config_.hosts[index].link_bps, now);
  unpark(host, now);
  return true;
}

void Engine::on_frame(std::uint32_t host, std::span<const std::uint8_t> frame, Nanos now) {
  if (on_pause(host, frame, now)) return;
  HostStats& stats = hosts_[host].stats;
  ll_roce r;
  const ll_roce_kind kind = parse_frame(frame, r);
  stats.bad[kind]++;
  if (kind == LL_ROCE_OTHER) return;
  stats.rx_frames++;
  rx_total_++;
  last_activity_ = now;
  if (r.ip_version != 0) stats.rx_dscp[r.tos >> 2]++;
  if (kind != LL_ROCE_OK) return;
  const FrameKind what = kind_of(r.opcode);
  stats.rx[static_cast<std::size_t>(what)]++;
  switch (what) {
    case FrameKind::Data:
      return on_data(host, r, frame, now);
    case FrameKind::Ack:
      return on_ack(host, r, frame, now);
    case FrameKind::Cnp:
      return on_cnp(host, r, now);
    default:
      return on_cm(host, r, frame);
  }
}

// The connection of a local QP, which must be of the right half; a stray frame otherwise.
QpPair* Engine::find(std::uint32_t host, std::uint32_t qpn, bool requester, std::uint32_t& id) {
  const auto it = hosts_[host].qps.find(qpn);
  if (it == hosts_[host].qps.end() || it->second.requester != requester) {
    hosts_[host].stats.rx_stray++;
    return nullptr;
  }
  id = it->second.pair;
  return &pairs_[id];
}

void Engine::on_data(std::uint32_t host, const ll_roce& r, std::span<const std::uint8_t> frame, Nanos now) {
  std::uint32_t id = 0;
  QpPair* pair = find(host, r.dest_qp, false, id);
  if (pair == nullptr) return;
  const bool ce = (r.tos & 3) == 3;
  if (ce) hosts_[host].stats.rx_ce++;
  if (ce && config_.dcqcn.np && ll_dcqcn_np_ce(&pair->params, &pair->np, now) != 0)
    hosts_[host].control.push_back({FrameKind::Cnp, id, pair->flow->from, {}});
  Arrival a;
  a.opcode = r.opcode;
  a.psn = r.psn;
  a.payload = r.payload_len;
  a.ack_request = r.ack_request != 0;
  // IPv6 has no identification; there the low bits of the flow label carry it.
  a.wire_order = static_cast<std::uint16_t>(ll_get16(frame.data() + r.ip_at + (r.ip_version == 4 ? 4 : 2)));
  if (r.payload_at - r.ext_at == sizeof(ll_reth)) a.message_bytes = ll_get32(frame.data() + r.ext_at + 12);
  const ArrivalResult result = pair->receiver.on_data(a);
  delivered_ += result.delivered;
  if (result.ack) queue_ack(*pair, id, *result.ack);
}

// A newer answer takes the place of one that still waits, except that a repeated ACK for an old packet
// must not hide a NAK.
void Engine::queue_ack(QpPair& pair, std::uint32_t id, const AckPacket& ack) {
  if (!pair.ack) {
    hosts_[pair.flow->to].control.push_back({FrameKind::Ack, id, pair.flow->from, {}});
  } else {
    const bool waiting_nak = pair.ack->syndrome >= LL_NAK_SEQUENCE;
    const bool old = ack.psn == ((pair.ack->psn - 1) & LL_PSN_MASK);
    if (waiting_nak && old) return;
  }
  pair.ack = ack;
}

void Engine::on_ack(std::uint32_t host, const ll_roce& r, std::span<const std::uint8_t> frame, Nanos now) {
  std::uint32_t id = 0;
  QpPair* pair = find(host, r.dest_qp, true, id);
  if (pair == nullptr) return;
  for (const Completion& done : pair->sender.on_ack(r.psn, frame[r.ext_at], now)) {
    fct_.push_back({done.bytes, static_cast<double>(now - done.posted) / 1e6});
    pair->completed++;
    open_messages_--;
  }
  if (sending_) schedule(*pair, id, now);
  arm(id);
}

void Engine::on_cnp(std::uint32_t host, const ll_roce& r, Nanos now) {
  std::uint32_t id = 0;
  QpPair* pair = find(host, r.dest_qp, true, id);
  if (pair == nullptr) return;
  pair->cnp_received++;
  if (config_.dcqcn.rp) ll_dcqcn_rp_cnp(&pair->params, &pair->rp, now);
}

void Engine::on_cm(std::uint32_t host, const ll_roce& r, std::span<const std::uint8_t> frame) {
  ll_cm cm;
  const std::uint8_t* mad = frame.data() + r.payload_at;
  if (r.dest_qp != 1 || ll_cm_parse(mad, mad + r.payload_len, &cm) == 0) {
    hosts_[host].stats.rx_stray++;
    return;
  }
  const bool request = cm.attribute == LL_CM_REQ;
  const std::uint32_t id = request ? cm.service : cm.remote_id / 2 - 1;
  if (id >= pairs_.size()) {
    hosts_[host].stats.rx_stray++;
    return;
  }
  QpPair& pair = pairs_[id];
  const bool to_responder = request || cm.remote_id % 2 == 1;
  if (host != (to_responder ? pair.flow->to : pair.flow->from)) {
    hosts_[host].stats.rx_stray++;
    return;
  }
  const auto answer = to_responder ? pair.responder.on_message(cm) : pair.initiator.on_message(cm);
  if (answer) queue_cm(host, to_responder ? pair.flow->from : pair.flow->to, id, *answer);
}

}  // namespace lossless::endpoint
