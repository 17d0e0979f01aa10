// SPDX-License-Identifier: Apache-2.0
// The course of a run, and what is measured along it.
#include <algorithm>

#include "veth-topo/endpoint/engine.h"

namespace lossless::endpoint {
namespace {

constexpr Nanos kConnectLimitNs = 10 * kSecond;
constexpr Nanos kDisconnectLimitNs = 2 * kSecond;

}  // namespace

// Nothing is under way any more: every frame sent has arrived, or none has moved for a while.
bool Engine::quiet(Nanos now) const {
  for (const Host& h : hosts_) {
    if (!h.control.empty()) return false;
  }
  return tx_total_ == rx_total_ || now >= last_activity_ + kQuietNs;
}

bool Engine::phase_is_over(Nanos now) const {
  const auto all = [&](auto predicate) { return std::ranges::all_of(pairs_, predicate); };
  const Nanos passed = now - phase_start_;
  switch (phase_) {
    case Phase::Connect:
      return !config_.cm || interrupted_ || passed >= kConnectLimitNs || all([](const QpPair& p) {
        return p.initiator.state() == CmInitiator::State::Established ||
               p.initiator.state() == CmInitiator::State::Failed;
      });
    case Phase::Run:
      return interrupted_ || passed >= config_.duration_ns ||
             (open_messages_ == 0 && exhausted_pairs_ == pairs_.size());
    case Phase::Finish:
      return interrupted_ || passed >= config_.finish_ns || open_messages_ == 0;
    case Phase::Quiesce:
    case Phase::Settle:
      return passed >= config_.quiesce_ns || quiet(now);
    case Phase::Disconnect:
      return !config_.cm || passed >= kDisconnectLimitNs ||
             all([](const QpPair& p) { return p.initiator.state() != CmInitiator::State::DreqSent; });
    case Phase::Done:
      return false;
  }
  return false;
}

// The latest time at which the phase may be over without anything else happening.
Nanos Engine::phase_deadline() const {
  switch (phase_) {
    case Phase::Connect:
      return phase_start_ + kConnectLimitNs;
    case Phase::Run: {
      const Nanos warm = run_start_ + config_.warmup_ns;
      return steady_start_ == 0 ? warm : phase_start_ + config_.duration_ns;
    }
    case Phase::Finish:
      return phase_start_ + config_.finish_ns;
    case Phase::Quiesce:
    case Phase::Settle:
      return std::min(phase_start_ + config_.quiesce_ns, last_activity_ + kQuietNs);
    case Phase::Disconnect:
      return phase_start_ + kDisconnectLimitNs;
    case Phase::Done:
      return kNever;
  }
  return kNever;
}

void Engine::step(Nanos now) {
  if (phase_ == Phase::Run && steady_start_ == 0 && now >= run_start_ + config_.warmup_ns) {
    steady_start_ = now;
    steady_delivered_ = delivered_;
  }
  while (phase_ != Phase::Done && phase_is_over(now)) {
    enter(static_cast<Phase>(static_cast<int>(phase_) + 1), now);
  }
}

void Engine::start_run(Nanos now) {
  std::size_t missing = 0;
  for (const QpPair& p : pairs_) {
    if (config_.cm && p.initiator.state() != CmInitiator::State::Established) missing++;
  }
  if (missing != 0) {
    if (!interrupted_)
      error_ = std::to_string(missing) + " of " + std::to_string(pairs_.size()) +
               " connections could not be set up";
    interrupted_ = true;
    return;
  }
  sending_ = true;
  posting_ = true;
  next_sample_ = now + kSeriesStepNs;
  last_sample_ = now;
  for (std::uint32_t id = 0; id < pairs_.size(); id++) {
    QpPair& pair = pairs_[id];
    ll_dcqcn_rp_init(&pair.rp, config_.hosts[pair.flow->from].link_bps, now);
    pair.next_arrival = now + pair.flow->start_ns;
    if (pair.flow->load) {
      const double bps =
          *pair.flow->load * static_cast<double>(config_.hosts[pair.flow->from].link_bps) / pair.flow->qps;
      pair.next_arrival += pair.random.exponential(pair.flow->size.mean_bytes() * 8e9 / bps);
    }
    arm(id);
  }
}

void Engine::end_run(Nanos now) {
  posting_ = false;
  run_end_ = now;
  end_delivered_ = delivered_;
  if (steady_start_ == 0) {  // ended within the warm-up: the whole run has to do
    steady_start_ = run_start_;
    steady_delivered_ = 0;
  }
  next_sample_ = kNever;
  for (QpPair& pair : pairs_) pair.rate_mbps_end = static_cast<double>(pair.rp.rate_bps) / 1e6;
}

void Engine::enter(Phase phase, Nanos now) {
  phase_ = phase;
  phase_start_ = now;
  switch (phase) {
    case Phase::Connect:
      for (std::uint32_t id = 0; config_.cm && id < pairs_.size(); id++) {
        pairs_[id].initiator.connect(now);
        arm(id);
      }
      break;
    case Phase::Run:
      run_start_ = now;
      start_run(now);
      break;
    case Phase::Finish:
      end_run(now);
      break;
    case Phase::Quiesce:
      sending_ = false;
      last_activity_ = now;
      break;
    case Phase::Disconnect:
      for (std::uint32_t id = 0; config_.cm && id < pairs_.size(); id++) {
        pairs_[id].initiator.disconnect(now);
        arm(id);
      }
      break;
    case Phase::Settle:
    case Phase::Done:
      break;
  }
}

void Engine::interrupt(Nanos now) {
  interrupted_ = true;
  step(now);
}

void Engine::sample(Nanos now) {
  if (now < next_sample_) return;
  const double step_ms = static_cast<double>(now - last_sample_) / 1e6;
  series_.push_back({static_cast<double>(now - run_start_) / 1e6,
                     static_cast<double>(delivered_ - sampled_delivered_) * 8 / (step_ms * 1e3),
                     cnp_sent_ - sampled_cnp_, retransmitted_ - sampled_retransmitted_});
  sampled_delivered_ = delivered_;
  sampled_cnp_ = cnp_sent_;
  sampled_retransmitted_ = retransmitted_;
  last_sample_ = now;
  while (next_sample_ <= now) next_sample_ += kSeriesStepNs;
}

}  // namespace lossless::endpoint
