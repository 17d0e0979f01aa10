// SPDX-License-Identifier: Apache-2.0
// The responder half of an RC queue pair: takes packets in order, answers with ACK and NAK, and is the
// DCQCN notification point. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "veth-topo/endpoint/types.h"

namespace lossless::endpoint {

struct Arrival {
  std::uint8_t opcode = 0;
  std::uint32_t psn = 0;
  std::uint32_t payload = 0;        // bytes
  std::uint32_t message_bytes = 0;  // from the RETH, on a first or only WRITE
  bool ack_request = false;
  std::uint16_t wire_order = 0;  // IP identification: counts the frames of this flow as they were sent
};

struct AckPacket {
  std::uint32_t psn = 0;
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;
};

struct ArrivalResult {
  std::optional<AckPacket> ack;
  std::uint32_t delivered = 0;  // payload bytes delivered in order by this packet
  bool message_done = false;
};

class QpReceiver {
 public:
  QpReceiver(std::uint32_t first_psn, std::uint32_t mtu) : first_psn_(first_psn), mtu_(mtu) {}

  ArrivalResult on_data(const Arrival& a);

  std::uint64_t delivered_bytes() const { return delivered_bytes_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t duplicates() const { return duplicates_; }      // PSN already delivered
  std::uint64_t out_of_order() const { return out_of_order_; }  // PSN beyond the expected one
  std::uint64_t reordered() const { return reordered_; }        // overtaken by a frame sent later
  std::uint64_t invalid() const { return invalid_; }            // opcode or length out of sequence

 private:
  bool in_sequence(const Arrival& a) const;
  ArrivalResult take(const Arrival& a);
  ArrivalResult gap(std::uint64_t number);
  void watch_order(std::uint16_t order);
  AckPacket answer(std::uint8_t syndrome, std::uint64_t number) const;

  std::uint32_t first_psn_;
  std::uint32_t mtu_;
  std::uint64_t expected_ = 0;                // number of the next packet, counted from 0
  std::optional<std::uint64_t> nak_highest_;  // a gap is open: highest number seen since the last NAK
  bool inside_ = false;                       // between FIRST and LAST
  bool inside_write_ = false;
  std::uint64_t inside_bytes_ = 0;
  std::uint64_t announced_bytes_ = 0;  // RETH length of the WRITE under way
  std::optional<std::uint16_t> order_;
  std::uint64_t delivered_bytes_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t out_of_order_ = 0;
  std::uint64_t reordered_ = 0;
  std::uint64_t invalid_ = 0;
};

}  // namespace lossless::endpoint
