// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/endpoint/cm.h"

namespace lossless::endpoint {

void CmInitiator::connect(Nanos now) {
  state_ = State::ReqSent;
  tries_ = 0;
  deadline_ = now;
}

void CmInitiator::disconnect(Nanos now) {
  if (state_ != State::Established) return;
  state_ = State::DreqSent;
  tries_ = 0;
  deadline_ = now;
}

ll_cm CmInitiator::message(std::uint16_t attribute) const {
  ll_cm cm{};
  cm.attribute = attribute;
  cm.local_id = id_;
  cm.remote_id = peer_id_;
  if (attribute == LL_CM_REQ) {
    cm.service = service_;
    cm.qpn = qpn_;
    cm.psn = psn_;
  } else if (attribute == LL_CM_DREQ) {
    cm.qpn = peer_qpn_;
  }
  return cm;
}

std::optional<ll_cm> CmInitiator::on_message(const ll_cm& cm) {
  if (cm.attribute == LL_CM_REP && state_ == State::ReqSent) {
    state_ = State::Established;
    peer_id_ = cm.local_id;
    peer_qpn_ = cm.qpn;
    deadline_ = kNever;
    return message(LL_CM_RTU);
  }
  // The RTU was lost: the peer repeats its REP.
  if (cm.attribute == LL_CM_REP && state_ == State::Established) return message(LL_CM_RTU);
  if (cm.attribute == LL_CM_DREP && state_ == State::DreqSent) {
    state_ = State::Closed;
    deadline_ = kNever;
  }
  return std::nullopt;
}

std::optional<ll_cm> CmInitiator::poll(Nanos now) {
  if (now < deadline_) return std::nullopt;
  if (tries_++ == kCmRetries) {
    state_ = State::Failed;
    deadline_ = kNever;
    return std::nullopt;
  }
  deadline_ = now + kCmRetryNs;
  return message(state_ == State::DreqSent ? LL_CM_DREQ : LL_CM_REQ);
}

std::optional<ll_cm> CmResponder::on_message(const ll_cm& cm) {
  ll_cm reply{};
  reply.local_id = id_;
  reply.remote_id = cm.local_id;
  if (cm.attribute == LL_CM_REQ && state_ != State::Closed) {
    if (state_ == State::Listening) state_ = State::RepSent;
    peer_id_ = cm.local_id;
    peer_qpn_ = cm.qpn;
    peer_psn_ = cm.psn;
    reply.attribute = LL_CM_REP;
    reply.qpn = qpn_;
    reply.psn = psn_;
    return reply;
  }
  if (cm.local_id != peer_id_) return std::nullopt;
  if (cm.attribute == LL_CM_RTU && state_ == State::RepSent) state_ = State::Established;
  if (cm.attribute == LL_CM_DREQ && cm.qpn == qpn_) {
    state_ = State::Closed;
    reply.attribute = LL_CM_DREP;
    return reply;
  }
  return std::nullopt;
}

}  // namespace lossless::endpoint
