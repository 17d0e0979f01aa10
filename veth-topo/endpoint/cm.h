// SPDX-License-Identifier: Apache-2.0
// Connection establishment and release of one QP pair over CM messages (IBA vol. 1, section 12.9). Pure.
#pragma once

#include <optional>

#include "bpf/stages/roce.h"
#include "veth-topo/endpoint/types.h"

namespace lossless::endpoint {

inline constexpr Nanos kCmRetryNs = 100 * kMillisecond;
inline constexpr unsigned kCmRetries = 50;

// The side that sends the REQ and, at the end, the DREQ.
class CmInitiator {
 public:
  enum class State { Idle, ReqSent, Established, DreqSent, Closed, Failed };

  // id: communication ID, unique on its host; service: tells the peer which QP is meant.
  CmInitiator(std::uint32_t id, std::uint32_t service, std::uint32_t qpn, std::uint32_t psn)
      : id_(id), service_(service), qpn_(qpn), psn_(psn) {}

  void connect(Nanos now);
  void disconnect(Nanos now);  // only from Established

  // A message for this ID arrived; what to answer at once.
  std::optional<ll_cm> on_message(const ll_cm& cm);
  // What to send now: the first or a repeated REQ or DREQ.
  std::optional<ll_cm> poll(Nanos now);
  Nanos deadline() const { return deadline_; }

  State state() const { return state_; }
  std::uint32_t peer_qpn() const { return peer_qpn_; }

 private:
  ll_cm message(std::uint16_t attribute) const;

  std::uint32_t id_;
  std::uint32_t service_;
  std::uint32_t qpn_;
  std::uint32_t psn_;
  State state_ = State::Idle;
  std::uint32_t peer_id_ = 0;
  std::uint32_t peer_qpn_ = 0;
  unsigned tries_ = 0;
  Nanos deadline_ = kNever;
};

// The side that answers.
class CmResponder {
 public:
  enum class State { Listening, RepSent, Established, Closed };

  CmResponder(std::uint32_t id, std::uint32_t qpn, std::uint32_t psn) : id_(id), qpn_(qpn), psn_(psn) {}

  std::optional<ll_cm> on_message(const ll_cm& cm);

  State state() const { return state_; }
  std::uint32_t peer_qpn() const { return peer_qpn_; }
  std::uint32_t peer_psn() const { return peer_psn_; }

 private:
  std::uint32_t id_;
  std::uint32_t qpn_;
  std::uint32_t psn_;
  State state_ = State::Listening;
  std::uint32_t peer_id_ = 0;
  std::uint32_t peer_qpn_ = 0;
  std::uint32_t peer_psn_ = 0;
};

}  // namespace lossless::endpoint
