// SPDX-License-Identifier: Apache-2.0
#include "daemon/bfd/session.h"

#include <algorithm>
#include <utility>

namespace lossless::bfd {
namespace {

constexpr std::uint64_t kMicrosecondNs = 1000;
// In Demand mode a Poll Sequence verifies the path as often as this, or each detection time if that is
// longer.
constexpr std::uint64_t kVerifyUs = 1'000'000;

// 6.8.7: 75 to 100 % of the interval, at most 90 % where one lost packet is a failure.
std::uint64_t jittered_ns(std::uint64_t interval_us, std::uint8_t detect_mult, std::uint32_t random) {
  const std::uint64_t whole = interval_us * kMicrosecondNs;
  const std::uint64_t range = whole * (detect_mult == 1 ? 15 : 25) / 100;
  return whole * 75 / 100 + (range * (random >> 16U) >> 16U);
}

constexpr Packet kUnheard{.required_min_rx_us = 1};  // 6.8.1

}  // namespace

Session::Session(const Settings& settings, std::uint32_t discriminator, std::uint32_t sequence, Nanos now,
                 Random random)
    : settings_(settings),
      random_(std::move(random)),
      discriminator_(discriminator),
      remote_(kUnheard),
      sequence_(sequence),
      changed_at_(now) {
  if (settings_.admin_down) {
    state_ = State::AdminDown;
    diag_ = Diag::AdministrativelyDown;
  }
  announce();
  if (may_send()) next_tx_ = now;
}

Session::Session(const Settings& settings, const SavedSession& saved, Nanos now, Random random)
    : settings_(settings),
      random_(std::move(random)),
      discriminator_(saved.discriminator),
      remote_discriminator_(saved.remote.my_discriminator),
      state_(saved.state),
      remote_state_(saved.remote.state),
      diag_(saved.diag),
      remote_(saved.remote),
      announced_tx_us_(saved.announced_tx_us),
      announced_rx_us_(saved.announced_rx_us),
      tx_us_(saved.tx_us),
      rx_us_(saved.rx_us),
      sequence_(saved.sequence),
      last_rx_(now),
      changed_at_(saved.changed_at),
      counters_(saved.counters) {
  // Back to what the settings say, by a Poll Sequence that begins at once.
  announce();
  start_poll(now);
  plan_detection();
  next_tx_ = now;
}

SavedSession Session::save() const {
  return {.discriminator = discriminator_,
          .state = state_,
          .diag = diag_,
          .remote = remote_,
          .announced_tx_us = announced_tx_us_,
          .announced_rx_us = announced_rx_us_,
          .tx_us = tx_us_,
          .rx_us = rx_us_,
          .polling = polling_,
          .sequence = sequence_,
          .changed_at = changed_at_,
          .counters = counters_};
}

void Session::prepare_hand_over(Nanos now, const Out& out) {
  if (state_ != State::Up) return;
  Settings patient = settings_;
  patient.desired_min_tx_us = std::max(patient.desired_min_tx_us, kHandOverTxUs);
  configure(patient, now, out);
  if (polling_) next_tx_ = now;
}

// What packets say of our intervals from now on, and what may be done at once (6.8.3).
void Session::announce() {
  announced_rx_us_ = settings_.required_min_rx_us;
  announced_tx_us_ = settings_.desired_min_tx_us;
  if (state_ != State::Up) announced_tx_us_ = std::max(announced_tx_us_, kSlowUs);
  const bool at_once = state_ != State::Up;
  if (at_once || announced_tx_us_ < tx_us_) tx_us_ = announced_tx_us_;
  if (at_once || announced_rx_us_ > rx_us_) rx_us_ = announced_rx_us_;
}

void Session::configure(const Settings& settings, Nanos now, const Out& out) {
  const Settings before = std::exchange(settings_, settings);
  if (before == settings_) return;
  if (before.key != settings_.key) rcv_sequence_.reset();
  if (before.admin_down != settings_.admin_down) {
    if (settings_.admin_down) {
      move(State::AdminDown, Diag::AdministrativelyDown, now, out);
    } else {
      move(State::Down, Diag::None, now, out);
    }
    if (may_send()) send(false, now, out);
  }
  announce();
  const bool timing = before.desired_min_tx_us != settings_.desired_min_tx_us ||
                      before.required_min_rx_us != settings_.required_min_rx_us ||
                      before.demand != settings_.demand;
  if (timing && state_ == State::Up) start_poll(now);
  plan_tx(now);
  plan_detection();
}

bool Session::in_sequence(const AuthSection& auth, std::uint8_t detect_mult) const {
  if (auth.type <= AuthType::Simple || !rcv_sequence_) return true;
  const bool meticulous = auth.type == AuthType::MeticulousMd5 || auth.type == AuthType::MeticulousSha1;
  // Circular: how far it is ahead of the last one.
  const std::uint32_t ahead = auth.sequence - *rcv_sequence_;
  return ahead >= (meticulous ? 1U : 0U) && ahead <= 3U * detect_mult;
}

bool Session::authenticate(const Decoded& decoded, ByteView payload) {
  if (!is_signed_by(payload, decoded.auth, settings_.key)) {
    ++counters_.auth;
    return false;
  }
  if (!in_sequence(decoded.auth, decoded.packet.detect_mult)) {
    ++counters_.replayed;
    return false;
  }
  if (decoded.auth.type > AuthType::Simple) rcv_sequence_ = decoded.auth.sequence;
  return true;
}

// 6.8.6.
void Session::receive(const Decoded& decoded, ByteView payload, Nanos now, const Out& out) {
  if (!authenticate(decoded, payload)) return;
  const Packet& packet = decoded.packet;
  ++counters_.in;
  last_rx_ = now;
  remote_discriminator_ = packet.my_discriminator;
  remote_state_ = packet.state;
  remote_ = packet;
  if (polling_ && packet.final) end_poll(now);
  if (state_ != State::AdminDown) {
    const State before = state_;
    follow_remote(now, out);
    if (packet.poll) send(true, now, out);
    if (state_ != before) send(false, now, out);
  }
  // Else it stays as drawn: redrawing at each packet would bring it forward.
  if (planned_us_ != (sends_periodically() ? tx_interval_us() : 0)) plan_tx(now);
  plan_detection();
}

void Session::follow_remote(Nanos now, const Out& out) {
  if (remote_state_ == State::AdminDown) {
    if (state_ != State::Down) move(State::Down, Diag::NeighbourSignalledDown, now, out, true);
    return;
  }
  switch (state_) {
    case State::Down:
      if (remote_state_ == State::Down) move(State::Init, Diag::None, now, out);
      if (remote_state_ == State::Init) move(State::Up, Diag::None, now, out);
      return;
    case State::Init:
      if (remote_state_ != State::Down) move(State::Up, Diag::None, now, out);
      return;
    case State::Up:
      if (remote_state_ == State::Down) move(State::Down, Diag::NeighbourSignalledDown, now, out);
      return;
    case State::AdminDown:
      return;
  }
}

void Session::move(State to, Diag diag, Nanos now, const Out& out, bool by_neighbour_admin) {
  const State from = std::exchange(state_, to);
  diag_ = diag;
  changed_at_ = now;
  polling_ = poll_again_ = false;
  if (to == State::Up) ++counters_.went_up;
  if (from == State::Up) ++counters_.went_down;
  announce();
  if (to == State::Up) start_poll(now);
  out.changed({.from = from, .to = to, .diag = diag, .by_neighbour_admin = by_neighbour_admin, .at = now});
}

void Session::start_poll(Nanos now) {
  poll_again_ = polling_;
  polling_ = true;
  if (!poll_again_) polling_since_ = now;
}

void Session::end_poll(Nanos now) {
  if (poll_again_) {
    poll_again_ = false;
    polling_since_ = now;
    return;
  }
  polling_ = false;
  tx_us_ = announced_tx_us_;
  rx_us_ = announced_rx_us_;
}

// Nothing was heard for the detection time. The last packet with the neighbour's discriminator tells it, in
// case that it still hears us.
void Session::expire(Nanos now, const Out& out) {
  if (state_ == State::Init || state_ == State::Up) {
    move(State::Down, Diag::DetectionTimeExpired, now, out);
    send(false, now, out);
  }
  remote_discriminator_ = 0;
  remote_state_ = State::Down;
  remote_ = kUnheard;
  plan_tx(now);
  plan_detection();
}

void Session::advance(Nanos now, const Out& out) {
  if (now >= forget_sequence_at_) {
    rcv_sequence_.reset();
    forget_sequence_at_ = kNever;
  }
  if (now >= detect_at_) expire(now, out);
  if (now >= verify_at_) {
    start_poll(now);
    plan_detection();
    plan_tx(now);
    next_tx_ = now;
  }
  if (now >= next_tx_) send(false, now, out);
}

Nanos Session::deadline() const { return std::min({next_tx_, detect_at_, verify_at_, forget_sequence_at_}); }

void Session::say_goodbye(Nanos now, const Out& out) {
  if (!may_send()) return;
  state_ = State::AdminDown;
  diag_ = Diag::AdministrativelyDown;
  polling_ = false;
  send(false, now, out);
}

// 6.8.7.
void Session::send(bool final, Nanos now, const Out& out) {
  const Packet packet{.diag = diag_,
                      .state = state_,
                      .poll = polling_ && !final,
                      .final = final,
                      .demand = demand_active(),
                      .detect_mult = settings_.detect_mult,
                      .my_discriminator = discriminator_,
                      .your_discriminator = remote_discriminator_,
                      .desired_min_tx_us = announced_tx_us_,
                      .required_min_rx_us = announced_rx_us_};
  ++counters_.out;
  out.sends(encode(packet, settings_.key, ++sequence_));
  if (final) return;  // goes beside those that are sent periodically
  last_tx_ = now;
  plan_tx(now);
}

bool Session::sends_periodically() const {
  return may_send() && remote_.required_min_rx_us != 0 && (!remote_demand_active() || polling_);
}

void Session::plan_tx(Nanos now) {
  planned_us_ = sends_periodically() ? tx_interval_us() : 0;
  next_tx_ = planned_us_ == 0
                 ? kNever
                 : std::max(now, last_tx_ + jittered_ns(planned_us_, settings_.detect_mult, random_()));
}

void Session::plan_detection() {
  const std::uint64_t time_ns = detection_time_us() * kMicrosecondNs;
  detect_at_ = verify_at_ = kNever;
  if (remote_discriminator_ == 0) return;
  if (rcv_sequence_) forget_sequence_at_ = last_rx_ + 2 * time_ns;
  if (!demand_active()) {
    detect_at_ = last_rx_ + time_ns;
  } else if (polling_) {
    detect_at_ = polling_since_ + time_ns;
  } else {
    verify_at_ = last_rx_ + std::max(time_ns, kVerifyUs * kMicrosecondNs);
  }
}

std::uint32_t Session::tx_interval_us() const { return std::max(tx_us_, remote_.required_min_rx_us); }

// 6.8.4: by the neighbour's multiplier, or, while it only answers, by ours.
std::uint64_t Session::detection_time_us() const {
  if (remote_discriminator_ == 0) return 0;
  if (demand_active()) return std::uint64_t{settings_.detect_mult} * tx_interval_us();
  return std::uint64_t{remote_.detect_mult} * std::max(rx_us_, remote_.desired_min_tx_us);
}

}  // namespace lossless::bfd
