// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/watchdog.h"

#include <algorithm>

namespace lossless::pfc {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
// A storm may leave gaps of 1 % between a pause that runs out and the frame that renews it, and the readings
// of one sample are not taken at quite the same instant.
constexpr std::uint64_t kOpenShare = 100;
constexpr std::uint64_t kLeasePolls = 10;

std::uint64_t after(std::uint64_t now_ns, std::uint64_t then_ns) {
  return now_ns > then_ns ? now_ns - then_ns : 0;
}

// How much of the time from `last` to `s` was not paused.
std::uint64_t open_between(const WatchdogSample& last, const WatchdogSample& s) {
  return after(s.now_ns - last.now_ns, after(s.paused_total_ns, last.paused_total_ns));
}

// Whether `open_ns` of `elapsed_ns` is too much for a pause that lasts.
bool broken(std::uint64_t open_ns, std::uint64_t elapsed_ns) { return open_ns > elapsed_ns / kOpenShare; }

}  // namespace

std::uint64_t Watchdog::detection_ns() const { return config_.detection_ms * kNsPerMs; }

WatchdogEffect Watchdog::effect() const {
  const bool recovering = phase_ == Phase::Recovering;
  return {.pfc_off = recovering || phase_ == Phase::Off,
          .drop = recovering && config_.action == WatchdogAction::Drop};
}

WatchdogState Watchdog::state() const {
  switch (phase_) {
    case Phase::Off:
      return WatchdogState::Off;
    case Phase::Recovering:
      return WatchdogState::Recovering;
    case Phase::Alerted:
      return WatchdogState::Alerted;
    case Phase::Watching:
      break;
  }
  return config_.on && !escape_ ? WatchdogState::Watching : WatchdogState::Disabled;
}

WatchdogSteps Watchdog::with_effect(const WatchdogEffect& before, const WatchdogSteps& steps) const {
  const WatchdogEffect now = effect();
  WatchdogSteps all;
  if (before.drop && !now.drop) all.push_back(WatchdogStep::DropStop);
  if (!before.pfc_off && now.pfc_off) all.push_back(WatchdogStep::PfcOff);
  if (before.pfc_off && !now.pfc_off) all.push_back(WatchdogStep::PfcOn);
  if (!before.drop && now.drop) all.push_back(WatchdogStep::DropStart);
  all.insert(all.end(), steps.begin(), steps.end());
  return all;
}

WatchdogSteps Watchdog::take_over(const WatchdogEffect& found, OffReason off) {
  if (config_.on && off != OffReason::None) {
    phase_ = Phase::Off;
    off_ = off;
  }
  return with_effect(found, {});
}

WatchdogSteps Watchdog::sample(const WatchdogSample& sample) {
  const WatchdogEffect before = effect();
  WatchdogSteps steps;
  last_sample_ns_ = std::max(last_sample_ns_, sample.now_ns);
  count_drops(sample);
  if (!config_.on || escape_ || phase_ == Phase::Off) {
    forget_evidence();
    return steps;
  }
  if (!sample.port_up) {
    end(DeadlockEnd::PortDown, sample.now_ns, steps);
    forget_evidence();
    return with_effect(before, steps);
  }
  if (last_ && sample.now_ns <= last_->now_ns) return steps;
  if (last_ && last_->lossless != sample.lossless) forget_evidence();
  if (!sample.lossless) {
    end(DeadlockEnd::NotLossless, sample.now_ns, steps);
    watch_lossy(sample);
  } else if (phase_ == Phase::Recovering) {
    continue_recovery(sample, steps);
  } else {
    watch(sample, steps);
  }
  last_ = sample;
  return with_effect(before, steps);
}

// One sample after the end as well: packets are dropped until the datapath has been told to stop.
void Watchdog::count_drops(const WatchdogSample& s) {
  if (!drops_due_) return;
  std::uint64_t& dropped = history_.newest().dropped_packets;
  dropped = std::max(dropped, after(s.action_drops, drops_start_));
  drops_due_ = entry_open_;
}

// Extends the span by the time since the last sample, or begins one. `holds`: the TC is held up now.
// `unbroken`: nothing that contradicts it happened since the last sample, apart from the pause's own gaps.
void Watchdog::follow(const WatchdogSample& s, bool holds, bool unbroken) {
  if (!holds) {
    span_.reset();
    return;
  }
  if (!unbroken || !last_) {
    span_ = Span{.since_ns = s.now_ns, .open_ns = 0};
    return;
  }
  // A late sample that was paused all the time since the last is proof even if that one was not paused yet.
  if (!span_) span_ = Span{.since_ns = last_->now_ns, .open_ns = 0};
  span_->open_ns += open_between(*last_, s);
  if (broken(span_->open_ns, std::max(s.now_ns - span_->since_ns, detection_ns()))) {
    span_ = Span{.since_ns = s.now_ns, .open_ns = 0};
  }
}

bool Watchdog::lasting(std::uint64_t now_ns) const {
  return span_ && now_ns - span_->since_ns >= detection_ns();
}

void Watchdog::watch(const WatchdogSample& s, WatchdogSteps& steps) {
  const bool waiting = s.backlog_bytes > 0;
  // Data that waited at both ends with nothing sent in between waited all the time.
  const bool stood_still = last_ && last_->backlog_bytes > 0 && last_->tx_packets == s.tx_packets;
  const std::optional<Span> old = span_;
  follow(s, s.paused_now && waiting, stood_still);
  if (phase_ == Phase::Alerted) {
    const bool goes_on = old && span_ && old->since_ns == span_->since_ns;
    if (!goes_on) end(DeadlockEnd::StormOver, s.now_ns, steps);
  } else if (span_ && lasting(s.now_ns)) {
    trigger(s, span_->since_ns, steps);
  }
}

void Watchdog::watch_lossy(const WatchdogSample& s) {
  follow(s, s.paused_now, true);
  if (!lasting(s.now_ns)) {
    storm_counted_ = false;
  } else if (!storm_counted_) {
    storm_counted_ = true;
    ++counters_.lossy_storms;
  }
}

void Watchdog::trigger(const WatchdogSample& s, std::uint64_t since_ns, WatchdogSteps& steps) {
  ++counters_.deadlocks;
  drops_start_ = s.action_drops;
  entry_open_ = drops_due_ = true;
  history_.add({.since_ns = since_ns,
                .detected_ns = s.now_ns,
                .backlog_bytes = s.backlog_bytes,
                .action = config_.action});
  steps.push_back(WatchdogStep::Alert);
  if (config_.action == WatchdogAction::Alert) {
    phase_ = Phase::Alerted;
    return;
  }
  const std::uint32_t others = triggers(s.now_ns);
  while (triggers_.size() > others) triggers_.pop_front();
  triggers_.push_back(s.now_ns);
  if (config_.trigger_limit > 0 && triggers_.size() >= config_.trigger_limit) {
    phase_ = Phase::Off;
    off_ = history_.newest().off = OffReason::TriggerLimit;
    ++counters_.forced_off;
    steps.push_back(WatchdogStep::ForcedOff);
    return;
  }
  phase_ = Phase::Recovering;
  history_.newest().periods = 1;
  period_start_ns_ = s.now_ns;
  period_paused_ns_ = s.paused_total_ns;
}

void Watchdog::continue_recovery(const WatchdogSample& s, WatchdogSteps& steps) {
  const std::uint64_t elapsed = after(s.now_ns, period_start_ns_);
  if (elapsed < config_.recovery_ms * kNsPerMs) return;
  const std::uint64_t paused = after(s.paused_total_ns, period_paused_ns_);
  if (!broken(after(elapsed, paused), elapsed)) {
    ++counters_.prolonged;
    ++history_.newest().periods;
    period_start_ns_ = s.now_ns;
    period_paused_ns_ = s.paused_total_ns;
  } else if (config_.mode == RecoveryMode::Manual) {
    phase_ = Phase::Off;
    off_ = history_.newest().off = OffReason::Manual;
    steps.push_back(WatchdogStep::Held);
  } else {
    end(DeadlockEnd::StormOver, s.now_ns, steps);
  }
}

// Back to watching.
void Watchdog::end(DeadlockEnd reason, std::uint64_t now_ns, WatchdogSteps& steps) {
  if (phase_ == Phase::Watching) return;
  // What an alert saw stays true; what was seen with PFC off says nothing about the time after.
  if (phase_ != Phase::Alerted) forget_evidence();
  phase_ = Phase::Watching;
  off_ = OffReason::None;
  if (entry_open_) {
    history_.newest().ended_ns = now_ns;
    history_.newest().end = reason;
    entry_open_ = false;
  }
  ++counters_.restored;
  steps.push_back(WatchdogStep::Restored);
}

void Watchdog::forget_evidence() {
  last_.reset();
  span_.reset();
  storm_counted_ = false;
}

WatchdogSteps Watchdog::recover(std::uint64_t now_ns) {
  const WatchdogEffect before = effect();
  WatchdogSteps steps;
  triggers_.clear();
  end(DeadlockEnd::Operator, now_ns, steps);
  return with_effect(before, steps);
}

WatchdogSteps Watchdog::configure(const WatchdogConfig& config, std::uint64_t now_ns) {
  const WatchdogEffect before = effect();
  WatchdogSteps steps;
  const bool alert_changed =
      (config.action == WatchdogAction::Alert) != (config_.action == WatchdogAction::Alert);
  config_ = config;
  if (!config.on) {
    triggers_.clear();
    forget_evidence();
    end(DeadlockEnd::Config, now_ns, steps);
  } else if (alert_changed && phase_ != Phase::Off) {
    end(DeadlockEnd::Config, now_ns, steps);
  }
  if (entry_open_) history_.newest().action = config.action;
  return with_effect(before, steps);
}

WatchdogSteps Watchdog::set_escape(bool on, std::uint64_t now_ns) {
  const WatchdogEffect before = effect();
  WatchdogSteps steps;
  if (on == escape_) return steps;
  escape_ = on;
  if (phase_ != Phase::Off) end(DeadlockEnd::Escape, now_ns, steps);
  return with_effect(before, steps);
}

WatchdogSteps Watchdog::stop(std::uint64_t now_ns) {
  const WatchdogEffect before = effect();
  WatchdogSteps steps;
  if (phase_ != Phase::Off) end(DeadlockEnd::Stopped, now_ns, steps);
  return with_effect(before, steps);
}

std::uint32_t Watchdog::triggers(std::uint64_t now_ns) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      triggers_, [&](std::uint64_t t) { return after(now_ns, t) < config_.window_ms * kNsPerMs; }));
}

std::uint64_t Watchdog::next_sample_ns(std::uint64_t now_ns) const {
  const std::uint64_t poll = now_ns + config_.poll_ms * kNsPerMs;
  std::uint64_t end_of_time = poll;
  if (phase_ == Phase::Recovering) end_of_time = period_start_ns_ + config_.recovery_ms * kNsPerMs;
  if (phase_ == Phase::Watching && span_) end_of_time = span_->since_ns + detection_ns();
  return end_of_time > now_ns ? std::min(poll, end_of_time) : poll;
}

std::uint64_t Watchdog::lease_until_ns() const {
  return last_sample_ns_ + kLeasePolls * config_.poll_ms * kNsPerMs;
}

std::string_view to_string(WatchdogStep step) {
  switch (step) {
    case WatchdogStep::PfcOff:
      return "pfc-off";
    case WatchdogStep::DropStart:
      return "drop-start";
    case WatchdogStep::DropStop:
      return "drop-stop";
    case WatchdogStep::PfcOn:
      return "pfc-on";
    case WatchdogStep::Alert:
      return "alert";
    case WatchdogStep::ForcedOff:
      return "forced-off";
    case WatchdogStep::Held:
      return "held";
    case WatchdogStep::Restored:
      return "restored";
  }
  return "?";
}

std::string_view to_string(WatchdogState state) {
  switch (state) {
    case WatchdogState::Disabled:
      return "disabled";
    case WatchdogState::Watching:
      return "watching";
    case WatchdogState::Alerted:
      return "alerted";
    case WatchdogState::Recovering:
      return "recovering";
    case WatchdogState::Off:
      return "off";
  }
  return "?";
}

}  // namespace lossless::pfc
