// SPDX-License-Identifier: Apache-2.0
// One connection: a requester QP on one host and its responder QP on another, with all that belongs to it.
#pragma once

#include <cstdint>
#include <optional>

#include "bpf/stages/dcqcn.h"
#include "veth-topo/endpoint/cm.h"
#include "veth-topo/endpoint/config.h"
#include "veth-topo/endpoint/receiver.h"
#include "veth-topo/endpoint/sender.h"
#include "veth-topo/endpoint/workload.h"

namespace lossless::endpoint {

struct QpPair {
  QpPair(const FlowConfig& f, const ll_dcqcn_params& p, FlowRandom r, std::uint32_t requester_qpn,
         std::uint32_t responder_qpn, std::uint32_t cm_id, std::uint32_t service, std::uint32_t psn)
      : flow(&f),
        random(r),
        qpn(requester_qpn),
        peer_qpn(responder_qpn),
        sender({f.mtu, f.write, f.window_packets, f.ack_every, f.timeout_ns, psn}),
        receiver(psn, f.mtu),
        params(p),
        initiator(cm_id, service, requester_qpn, psn),
        responder(cm_id + 1, responder_qpn, psn) {}

  const FlowConfig* flow;
  FlowRandom random;

  std::uint32_t qpn;       // on flow->from
  std::uint32_t peer_qpn;  // on flow->to
  QpSender sender;
  QpReceiver receiver;

  ll_dcqcn_params params;
  ll_dcqcn_rp rp{};
  ll_dcqcn_np np{};
  std::uint64_t cnp_received = 0;

  CmInitiator initiator;
  CmResponder responder;

  std::uint64_t posted = 0;  // messages
  std::uint64_t completed = 0;
  Nanos next_arrival = kNever;  // when to post the next message; kNever in a closed loop under way

  bool queued = false;           // is in the round robin of its host
  Nanos sent_at = 0;             // when the last packet was due
  std::uint64_t sent_bytes = 0;  // its length
  std::uint16_t wire_order = 0;  // IP identification of the next data frame
  std::optional<AckPacket> ack;  // waits in the responder's control queue
  double rate_mbps_end = 0;
};

}  // namespace lossless::endpoint
