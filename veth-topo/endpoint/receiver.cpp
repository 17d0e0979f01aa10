// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/endpoint/receiver.h"

#include <algorithm>

#include "bpf/stages/roce.h"

namespace lossless::endpoint {
namespace {

bool is_write(std::uint8_t op) { return op >= LL_OP_WRITE_FIRST && op <= LL_OP_WRITE_ONLY_IMM; }
bool is_only(std::uint8_t op) { return op == LL_OP_WRITE_ONLY || op == LL_OP_SEND_ONLY; }
bool is_first(std::uint8_t op) { return op == LL_OP_WRITE_FIRST || op == LL_OP_SEND_FIRST; }
bool is_middle(std::uint8_t op) { return op == LL_OP_WRITE_MIDDLE || op == LL_OP_SEND_MIDDLE; }
bool is_last(std::uint8_t op) { return op == LL_OP_WRITE_LAST || op == LL_OP_SEND_LAST; }

}  // namespace

AckPacket QpReceiver::answer(std::uint8_t syndrome, std::uint64_t number) const {
  return {static_cast<std::uint32_t>((first_psn_ + number) & LL_PSN_MASK), syndrome,
          static_cast<std::uint32_t>(messages_ & LL_PSN_MASK)};
}

// Opcode and length rules of section 9.7.4.1.
bool QpReceiver::in_sequence(const Arrival& a) const {
  const bool starts = is_first(a.opcode) || is_only(a.opcode);
  if (!starts && !is_middle(a.opcode) && !is_last(a.opcode)) return false;
  if (starts == inside_) return false;
  if (!starts && is_write(a.opcode) != inside_write_) return false;
  if ((is_first(a.opcode) || is_middle(a.opcode)) && a.payload != mtu_) return false;
  if (a.payload > mtu_ || (is_last(a.opcode) && a.payload == 0)) return false;
  if (!is_write(a.opcode)) return true;
  if (is_only(a.opcode)) return a.message_bytes == a.payload;
  return !is_last(a.opcode) || inside_bytes_ + a.payload == announced_bytes_;
}

ArrivalResult QpReceiver::take(const Arrival& a) {
  ArrivalResult out;
  if (!in_sequence(a)) {
    invalid_++;
    out.ack = answer(LL_NAK_INVALID, expected_);
    return out;
  }
  if (is_first(a.opcode) || is_only(a.opcode)) {
    inside_bytes_ = 0;
    inside_write_ = is_write(a.opcode);
    announced_bytes_ = a.message_bytes;
  }
  inside_bytes_ += a.payload;
  inside_ = is_first(a.opcode) || is_middle(a.opcode);
  delivered_bytes_ += a.payload;
  out.delivered = a.payload;
  out.message_done = !inside_;
  messages_ += out.message_done ? 1 : 0;
  nak_highest_.reset();
  if (a.ack_request) out.ack = answer(LL_ACK_NO_CREDIT, expected_);
  expected_++;
  return out;
}

// One NAK per gap, as section 9.7.5.2.8 has it. A number at or below one seen since then shows that the
// requester has started over and lost the packet again: that is a new gap.
ArrivalResult QpReceiver::gap(std::uint64_t number) {
  out_of_order_++;
  ArrivalResult out;
  if (!nak_highest_ || number <= *nak_highest_) {
    out.ack = answer(LL_NAK_SEQUENCE, expected_);
    nak_highest_ = number;
  }
  nak_highest_ = std::max(*nak_highest_, number);
  return out;
}

void QpReceiver::watch_order(std::uint16_t order) {
  if (order_ && static_cast<std::int16_t>(order - *order_) <= 0) {
    reordered_++;
    return;
  }
  order_ = order;
}

ArrivalResult QpReceiver::on_data(const Arrival& a) {
  watch_order(a.wire_order);
  const auto base = static_cast<std::uint32_t>((first_psn_ + expected_) & LL_PSN_MASK);
  const std::uint32_t ahead = (a.psn - base) & LL_PSN_MASK;
  if (ahead == 0) return take(a);
  if (ahead < (1u << 23)) return gap(expected_ + ahead);
  duplicates_++;
  ArrivalResult out;
  if (a.ack_request) out.ack = answer(LL_ACK_NO_CREDIT, expected_ - 1);
  return out;
}

}  // namespace lossless::endpoint
