// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/alarm.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace {

using namespace lossless::pfc;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1000 * kMs;

RateAlarmConfig config(std::uint64_t raise = 1000, std::uint64_t clear = 500, std::uint32_t hold_ms = 2000) {
  return {.raise_fps = raise, .clear_fps = clear, .window_ms = 1000, .hold_ms = hold_ms};
}

// A counter that grows at a rate of our choice, read once per step.
struct Feed {
  explicit Feed(const RateAlarmConfig& c) : alarm(c) { alarm.sample(now, frames); }

  // Events while the rate holds for `seconds`.
  std::vector<RateAlarmEvent> run(std::uint64_t fps, std::uint64_t seconds, std::uint64_t step_ms = 1000) {
    std::vector<RateAlarmEvent> events;
    const std::uint64_t start = now;
    const std::uint64_t base = frames;
    while (now < start + seconds * kSecond) {
      now += step_ms * kMs;
      frames = base + fps * (now - start) / kSecond;
      if (const auto event = alarm.sample(now, frames)) events.push_back(*event);
    }
    return events;
  }

  RateAlarm alarm;
  std::uint64_t now = 5 * kSecond;
  std::uint64_t frames = 123;
};

TEST(RateAlarm, RaisedAboveAndClearedBelow) {
  Feed feed(config());
  EXPECT_TRUE(feed.run(1000, 10).empty());  // at the threshold is not above
  const auto raised = feed.run(1001, 10);
  ASSERT_EQ(raised.size(), 1U);
  EXPECT_EQ(raised[0], (RateAlarmEvent{
                           .raised = true, .now_ns = 17 * kSecond, .rate_fps = 1001, .threshold_fps = 1000}));
  EXPECT_TRUE(feed.alarm.raised());
  EXPECT_TRUE(feed.run(501, 10).empty());
  const auto cleared = feed.run(500, 10);
  ASSERT_EQ(cleared.size(), 1U);
  EXPECT_EQ(cleared[0],
            (RateAlarmEvent{.raised = false, .now_ns = 37 * kSecond, .rate_fps = 500, .threshold_fps = 500}));
  EXPECT_FALSE(feed.alarm.raised());
  EXPECT_EQ(feed.alarm.times_raised(), 1U);
}

TEST(RateAlarm, ShortPeaksAreNotAnAlarm) {
  Feed feed(config());
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(feed.run(100'000, 1).empty());
    EXPECT_TRUE(feed.run(0, 1).empty());
  }
}

TEST(RateAlarm, ShortPausesDoNotClear) {
  Feed feed(config());
  EXPECT_EQ(feed.run(5000, 5).size(), 1U);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(feed.run(0, 1).empty());
    EXPECT_TRUE(feed.run(5000, 1).empty());
  }
}

TEST(RateAlarm, WithoutHoldTheFirstMeasurementDecides) {
  Feed feed(config(1000, 500, 0));
  const auto events = feed.run(2000, 1);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].now_ns, 6 * kSecond);
  EXPECT_EQ(feed.run(0, 1).size(), 1U);
}

// Flood at 1.4 million frames/s, read every 10 ms.
TEST(RateAlarm, FloodIsOneAlarm) {
  Feed feed(config());
  const auto events = feed.run(1'400'000, 60, 10);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].rate_fps, 1'400'000U);
}

TEST(RateAlarm, CloseSamplesArePutTogether) {
  Feed feed(config(1000, 500, 0));
  // 30 frames in 10 ms are 3000/s, but not over a second.
  EXPECT_FALSE(feed.alarm.sample(feed.now + 10 * kMs, feed.frames + 30));
  EXPECT_FALSE(feed.alarm.sample(feed.now + 1000 * kMs, feed.frames + 40));
  EXPECT_EQ(feed.alarm.rate_fps(), 40U);
}

TEST(RateAlarm, LateSampleIsAveragedOverTheTimeThatPassed) {
  Feed feed(config(1000, 500, 0));
  EXPECT_FALSE(feed.alarm.sample(feed.now + 10 * kSecond, feed.frames + 9000));
  EXPECT_EQ(feed.alarm.rate_fps(), 900U);
}

TEST(RateAlarm, CounterResetStartsMeasuringAnew) {
  Feed feed(config(1000, 500, 0));
  feed.frames = 10'000'000;
  feed.alarm.sample(++feed.now, feed.frames);
  EXPECT_EQ(feed.run(5000, 2).size(), 1U);
  feed.frames = 0;  // the map was replaced
  EXPECT_FALSE(feed.alarm.sample(feed.now + kSecond, 0));
  EXPECT_TRUE(feed.alarm.raised());
  EXPECT_EQ(feed.alarm.rate_fps(), 5000U);
  feed.now += kSecond;
  const auto events = feed.run(100, 1);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(events[0].raised);
}

// A total that falls and rises again inside one window must not be taken for progress from the old start.
TEST(RateAlarm, ResetInsideTheWindow) {
  RateAlarm alarm(config(1000, 500, 0));
  alarm.sample(0, 5000);
  EXPECT_FALSE(alarm.sample(100 * kMs, 0));
  EXPECT_FALSE(alarm.sample(1000 * kMs, 7000));
  EXPECT_TRUE(alarm.sample(1100 * kMs, 7000));  // 7000 in the second since the reset
}

TEST(RateAlarm, TimeThatStandsOrGoesBackIsIgnored) {
  RateAlarm alarm(config(1000, 500, 0));
  alarm.sample(10 * kSecond, 0);
  EXPECT_FALSE(alarm.sample(10 * kSecond, 1'000'000));
  EXPECT_FALSE(alarm.sample(9 * kSecond, 2'000'000));
  EXPECT_FALSE(alarm.sample(11 * kSecond, 10));
  EXPECT_EQ(alarm.rate_fps(), 10U);
}

TEST(RateAlarm, OffByThresholdZero) {
  Feed feed(config(0, 0, 0));
  EXPECT_TRUE(feed.run(1'000'000, 10).empty());
  EXPECT_EQ(feed.alarm.rate_fps(), 1'000'000U);
}

TEST(RateAlarm, TurningItOffClears) {
  Feed feed(config(1000, 500, 0));
  EXPECT_EQ(feed.run(2000, 1).size(), 1U);
  EXPECT_FALSE(feed.alarm.configure(config(1500, 500, 0), feed.now));
  const RateAlarmEvent cleared{.raised = false, .now_ns = feed.now, .rate_fps = 2000, .threshold_fps = 0};
  EXPECT_EQ(feed.alarm.configure(config(0, 0, 0), feed.now), cleared);
  EXPECT_FALSE(feed.alarm.raised());
}

TEST(RateAlarm, Text) {
  EXPECT_EQ(alarm_text("eth0", PfcDirection::Rx,
                       {.raised = true, .now_ns = 1, .rate_fps = 12'000, .threshold_fps = 10'000}),
            "PFC alarm raised on eth0 (rx): 12000 frames/s, threshold 10000 frames/s");
  EXPECT_EQ(
      alarm_text("swp1", PfcDirection::Tx, {.raised = false, .now_ns = 1, .rate_fps = 3, .threshold_fps = 5}),
      "PFC alarm cleared on swp1 (tx): 3 frames/s, threshold 5 frames/s");
}

TEST(RateAlarm, ConfigIsChecked) {
  EXPECT_FALSE(check_rate_alarm(config()));
  EXPECT_FALSE(check_rate_alarm(config(0, 0, 0)));
  EXPECT_EQ(
      check_rate_alarm(config(100, 200)),
      "PFC alarm clear threshold 200 frames/s is above the raise threshold 100 frames/s: the alarm would be "
      "raised and cleared by the same rate, must be at most as high");
  EXPECT_EQ(check_rate_alarm(config(1'000'000'001)),
            "PFC alarm threshold 1000000001 is out of range, must be 0 to 1000000000 frames/s");
  RateAlarmConfig bad = config();
  bad.window_ms = 99;
  EXPECT_EQ(check_rate_alarm(bad), "PFC alarm window 99 is out of range, must be 100 to 60000 ms");
  bad = config();
  bad.hold_ms = 600'001;
  EXPECT_EQ(check_rate_alarm(bad), "PFC alarm hold time 600001 is out of range, must be 0 to 600000 ms");
}

struct Step {
  std::uint64_t ms;
  std::uint64_t fps;
};

std::vector<Step> steps(std::uint64_t lowest, std::uint64_t highest) {
  return *rc::gen::container<std::vector<Step>>(
      rc::gen::build<Step>(rc::gen::set(&Step::ms, rc::gen::inRange<std::uint64_t>(1, 5000)),
                           rc::gen::set(&Step::fps, rc::gen::inRange<std::uint64_t>(lowest, highest))));
}

RC_GTEST_PROP(RateAlarm, NeverRaisedByRatesUpToTheThreshold, ()) {
  RateAlarm alarm(config(1000, 500, static_cast<std::uint32_t>(*rc::gen::inRange(0, 5000))));
  std::uint64_t now = 0;
  std::uint64_t frames = 0;
  alarm.sample(now, frames);
  for (const Step& step : steps(0, 1001)) {
    now += step.ms * kMs;
    frames += step.fps * step.ms / 1000;
    RC_ASSERT(!alarm.sample(now, frames));
  }
}

// However the samples fall: raised once the rate was above for the hold time and two windows.
RC_GTEST_PROP(RateAlarm, AlwaysRaisedByARateThatStaysAbove, ()) {
  const auto hold_ms = static_cast<std::uint32_t>(*rc::gen::inRange(0, 5000));
  RateAlarm alarm(config(1000, 500, hold_ms));
  std::uint64_t now = 0;
  std::uint64_t frames = 0;
  alarm.sample(now, frames);
  for (const Step& step : steps(2000, 1'000'000)) {
    now += step.ms * kMs;
    frames += step.fps * step.ms / 1000 + 1;
    alarm.sample(now, frames);
    RC_ASSERT((alarm.raised() || now < (hold_ms + 2000) * kMs + 5000 * kMs));
    RC_ASSERT((!alarm.raised() || now >= hold_ms * kMs));
  }
}

RC_GTEST_PROP(RateAlarm, RaisesAndClearsTakeTurns, ()) {
  RateAlarm alarm(config(1000, 500, 1000));
  std::uint64_t now = 0;
  std::uint64_t frames = 0;
  bool raised = false;
  for (const Step& step : steps(0, 3000)) {
    now += step.ms * kMs;
    frames = step.fps % 17 == 0 ? 0 : frames + step.fps * step.ms / 1000;
    const auto event = alarm.sample(now, frames);
    if (!event) continue;
    RC_ASSERT(event->raised != raised);
    raised = event->raised;
    RC_ASSERT((raised ? event->rate_fps >= 1000 : event->rate_fps <= 500));
  }
}

}  // namespace
