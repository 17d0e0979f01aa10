// SPDX-License-Identifier: Apache-2.0
// The requester half of an RC queue pair: messages in, packets out, go-back-N on loss. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "veth-topo/endpoint/types.h"

namespace lossless::endpoint {

struct SenderParams {
  std::uint32_t mtu = 1024;               // payload bytes of a full packet
  bool write = true;                      // RC WRITE, else RC SEND
  std::uint32_t window_packets = 512;     // unacknowledged packets, 1 .. 2^22
  std::uint32_t ack_every = 4;            // asks for an ACK on every n-th packet and on last ones
  Nanos timeout_ns = 250 * kMillisecond;  // without progress: start over at the oldest packet
  std::uint32_t first_psn = 0;
};

// One packet to send now.
struct DataPacket {
  std::uint32_t psn = 0;
  std::uint8_t opcode = 0;
  std::uint32_t payload = 0;        // bytes
  std::uint64_t message_bytes = 0;  // of the whole message, for the RETH
  std::uint64_t offset = 0;         // of this payload in the message
  bool first = false;
  bool ack_request = false;
  bool retransmit = false;
};

// A message whose last packet was acknowledged.
struct Completion {
  std::uint64_t bytes = 0;
  Nanos posted = 0;
};

class QpSender {
 public:
  explicit QpSender(const SenderParams& params) : params_(params) {}

  // bytes >= 0; a message of 0 bytes is one empty packet.
  void post(std::uint64_t bytes, Nanos now);

  bool can_send() const;
  // The size class of the next packet without taking it; only if can_send().
  DataPacket peek() const;
  // Takes the next packet; only if can_send().
  DataPacket take(Nanos now);

  // An ACK or NAK arrived. The messages it completed, valid until the next call.
  const std::vector<Completion>& on_ack(std::uint32_t psn, std::uint8_t syndrome, Nanos now);

  // When on_timer() has something to do.
  Nanos deadline() const;
  void on_timer(Nanos now);

  // Messages posted and not completed.
  std::size_t pending_messages() const { return messages_.size(); }
  // Every posted packet was sent at least once.
  bool all_sent() const { return highest_ == end_; }
  bool failed() const { return failed_; }

  std::uint64_t packets_sent() const { return sent_; }
  std::uint64_t retransmitted() const { return retransmitted_; }
  std::uint64_t timeouts() const { return timeouts_; }
  std::uint64_t naks() const { return naks_; }
  std::uint64_t stale_acks() const { return stale_acks_; }

 private:
  struct Message {
    std::uint64_t first;  // number of its first packet, counted from 0 over the whole connection
    std::uint64_t packets;
    std::uint64_t bytes;
    Nanos posted;
  };
  std::uint64_t unwrap(std::uint32_t psn) const;
  const Message& message_of(std::uint64_t number) const;
  void acknowledge(std::uint64_t up_to, Nanos now);

  SenderParams params_;
  std::deque<Message> messages_;
  std::vector<Completion> completed_;
  std::uint64_t oldest_ = 0;        // oldest packet not acknowledged
  std::uint64_t next_ = 0;          // next packet to send
  std::uint64_t highest_ = 0;       // packets below were sent at least once
  std::uint64_t end_ = 0;           // packets below belong to posted messages
  mutable std::size_t cursor_ = 0;  // index in messages_ of the last message looked up
  Nanos timer_base_ = 0;
  bool failed_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t retransmitted_ = 0;
  std::uint64_t timeouts_ = 0;
  std::uint64_t naks_ = 0;
  std::uint64_t stale_acks_ = 0;
};

}  // namespace lossless::endpoint
