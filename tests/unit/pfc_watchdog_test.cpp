// SPDX-License-Identifier: Apache-2.0
// What is a deadlock, row by row of the verdict table in docs/pfc-watchdog.md, and what must hold for any
// storm.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/unit/pfc_watchdog_tc.h"

namespace lossless::pfc::test {
namespace {

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
}  // namespace lossless::pfc::test
