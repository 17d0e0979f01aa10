// SPDX-License-Identifier: Apache-2.0
// Each row of the verdict table in docs/pfc-watchdog.md, and what must hold for any storm.
#include "daemon/pfc/watchdog.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace {

using namespace lossless::pfc;
using Step = WatchdogStep;
using State = WatchdogState;

constexpr std::uint64_t kMs = 1'000'000;

const WatchdogSteps kNothing;
const WatchdogSteps kDropBegins{Step::PfcOff, Step::DropStart, Step::Alert};
const WatchdogSteps kDropEnds{Step::DropStop, Step::PfcOn, Step::Restored};

WatchdogConfig with(WatchdogAction action, RecoveryMode mode = RecoveryMode::Auto, std::uint32_t limit = 0) {
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

TEST(Watchdog, StuckForTheDetectionTimeIsADeadlock) {
  Tc tc;
  tc.pause();
  EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.stuck(99), kNothing);
  EXPECT_EQ(tc.stuck(1), kDropBegins);
  EXPECT_EQ(tc.dog.state(), State::Recovering);
  EXPECT_EQ(tc.dog.effect(), (WatchdogEffect{.pfc_off = true, .drop = true}));
  const Deadlock entry = tc.newest();
  EXPECT_EQ(entry.since_ns, 1100 * kMs);
  EXPECT_EQ(entry.detected_ns, 1300 * kMs);
  EXPECT_EQ(entry.backlog_bytes, 5000U);
  EXPECT_EQ(entry.end, DeadlockEnd::Ongoing);
}

TEST(Watchdog, ForwardLetsThePacketsGo) {
  Tc tc(with(WatchdogAction::Forward));
  EXPECT_EQ(tc.stuck_until_steps(), (WatchdogSteps{Step::PfcOff, Step::Alert}));
  EXPECT_EQ(tc.dog.effect(), (WatchdogEffect{.pfc_off = true, .drop = false}));
  EXPECT_EQ(tc.flow_until_steps(), (WatchdogSteps{Step::PfcOn, Step::Restored}));
}

TEST(Watchdog, AlertOnlyReportsAndOnce) {
  Tc tc(with(WatchdogAction::Alert, RecoveryMode::Manual, 1));
  EXPECT_EQ(tc.stuck_until_steps(), (WatchdogSteps{Step::Alert}));
  EXPECT_EQ(tc.dog.effect(), WatchdogEffect{});
  EXPECT_EQ(tc.stuck_until_steps(), kNothing);
  EXPECT_EQ(tc.dog.state(), State::Alerted);
  EXPECT_EQ(tc.flow(), (WatchdogSteps{Step::Restored}));
  EXPECT_EQ(tc.newest().end, DeadlockEnd::StormOver);
  EXPECT_EQ(tc.stuck_until_steps(), (WatchdogSteps{Step::Alert}));
  EXPECT_EQ(tc.dog.counters().deadlocks, 2U);
}

TEST(Watchdog, NoDataWaitingIsNoDeadlock) {
  Tc tc;
  tc.s.backlog_bytes = 0;
  EXPECT_EQ(tc.stuck_until_steps(), kNothing);
  // Data that has just arrived has not waited yet.
  tc.s.backlog_bytes = 1500;
  EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.stuck(), kDropBegins);
}

TEST(Watchdog, ProgressIsNoDeadlock) {
  Tc tc;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(tc.go(100, 100, true, 1), kNothing);
  // The same when every second poll sees a packet: never a whole detection time without.
  for (int i = 0; i < 100; ++i) EXPECT_EQ(tc.go(100, 100, true, i % 2), kNothing);
}

TEST(Watchdog, QueueThatStandsWithoutPauseIsNoDeadlock) {
  Tc tc;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(tc.go(100, 0, false), kNothing);
}

TEST(Watchdog, ChoppyStormIsNoDeadlock) {
  Tc with_progress;
  Tc without;
  Tc at_the_poll;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(with_progress.go(100, 95, true, 3), kNothing);
    EXPECT_EQ(without.go(100, 97, true), kNothing);
    EXPECT_EQ(at_the_poll.go(100, 100, i % 2 == 0), kNothing);
  }
}

TEST(Watchdog, RenewalsThatComeALittleLateDoNotHideADeadlock) {
  Tc tc;
  tc.stuck();
  WatchdogSteps steps;
  for (int i = 0; i < 3; ++i) {
    tc.s.paused_total_ns -= kMs / 2;  // 0.5 % not paused
    steps = tc.stuck();
    if (!steps.empty()) break;
  }
  EXPECT_EQ(steps, kDropBegins);
}

// The peer's XOFF frames turn into frames with time 0 at the same rate: that is a resume.
TEST(Watchdog, StormOfTimeZeroFramesIsAnEnd) {
  Tc tc;
  EXPECT_EQ(tc.stuck_until_steps(), kDropBegins);
  EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.go(100, 0, false), kNothing);
  EXPECT_EQ(tc.go(100, 0, false), kNothing);
  EXPECT_EQ(tc.go(100, 0, false), kDropEnds);
  EXPECT_EQ(tc.dog.effect(), WatchdogEffect{});
  EXPECT_EQ(tc.newest().end, DeadlockEnd::StormOver);
  EXPECT_EQ(tc.newest().periods, 1U);
  // Before the detection time it never becomes a deadlock.
  Tc early;
  early.pause();
  early.stuck();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(early.go(100, 0, false), kNothing);
}

TEST(Watchdog, PfcDoesNotComeBackIntoTheStorm) {
  Tc tc;
  EXPECT_EQ(tc.stuck_until_steps(), kDropBegins);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.newest().periods, 6U);
  EXPECT_EQ(tc.flow_until_steps(), kDropEnds);
  EXPECT_EQ(tc.dog.counters().deadlocks, 1U);
  EXPECT_EQ(tc.dog.counters().prolonged, 5U);
}

// 20 minutes of 0xFFFF quanta on all lossless TCs, PFC frames renewed for ever.
TEST(Watchdog, StormOnAllTcsIsOneStormEach) {
  std::array<Tc, 8> tcs{Tc(with(WatchdogAction::Drop, RecoveryMode::Auto, 3)),
                        Tc(with(WatchdogAction::Forward, RecoveryMode::Auto, 3)),
                        Tc(with(WatchdogAction::Drop, RecoveryMode::Manual, 3)),
                        Tc(with(WatchdogAction::Forward, RecoveryMode::Manual)),
                        Tc(),
                        Tc(),
                        Tc(),
                        Tc()};
  for (Tc& tc : tcs) {
    WatchdogSteps all;
    for (int i = 0; i < 20 * 60 * 10; ++i) {
      const auto steps = tc.stuck();
      all.insert(all.end(), steps.begin(), steps.end());
    }
    EXPECT_EQ(std::ranges::count(all, Step::Alert), 1);
    EXPECT_EQ(std::ranges::count(all, Step::PfcOff), 1);
    EXPECT_EQ(std::ranges::count(all, Step::PfcOn), 0);
    EXPECT_EQ(tc.dog.state(), State::Recovering);
    EXPECT_EQ(tc.dog.history().entries().size(), 1U);
    const auto end = tc.flow_until_steps();
    EXPECT_TRUE(std::ranges::count(end, Step::Restored) == 1 || std::ranges::count(end, Step::Held) == 1);
  }
}

TEST(Watchdog, StormOnALossyTcIsIgnoredAndCounted) {
  Tc tc;
  tc.s.lossless = false;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.dog.counters().lossy_storms, 1U);
  EXPECT_EQ(tc.flow(), kNothing);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(tc.go(100, 100, true, 1000), kNothing);
  EXPECT_EQ(tc.dog.counters().lossy_storms, 2U);
  EXPECT_EQ(tc.dog.counters().deadlocks, 0U);
  EXPECT_GE(tc.dog.next_sample_ns(tc.s.now_ns), tc.s.now_ns + 100 * kMs);
  // What was seen while lossy proves nothing afterwards.
  tc.s.lossless = true;
  EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.stuck(), kNothing);
  EXPECT_EQ(tc.stuck(), kDropBegins);
}

TEST(Watchdog, TcThatBecomesLossyIsLetGo) {
  Tc tc;
  tc.stuck_until_steps();
  tc.s.lossless = false;
  EXPECT_EQ(tc.stuck(), kDropEnds);
  EXPECT_EQ(tc.newest().end, DeadlockEnd::NotLossless);
}

TEST(Watchdog, LatePollMissesNothing) {
  Tc tc;
  tc.stuck();
  EXPECT_EQ(tc.stuck(30'000), kDropBegins);
  // Not even when the last poll came before the pause.
  Tc all_of_it;
  EXPECT_EQ(all_of_it.stuck(5000), kDropBegins);
  EXPECT_EQ(all_of_it.newest().since_ns, 1000 * kMs);
}

TEST(Watchdog, LatePollDoesNotTriggerFalsely) {
  // Paused at both polls and in between, but packets left.
  Tc progressed;
  progressed.stuck();
  EXPECT_EQ(progressed.go(10'000, 10'000, true, 1), kNothing);
  // Paused at both polls, open for some of the time between: the queue had its chance.
  Tc opened;
  opened.stuck();
  EXPECT_EQ(opened.go(10'000, 9000, true), kNothing);
  // Paused for long, but no more.
  Tc resumed;
  resumed.stuck();
  EXPECT_EQ(resumed.go(10'000, 9999, false), kNothing);
  // Empty meanwhile and filled again.
  Tc refilled;
  refilled.s.backlog_bytes = 0;
  refilled.stuck();
  refilled.s.backlog_bytes = 100;
  EXPECT_EQ(refilled.stuck(10'000), kNothing);
}

TEST(Watchdog, LatePollInRecovery) {
  Tc over;
  over.stuck_until_steps();
  EXPECT_EQ(over.go(60'000, 10, false, 1), kDropEnds);
  Tc goes_on;
  goes_on.stuck_until_steps();
  EXPECT_EQ(goes_on.stuck(60'000), kNothing);
  EXPECT_EQ(goes_on.newest().periods, 2U);
}

// Many polls in one detection time prove no more than one.
TEST(Watchdog, PollsAreNotCounted) {
  Tc tc;
  tc.pause();
  for (int i = 0; i < 199; ++i) EXPECT_EQ(tc.stuck(1), kNothing);
  EXPECT_EQ(tc.dog.sample(tc.s), kNothing);  // the same moment again
  EXPECT_EQ(tc.stuck(1), kDropBegins);
}

TEST(Watchdog, ClockThatGoesBackIsIgnored) {
  Tc tc;
  tc.pause();
  tc.stuck();
  WatchdogSample old = tc.s;
  old.now_ns -= 50 * kMs;
  old.tx_packets += 1;
  EXPECT_EQ(tc.dog.sample(old), kNothing);
  EXPECT_EQ(tc.stuck(), kDropBegins);
}

TEST(Watchdog, CountersThatStartAnewProveNothing) {
  Tc paused;
  paused.pause();
  paused.stuck();
  paused.s.paused_total_ns = 0;
  EXPECT_EQ(paused.go(150, 0, true), kNothing);
  Tc sent;
  sent.pause();
  sent.stuck();
  sent.s.tx_packets = 0;
  EXPECT_EQ(sent.stuck(150), kNothing);
  EXPECT_EQ(sent.stuck(), kNothing);
  EXPECT_EQ(sent.stuck(), kDropBegins);
  // In recovery: the storm is taken for over rather than for endless.
  sent.s.paused_total_ns = 0;
  EXPECT_EQ(sent.go(400, 0, true), kDropEnds);
}

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

TEST(WatchdogSettings, PollLongerThanDetectionIsRefusedInEitherOrder) {
  const std::string message =
      "PFC watchdog poll interval 400 ms is longer than its detection time 300 ms: a deadlock would be seen "
      "late, "
      "must be at most as long";
  WatchdogConfig config;
  config.on = true;
  config.detection_ms = 300;
  EXPECT_EQ(with_poll(config, 400).error(), message);
  config.detection_ms = 400;
  config = *with_poll(config, 400);
  EXPECT_EQ(with_detection(config, 300).error(), message);
  EXPECT_EQ(with_detection(config, 5000)->detection_ms, 5000U);
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

// ---- What must hold for any storm.

WatchdogConfig any_config() {
  WatchdogConfig config;
  config.on = true;
  config.detection_ms = *rc::gen::inRange<std::uint32_t>(100, 5001);
  config.poll_ms = *rc::gen::inRange<std::uint32_t>(10, config.detection_ms + 1);
  config.recovery_ms = *rc::gen::inRange<std::uint32_t>(100, 60'001);
  config.action = *rc::gen::element(WatchdogAction::Drop, WatchdogAction::Forward, WatchdogAction::Alert);
  config.mode = *rc::gen::element(RecoveryMode::Auto, RecoveryMode::Manual);
  config.trigger_limit = *rc::gen::inRange<std::uint32_t>(0, 5);
  config.window_ms = *rc::gen::inRange<std::uint32_t>(1000, 100'000);
  return config;
}

bool has(const WatchdogSteps& steps, Step step) { return std::ranges::find(steps, step) != steps.end(); }

// A packet leaves at least every detection time (the last ns short of it), polls fall where they like.
RC_GTEST_PROP(WatchdogProperty, NeverWithProgressInEachInterval, ()) {
  const WatchdogConfig config = any_config();
  const std::uint64_t detection = config.detection_ms * kMs;
  Watchdog dog(config);
  WatchdogSample s{.now_ns = 1, .paused_now = true, .backlog_bytes = 1};
  std::uint64_t next_tx = 1 + *rc::gen::inRange<std::uint64_t>(1, detection);
  const auto gaps =
      *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(1, 2 * detection));
  for (const std::uint64_t gap : gaps) {
    s.now_ns += gap;
    s.paused_total_ns += gap;
    while (next_tx <= s.now_ns) {
      ++s.tx_packets;
      next_tx += *rc::gen::inRange<std::uint64_t>(1, detection);
    }
    RC_ASSERT(dog.sample(s).empty());
  }
}

// Flows until some moment, then it is stuck. Polls come when they are due, or up to `late` after.
RC_GTEST_PROP(WatchdogProperty, AlwaysWithinDetectionAndOnePollWhenStuck, ()) {
  const WatchdogConfig config = any_config();
  const std::uint64_t stuck_at = *rc::gen::inRange<std::uint64_t>(1, 20'000 * kMs);
  const std::uint64_t late = *rc::gen::inRange<std::uint64_t>(0, 10'000 * kMs);
  Watchdog dog(config);
  WatchdogSample s{.backlog_bytes = 1000};
  std::uint64_t largest_delay = 0;
  while (true) {
    const std::uint64_t before = s.now_ns;
    const std::uint64_t delay = *rc::gen::inRange<std::uint64_t>(0, late + 1);
    largest_delay = std::max(largest_delay, delay);
    s.now_ns = dog.next_sample_ns(before) + delay;
    s.paused_now = s.now_ns > stuck_at;
    s.paused_total_ns = s.paused_now ? s.now_ns - stuck_at : 0;
    if (before < stuck_at) ++s.tx_packets;
    if (has(dog.sample(s), Step::Alert)) break;
    const std::uint64_t due = stuck_at + (config.poll_ms + config.detection_ms) * kMs + 2 * largest_delay;
    RC_ASSERT(s.now_ns < due);
  }
  RC_ASSERT(s.now_ns >= stuck_at + config.detection_ms * kMs * 99 / 100);
}

// However long the storm was and whenever the polls come, once it is over the recovery ends: at most the rest
// of one recovery time and, where the storm filled 99 % of that, one more.
RC_GTEST_PROP(WatchdogProperty, RecoveryEndsAfterTheStorm, ()) {
  WatchdogConfig config = any_config();
  config.trigger_limit = 0;
  const std::uint64_t late = *rc::gen::inRange<std::uint64_t>(1, 2000 * kMs);
  const std::uint64_t storm_end = *rc::gen::inRange<std::uint64_t>(0, 200'000 * kMs);
  const std::uint64_t start = 1000;
  Watchdog dog(config);
  WatchdogSample s{.now_ns = start, .paused_now = true, .backlog_bytes = 1000};
  dog.sample(s);
  const std::uint64_t over = start + storm_end;
  while (s.now_ns < over || dog.state() == State::Recovering || dog.state() == State::Alerted) {
    s.now_ns = dog.next_sample_ns(s.now_ns) + *rc::gen::inRange<std::uint64_t>(0, late);
    s.paused_now = s.now_ns < over;
    s.paused_total_ns = std::min(s.now_ns, over) - start;
    if (!s.paused_now) ++s.tx_packets;
    dog.sample(s);
    RC_ASSERT(s.now_ns <= over + 2 * (config.recovery_ms + config.poll_ms) * kMs + 3 * late ||
              dog.state() == State::Watching || dog.state() == State::Off);
  }
  RC_ASSERT(!dog.effect().drop);
  RC_ASSERT((dog.state() != State::Off || config.mode == RecoveryMode::Manual));
  RC_ASSERT(dog.counters().deadlocks <= 1U);
}

// The datapath's side: carries the steps out and complains about any that does not fit.
struct Datapath {
  void apply(const WatchdogSteps& steps) {
    for (const Step step : steps) {
      switch (step) {
        case Step::PfcOff:
          RC_ASSERT(!effect.pfc_off);
          effect.pfc_off = true;
          break;
        case Step::PfcOn:
          RC_ASSERT((effect.pfc_off && !effect.drop));
          effect.pfc_off = false;
          break;
        case Step::DropStart:
          RC_ASSERT((effect.pfc_off && !effect.drop));
          effect.drop = true;
          ++starts;
          break;
        case Step::DropStop:
          RC_ASSERT(effect.drop);
          effect.drop = false;
          ++stops;
          break;
        case Step::Alert:
          ++alerts;
          break;
        case Step::Restored:
          ++restores;
          break;
        case Step::ForcedOff:
        case Step::Held:
          RC_ASSERT((effect.pfc_off && !effect.drop));
          break;
      }
    }
  }
  WatchdogEffect effect;
  unsigned starts = 0;
  unsigned stops = 0;
  unsigned alerts = 0;
  unsigned restores = 0;
};

WatchdogSteps any_event(Watchdog& dog, WatchdogSample& s) {
  const int kind = *rc::gen::inRange(0, 60);
  if (kind == 0) return dog.recover(s.now_ns);
  if (kind == 1) return dog.set_escape(*rc::gen::arbitrary<bool>(), s.now_ns);
  if (kind == 2) {
    WatchdogConfig config = any_config();
    config.on = *rc::gen::inRange(0, 4) > 0;
    return dog.configure(config, s.now_ns);
  }
  if (kind == 3) return dog.stop(s.now_ns);
  const std::uint64_t ms = *rc::gen::inRange<std::uint64_t>(0, 20'000);
  s.now_ns += ms * kMs;
  s.paused_now = *rc::gen::inRange(0, 10) > 0;
  if (s.paused_now) s.paused_total_ns += ms * kMs;
  if (!s.paused_now) ++s.tx_packets;
  s.backlog_bytes = *rc::gen::inRange(0, 20) > 0 ? 100 : 0;
  s.port_up = *rc::gen::inRange(0, 30) > 0;
  s.lossless = *rc::gen::inRange(0, 30) > 0;
  return dog.sample(s);
}

// Any sequence of samples, commands and settings.
RC_GTEST_PROP(WatchdogProperty, StepsFitTogether, ()) {
  Watchdog dog(any_config());
  WatchdogSample s{.now_ns = 1};
  Datapath datapath;
  const int events = *rc::gen::inRange(0, 150);
  for (int i = 0; i < events; ++i) {
    datapath.apply(any_event(dog, s));
    RC_ASSERT(datapath.effect == dog.effect());
    RC_ASSERT((datapath.starts - datapath.stops == (dog.effect().drop ? 1U : 0U)));
    RC_ASSERT(dog.history().entries().size() <= WatchdogHistory::kEntries);
    RC_ASSERT((dog.state() == State::Off) == (dog.off_reason() != OffReason::None));
    RC_ASSERT(dog.next_sample_ns(s.now_ns) > s.now_ns);
  }
  datapath.apply(dog.stop(s.now_ns));
  RC_ASSERT(!datapath.effect.drop);
  RC_ASSERT(datapath.starts == datapath.stops);
  RC_ASSERT(datapath.alerts == dog.counters().deadlocks);
  RC_ASSERT(datapath.alerts == dog.history().added());
  RC_ASSERT((datapath.alerts - datapath.restores == (dog.state() == State::Off ? 1U : 0U)));
}

// No window ever holds more deadlocks than the limit, and the one that reaches it turns PFC off.
RC_GTEST_PROP(WatchdogProperty, TriggerLimitHolds, ()) {
  WatchdogConfig config = any_config();
  config.action = *rc::gen::element(WatchdogAction::Drop, WatchdogAction::Forward);
  config.mode = RecoveryMode::Auto;
  config.trigger_limit = *rc::gen::inRange<std::uint32_t>(1, 6);
  Tc tc(config);
  std::vector<std::uint64_t> times;
  const auto pauses =
      *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 60'000));
  for (const std::uint64_t pause : pauses) {
    tc.flow(1 + pause);
    tc.stuck(1);
    const auto steps = tc.stuck(config.detection_ms);
    RC_ASSERT(has(steps, Step::Alert));
    times.push_back(tc.s.now_ns);
    const auto in_window = std::ranges::count_if(
        times, [&](std::uint64_t t) { return tc.s.now_ns - t < config.window_ms * kMs; });
    RC_ASSERT(in_window <= config.trigger_limit);
    RC_ASSERT((tc.dog.state() == State::Off) == (in_window == config.trigger_limit));
    if (tc.dog.state() == State::Off) {
      RC_ASSERT(tc.flow(1'000'000).empty());
      RC_ASSERT(has(tc.dog.recover(tc.s.now_ns), Step::PfcOn));
      times.clear();
    } else {
      RC_ASSERT(has(tc.flow(config.recovery_ms), Step::PfcOn));
    }
  }
}

}  // namespace
