// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/endpoint/sender.h"

#include <algorithm>

#include "bpf/stages/roce.h"

namespace lossless::endpoint {
namespace {

std::uint8_t opcode_of(bool write, bool first, bool last) {
  if (first && last) return write ? LL_OP_WRITE_ONLY : LL_OP_SEND_ONLY;
  if (first) return write ? LL_OP_WRITE_FIRST : LL_OP_SEND_FIRST;
  if (last) return write ? LL_OP_WRITE_LAST : LL_OP_SEND_LAST;
  return write ? LL_OP_WRITE_MIDDLE : LL_OP_SEND_MIDDLE;
}

}  // namespace

void QpSender::post(std::uint64_t bytes, Nanos now) {
  const std::uint64_t packets = std::max<std::uint64_t>(1, (bytes + params_.mtu - 1) / params_.mtu);
  messages_.push_back({end_, packets, bytes, now});
  end_ += packets;
}

bool QpSender::can_send() const {
  return !failed_ && next_ < end_ && next_ - oldest_ < params_.window_packets;
}

const QpSender::Message& QpSender::message_of(std::uint64_t number) const {
  const auto holds = [&](std::size_t i) {
    return i < messages_.size() && messages_[i].first <= number &&
           number < messages_[i].first + messages_[i].packets;
  };
  if (holds(cursor_)) return messages_[cursor_];
  if (holds(cursor_ + 1)) return messages_[++cursor_];
  const auto after = std::ranges::upper_bound(messages_, number, {}, &Message::first);
  cursor_ = static_cast<std::size_t>(after - messages_.begin()) - 1;
  return messages_[cursor_];
}

DataPacket QpSender::peek() const {
  const Message& m = message_of(next_);
  const std::uint64_t index = next_ - m.first;
  const bool last = index + 1 == m.packets;
  DataPacket p;
  p.psn = static_cast<std::uint32_t>((params_.first_psn + next_) & LL_PSN_MASK);
  p.first = index == 0;
  p.opcode = opcode_of(params_.write, p.first, last);
  p.offset = index * params_.mtu;
  p.payload = static_cast<std::uint32_t>(last ? m.bytes - p.offset : params_.mtu);
  p.message_bytes = m.bytes;
  p.retransmit = next_ < highest_;
  const bool window_closes = next_ + 1 - oldest_ == params_.window_packets;
  p.ack_request = last || window_closes || (index + 1) % params_.ack_every == 0;
  return p;
}

DataPacket QpSender::take(Nanos now) {
  const DataPacket p = peek();
  // The timer counts from the last packet that asks for an ACK: a slow flow is not a lost one.
  if (p.ack_request || next_ == oldest_) timer_base_ = now;
  next_++;
  sent_++;
  if (p.retransmit) retransmitted_++;
  highest_ = std::max(highest_, next_);
  return p;
}

// The packet number nearest to the oldest one that has this PSN; may be below it (old) or above what
// was sent (nonsense), which the caller checks. Wraps for numbers that would be negative.
std::uint64_t QpSender::unwrap(std::uint32_t psn) const {
  const auto base = static_cast<std::uint32_t>((params_.first_psn + oldest_) & LL_PSN_MASK);
  const std::uint32_t ahead = (psn - base) & LL_PSN_MASK;
  return ahead < (1u << 23) ? oldest_ + ahead : oldest_ + ahead - (1u << 24);
}

void QpSender::acknowledge(std::uint64_t up_to, Nanos now) {
  oldest_ = up_to;
  next_ = std::max(next_, oldest_);
  timer_base_ = now;
  while (!messages_.empty() && messages_.front().first + messages_.front().packets <= oldest_) {
    completed_.push_back({messages_.front().bytes, messages_.front().posted});
    messages_.pop_front();
    if (cursor_ > 0) cursor_--;
  }
}

const std::vector<Completion>& QpSender::on_ack(std::uint32_t psn, std::uint8_t syndrome, Nanos now) {
  completed_.clear();
  const std::uint64_t number = unwrap(psn);
  const bool in_flight = number >= oldest_ && number < highest_;
  if (!in_flight) {
    stale_acks_++;
    return completed_;
  }
  if (syndrome == LL_NAK_SEQUENCE) {
    naks_++;
    acknowledge(number, now);
    next_ = number;
  } else if ((syndrome & 0xe0u) == 0) {
    acknowledge(number + 1, now);
  } else if ((syndrome & 0xe0u) == 0x60u) {
    naks_++;
    failed_ = true;  // the responder refuses the request: a requester must not go on
  }
  return completed_;
}

Nanos QpSender::deadline() const {
  return failed_ || oldest_ == highest_ ? kNever : timer_base_ + params_.timeout_ns;
}

void QpSender::on_timer(Nanos now) {
  if (now < deadline()) return;
  timeouts_++;
  timer_base_ = now;
  next_ = oldest_;
}

}  // namespace lossless::endpoint
