// SPDX-License-Identifier: Apache-2.0
// One TC under a watchdog, as the datapath would report it.
#pragma once

#include <gtest/gtest.h>

#include "daemon/pfc/watchdog.h"

namespace lossless::pfc::test {

using Step = WatchdogStep;
using State = WatchdogState;

inline constexpr std::uint64_t kMs = 1'000'000;

inline const WatchdogSteps kNothing;
inline const WatchdogSteps kDropBegins{Step::PfcOff, Step::DropStart, Step::Alert};
inline const WatchdogSteps kDropEnds{Step::DropStop, Step::PfcOn, Step::Restored};

inline WatchdogConfig with(WatchdogAction action, RecoveryMode mode = RecoveryMode::Auto,
                           std::uint32_t limit = 0) {
  WatchdogConfig config;
  config.on = true;
  config.action = action;
  config.mode = mode;
  config.trigger_limit = limit;
  return config;
}

// One TC as the datapath would report it.
struct Tc {
  explicit Tc(const WatchdogConfig& config = with(WatchdogAction::Drop)) : dog(config) {
    s.now_ns = 1000 * kMs;
    s.paused_total_ns = 7 * kMs;
    s.tx_packets = 42;
    s.backlog_bytes = 5000;
    dog.sample(s);
  }

  // `ms` go by, of which the peer asked for `paused_ms` of pause, up to now if `paused_now`; `sent` packets
  // left.
  WatchdogSteps go(std::uint64_t ms, std::uint64_t paused_ms, bool paused_now, std::uint64_t sent = 0) {
    s.now_ns += ms * kMs;
    s.paused_total_ns += paused_ms * kMs;
    s.paused_now = paused_now;
    s.tx_packets += sent;
    if (dog.effect().drop) s.action_drops += 10;
    return dog.sample(s);
  }
  // Packets left until 40 ms ago: the sample from which the time counts.
  void pause() { EXPECT_EQ(go(100, 40, true, 5), kNothing); }
  WatchdogSteps stuck(std::uint64_t ms = 100) { return go(ms, ms, true); }
  WatchdogSteps flow(std::uint64_t ms = 100) { return go(ms, 0, false, 1000); }

  // Polls of a storm until something happens, 10 s at most.
  WatchdogSteps stuck_until_steps() {
    for (int i = 0; i < 100; ++i) {
      auto steps = stuck();
      if (!steps.empty()) return steps;
    }
    return {};
  }
  WatchdogSteps flow_until_steps() {
    for (int i = 0; i < 1000; ++i) {
      auto steps = flow();
      if (!steps.empty()) return steps;
    }
    return {};
  }
  Deadlock newest() const { return dog.history().entries().back(); }

  WatchdogSample s;
  Watchdog dog;
};

}  // namespace lossless::pfc::test
