// SPDX-License-Identifier: Apache-2.0
// What people and restarts do to a watchdog: limits, commands, settings, escape; and what it remembers. The
// rows of the verdict table in docs/pfc-watchdog.md that are about these.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/unit/pfc_watchdog_tc.h"

namespace lossless::pfc::test {
namespace {

TEST(WatchdogLimit, ForcesPfcOffUntilAnOperatorRecovers) {
  Tc tc(with(WatchdogAction::Drop, RecoveryMode::Auto, 3));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(tc.stuck_until_steps(), kDropBegins);
    EXPECT_EQ(tc.flow_until_steps(), kDropEnds);
  }
  EXPECT_EQ(tc.dog.triggers(tc.s.now_ns), 2U);
  EXPECT_EQ(tc.stuck_until_steps(), (WatchdogSteps{Step::PfcOff, Step::Alert, Step::ForcedOff}));
  EXPECT_EQ(tc.dog.state(), State::Off);
  EXPECT_EQ(tc.dog.off_reason(), OffReason::TriggerLimit);
  EXPECT_EQ(tc.dog.effect(), (WatchdogEffect{.pfc_off = true, .drop = false}));
  EXPECT_EQ(tc.stuck_until_steps(), kNothing);
  EXPECT_EQ(tc.flow(1000), kNothing);
  EXPECT_EQ(tc.dog.triggers(tc.s.now_ns), 3U);
  EXPECT_EQ(tc.dog.recover(tc.s.now_ns), (WatchdogSteps{Step::PfcOn, Step::Restored}));
  EXPECT_EQ(tc.newest().end, DeadlockEnd::Operator);
  EXPECT_EQ(tc.newest().off, OffReason::TriggerLimit);
  EXPECT_EQ(tc.dog.counters().forced_off, 1U);
  // And the count begins anew.
  EXPECT_EQ(tc.stuck_until_steps(), kDropBegins);
}

TEST(WatchdogLimit, OldDeadlocksDoNotCount) {
  WatchdogConfig config = with(WatchdogAction::Drop, RecoveryMode::Auto, 2);
  config.window_ms = 5000;
  Tc tc(config);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(tc.stuck_until_steps(), kDropBegins);
    EXPECT_EQ(tc.flow_until_steps(), kDropEnds);
    tc.flow(4500);
  }
}

TEST(WatchdogLimit, WindowEndsExactly) {
  for (const std::uint64_t more_ms : {0, 1}) {
    WatchdogConfig config = with(WatchdogAction::Drop, RecoveryMode::Auto, 2);
    config.window_ms = 5000;
    Tc tc(config);
    tc.stuck_until_steps();
    const std::uint64_t first = tc.s.now_ns;
    tc.flow(4000);
    tc.flow(799 + more_ms);
    EXPECT_TRUE(tc.stuck(100).empty());
    tc.stuck(100);
    EXPECT_EQ(tc.s.now_ns - first, (4999 + more_ms) * kMs);
    EXPECT_EQ(tc.dog.state(), more_ms == 0 ? State::Off : State::Recovering);
  }
}

TEST(WatchdogLimit, OneMeansTheFirst) {
  Tc tc(with(WatchdogAction::Forward, RecoveryMode::Auto, 1));
  EXPECT_EQ(tc.stuck_until_steps(), (WatchdogSteps{Step::PfcOff, Step::Alert, Step::ForcedOff}));
}

TEST(WatchdogManual, HoldsUntilTheOperatorAndDropsNoLonger) {
  Tc tc(with(WatchdogAction::Drop, RecoveryMode::Manual));
  EXPECT_EQ(tc.stuck_until_steps(), kDropBegins);
  EXPECT_EQ(tc.flow_until_steps(), (WatchdogSteps{Step::DropStop, Step::Held}));
  EXPECT_EQ(tc.dog.state(), State::Off);
  EXPECT_EQ(tc.dog.off_reason(), OffReason::Manual);
  EXPECT_EQ(tc.dog.effect(), (WatchdogEffect{.pfc_off = true, .drop = false}));
  EXPECT_EQ(tc.stuck_until_steps(), kNothing);
  EXPECT_EQ(tc.dog.recover(tc.s.now_ns), (WatchdogSteps{Step::PfcOn, Step::Restored}));
}

TEST(WatchdogManual, OperatorMayCutTheRecoveryShort) {
  Tc tc;
  EXPECT_EQ(tc.dog.recover(tc.s.now_ns), kNothing);  // nothing to recover from
  EXPECT_EQ(tc.stuck_until_steps(), kDropBegins);
  EXPECT_EQ(tc.dog.recover(tc.s.now_ns), kDropEnds);
  // The storm is still on: detected again, after the whole detection time.
  EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.stuck(), kDropBegins);
}

TEST(WatchdogRestart, NothingIsDroppedAfterwards) {
  Watchdog dog(with(WatchdogAction::Drop));
  EXPECT_EQ(dog.take_over({.pfc_off = true, .drop = true}, OffReason::None),
            (WatchdogSteps{Step::DropStop, Step::PfcOn}));
  EXPECT_EQ(dog.effect(), WatchdogEffect{});
  EXPECT_EQ(Watchdog(with(WatchdogAction::Drop)).take_over({}, OffReason::None), kNothing);
}

TEST(WatchdogRestart, StormThatGoesOnIsDetectedAfterTheWholeTime) {
  Tc tc;
  tc.stuck_until_steps();
  tc.dog = Watchdog(with(WatchdogAction::Drop));
  tc.dog.take_over({.pfc_off = true, .drop = true}, OffReason::None);
  EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.stuck(), kDropBegins);
}

TEST(WatchdogRestart, ForcedOffStaysOff) {
  for (const OffReason reason : {OffReason::TriggerLimit, OffReason::Manual}) {
    Watchdog dog(with(WatchdogAction::Drop));
    EXPECT_EQ(dog.take_over({.pfc_off = true, .drop = false}, reason), kNothing);
    EXPECT_EQ(dog.state(), State::Off);
    EXPECT_EQ(dog.off_reason(), reason);
    EXPECT_EQ(dog.recover(1), (WatchdogSteps{Step::PfcOn, Step::Restored}));
    EXPECT_TRUE(dog.history().entries().empty());
  }
  // Whatever else was found is put right.
  Watchdog half(with(WatchdogAction::Drop));
  EXPECT_EQ(half.take_over({.pfc_off = false, .drop = true}, OffReason::TriggerLimit),
            (WatchdogSteps{Step::DropStop, Step::PfcOff}));
}

TEST(WatchdogRestart, WithoutWatchdogNothingStays) {
  WatchdogConfig config = with(WatchdogAction::Drop);
  config.on = false;
  Watchdog dog(config);
  EXPECT_EQ(dog.take_over({.pfc_off = true, .drop = false}, OffReason::TriggerLimit),
            (WatchdogSteps{Step::PfcOn}));
  EXPECT_EQ(dog.state(), State::Disabled);
}

TEST(WatchdogRestart, StopInMidStormEndsTheDrop) {
  Tc tc;
  tc.stuck_until_steps();
  EXPECT_EQ(tc.dog.stop(tc.s.now_ns), kDropEnds);
  EXPECT_EQ(tc.newest().end, DeadlockEnd::Stopped);
  Tc off(with(WatchdogAction::Drop, RecoveryMode::Auto, 1));
  off.stuck_until_steps();
  EXPECT_EQ(off.dog.stop(off.s.now_ns), kNothing);
  EXPECT_TRUE(off.dog.effect().pfc_off);
}

TEST(WatchdogPort, DownClears) {
  Tc paused;
  paused.pause();
  paused.stuck();
  paused.s.port_up = false;
  EXPECT_EQ(paused.stuck(), kNothing);
  paused.s.port_up = true;
  EXPECT_EQ(paused.stuck(), kNothing);  // the clock starts here
  EXPECT_EQ(paused.stuck(), kNothing);
  EXPECT_EQ(paused.stuck(), kDropBegins);
  paused.s.port_up = false;
  EXPECT_EQ(paused.stuck(), kDropEnds);
  EXPECT_EQ(paused.newest().end, DeadlockEnd::PortDown);
}

TEST(WatchdogPort, DownDoesNotClearWhatAnOperatorMust) {
  Tc tc(with(WatchdogAction::Drop, RecoveryMode::Auto, 1));
  tc.stuck_until_steps();
  tc.s.port_up = false;
  EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.dog.state(), State::Off);
}

TEST(WatchdogConfigChange, OffGivesPfcBackInEveryState) {
  WatchdogConfig off = with(WatchdogAction::Drop);
  off.on = false;
  Tc recovering;
  recovering.stuck_until_steps();
  EXPECT_EQ(recovering.dog.configure(off, recovering.s.now_ns), kDropEnds);
  EXPECT_EQ(recovering.newest().end, DeadlockEnd::Config);
  EXPECT_EQ(recovering.stuck_until_steps(), kNothing);
  Tc forced(with(WatchdogAction::Drop, RecoveryMode::Auto, 1));
  forced.stuck_until_steps();
  EXPECT_EQ(forced.dog.configure(off, forced.s.now_ns), (WatchdogSteps{Step::PfcOn, Step::Restored}));
  // On again: no proof from before.
  EXPECT_EQ(forced.dog.configure(with(WatchdogAction::Drop), forced.s.now_ns), kNothing);
  EXPECT_EQ(forced.stuck(10'000), kNothing);
}

TEST(WatchdogConfigChange, ActionInMidRecovery) {
  Tc tc;
  tc.stuck_until_steps();
  EXPECT_EQ(tc.dog.configure(with(WatchdogAction::Forward), tc.s.now_ns), (WatchdogSteps{Step::DropStop}));
  EXPECT_EQ(tc.dog.configure(with(WatchdogAction::Drop), tc.s.now_ns), (WatchdogSteps{Step::DropStart}));
  EXPECT_EQ(tc.dog.configure(with(WatchdogAction::Alert), tc.s.now_ns), kDropEnds);
  tc.stuck();
  EXPECT_EQ(tc.stuck_until_steps(), (WatchdogSteps{Step::Alert}));
  EXPECT_EQ(tc.dog.configure(with(WatchdogAction::Drop), tc.s.now_ns), (WatchdogSteps{Step::Restored}));
  EXPECT_EQ(tc.stuck_until_steps(), kDropBegins);
}

TEST(WatchdogConfigChange, TimesApplyToWhatRuns) {
  Tc tc;
  tc.pause();
  tc.stuck();
  WatchdogConfig config = with(WatchdogAction::Drop);
  config.detection_ms = 1000;
  EXPECT_EQ(tc.dog.configure(config, tc.s.now_ns), kNothing);
  EXPECT_EQ(tc.stuck(899), kNothing);
  EXPECT_EQ(tc.stuck(1), kDropBegins);
  config.recovery_ms = 10'000;
  EXPECT_EQ(tc.dog.configure(config, tc.s.now_ns), kNothing);
  EXPECT_EQ(tc.flow(9999), kNothing);
  EXPECT_EQ(tc.flow(1), kDropEnds);
}

TEST(WatchdogEscape, EndsTheActionAndWatchesNothing) {
  Tc tc;
  tc.stuck_until_steps();
  EXPECT_EQ(tc.dog.set_escape(true, tc.s.now_ns), kDropEnds);
  EXPECT_EQ(tc.newest().end, DeadlockEnd::Escape);
  EXPECT_EQ(tc.dog.state(), State::Disabled);
  EXPECT_EQ(tc.stuck_until_steps(), kNothing);
  EXPECT_EQ(tc.dog.set_escape(false, tc.s.now_ns), kNothing);
  EXPECT_EQ(tc.stuck(10'000), kNothing);
  EXPECT_EQ(tc.stuck_until_steps(), kDropBegins);
  EXPECT_EQ(tc.dog.set_escape(false, tc.s.now_ns), kNothing);  // it was not on
  EXPECT_EQ(tc.dog.state(), State::Recovering);
}

TEST(WatchdogEscape, ForcedOffOutlastsIt) {
  Tc tc(with(WatchdogAction::Drop, RecoveryMode::Auto, 1));
  tc.stuck_until_steps();
  EXPECT_EQ(tc.dog.set_escape(true, tc.s.now_ns), kNothing);
  EXPECT_EQ(tc.dog.set_escape(false, tc.s.now_ns), kNothing);
  EXPECT_EQ(tc.dog.state(), State::Off);
}

TEST(WatchdogHistory, CountsWhatTheActionDropped) {
  Tc tc;
  tc.s.action_drops = 1000;
  tc.stuck_until_steps();
  tc.stuck();
  EXPECT_EQ(tc.newest().dropped_packets, 10U);
  tc.flow_until_steps();
  EXPECT_EQ(tc.newest().dropped_packets, 40U);
  // The last packets go before the datapath has been told.
  tc.s.action_drops += 3;
  tc.flow();
  EXPECT_EQ(tc.newest().dropped_packets, 43U);
  tc.s.action_drops += 100;
  tc.flow();
  EXPECT_EQ(tc.newest().dropped_packets, 43U);
}

TEST(WatchdogHistory, KeepsTheNewest) {
  Tc tc;
  const std::size_t rounds = WatchdogHistory::kEntries * 2 + 3;
  for (std::size_t i = 0; i < rounds; ++i) {
    tc.stuck_until_steps();
    tc.flow_until_steps();
  }
  const auto entries = tc.dog.history().entries();
  EXPECT_EQ(entries.size(), WatchdogHistory::kEntries);
  EXPECT_EQ(tc.dog.history().added(), rounds);
  EXPECT_TRUE(std::ranges::is_sorted(entries, {}, &Deadlock::detected_ns));
  EXPECT_EQ(entries.back().ended_ns, tc.s.now_ns);
}

TEST(WatchdogTimer, NextSampleIsDueWhereATimeRunsOut) {
  Tc tc;
  EXPECT_EQ(tc.dog.next_sample_ns(tc.s.now_ns), tc.s.now_ns + 100 * kMs);
  tc.go(100, 30, true, 1);
  EXPECT_EQ(tc.dog.next_sample_ns(tc.s.now_ns), tc.s.now_ns + 100 * kMs);
  tc.stuck(130);
  EXPECT_EQ(tc.dog.next_sample_ns(tc.s.now_ns), tc.s.now_ns + 70 * kMs);
  tc.stuck(70);
  EXPECT_EQ(tc.dog.state(), State::Recovering);
  tc.stuck(350);
  EXPECT_EQ(tc.dog.next_sample_ns(tc.s.now_ns), tc.s.now_ns + 50 * kMs);
  EXPECT_EQ(tc.dog.lease_until_ns(), tc.s.now_ns + 1000 * kMs);
}

TEST(WatchdogSettings, Ranges) {
  EXPECT_FALSE(check_watchdog({}));
  const auto fault = [](auto member, std::uint32_t value) {
    WatchdogConfig config;
    config.*member = value;
    return check_watchdog(config).value_or("");
  };
  EXPECT_EQ(fault(&WatchdogConfig::detection_ms, 99),
            "PFC watchdog detection time 99 ms is out of range, must be 100 to 5000 ms");
  EXPECT_EQ(fault(&WatchdogConfig::detection_ms, 5000), "");
  EXPECT_NE(fault(&WatchdogConfig::detection_ms, 5001), "");
  EXPECT_EQ(fault(&WatchdogConfig::recovery_ms, 60'001),
            "PFC watchdog recovery time 60001 ms is out of range, must be 100 to 60000 ms");
  EXPECT_NE(fault(&WatchdogConfig::recovery_ms, 99), "");
  EXPECT_NE(fault(&WatchdogConfig::poll_ms, 9), "");
  EXPECT_EQ(fault(&WatchdogConfig::trigger_limit, 101),
            "PFC watchdog trigger limit 101 is out of range, must be 0 to 100");
  EXPECT_NE(fault(&WatchdogConfig::window_ms, 999), "");
}

TEST(WatchdogSettings, PollLongerThanDetectionIsRefused) {
  WatchdogConfig config;
  config.detection_ms = 300;
  config.poll_ms = 300;
  EXPECT_FALSE(check_watchdog(config));
  config.poll_ms = 400;
  EXPECT_EQ(check_watchdog(config),
            "PFC watchdog poll interval 400 ms is longer than its detection time 300 ms: a deadlock would be "
            "seen late, must be at most as long");
}

TEST(WatchdogSettings, Names) {
  EXPECT_EQ(to_string(WatchdogAction::Drop), "drop");
  EXPECT_EQ(to_string(WatchdogAction::Forward), "forward");
  EXPECT_EQ(to_string(WatchdogAction::Alert), "alert");
  EXPECT_EQ(to_string(RecoveryMode::Manual), "manual");
  EXPECT_EQ(to_string(State::Recovering), "recovering");
  EXPECT_EQ(to_string(Step::ForcedOff), "forced-off");
  EXPECT_EQ(to_string(OffReason::TriggerLimit), "trigger-limit");
  EXPECT_EQ(to_string(DeadlockEnd::PortDown), "port-down");
}

}  // namespace
}  // namespace lossless::pfc::test
