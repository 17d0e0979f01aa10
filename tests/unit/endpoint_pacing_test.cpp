// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/endpoint/pacing.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "veth-topo/endpoint/timers.h"

namespace lossless::endpoint {
namespace {

TEST(LinkPacer, KeepsTheRate) {
  LinkPacer pacer(100'000'000, 200 * kMicrosecond);
  Nanos now = kSecond;
  const Nanos start = now;
  for (int i = 0; i < 1000; i++) {
    now = std::max(now, pacer.next());
    ASSERT_TRUE(pacer.ready(now));
    pacer.sent(1250, now);  // 100 us each
    EXPECT_FALSE(pacer.ready(pacer.next() - 1));
  }
  // 1000 frames, of which two may have gone ahead.
  EXPECT_NEAR(static_cast<double>(now - start), 99.8e6, 0.2e6);
}

TEST(LinkPacer, CatchesUpNoMoreThanItsBurst) {
  LinkPacer pacer(100'000'000, 300 * kMicrosecond);
  pacer.sent(1250, kSecond);
  const Nanos late = 2 * kSecond;
  int sent = 0;
  for (; pacer.ready(late); sent++) pacer.sent(1250, late);
  EXPECT_EQ(sent, 4);  // three that are late and the one that is due
}

TEST(LinkPacer, NeverAboveRateAndBurst) {
  rc::check("whenever the host wakes up", [](const std::vector<std::uint16_t>& gaps) {
    LinkPacer pacer(1'000'000'000, 50 * kMicrosecond);
    Nanos now = kSecond;
    std::uint64_t bytes = 0;
    for (const std::uint16_t gap : gaps) {
      now += gap;
      while (pacer.ready(now)) pacer.sent(1000, now), bytes += 1000;
      const Nanos allowed = now - kSecond + 50 * kMicrosecond + serialization_ns(1000, 1'000'000'000);
      RC_ASSERT(bytes * 8 <= allowed);
    }
  });
}

TEST(RoundRobin, TakesTurnsAndWaits) {
  RoundRobin r;
  EXPECT_EQ(r.next(), kNever);
  r.add(3, 500);
  r.add(2, 400);
  EXPECT_EQ(r.next(), 400u);
  r.advance(399);
  EXPECT_FALSE(r.has_ready());
  r.add(1, 0);
  EXPECT_EQ(r.next(), 0u);
  r.advance(500);
  EXPECT_EQ(r.pop(), 1u);
  r.add(1, 0);
  EXPECT_EQ(r.pop(), 2u);
  EXPECT_EQ(r.pop(), 3u);
  EXPECT_EQ(r.pop(), 1u);
  EXPECT_FALSE(r.has_ready());
}

TEST(Timers, EarlierWinsAndEachFiresOnce) {
  Timers t(3);
  t.arm(0, 100);
  t.arm(1, 50);
  t.arm(0, 20);
  t.arm(0, 70);  // later than armed: nothing
  EXPECT_EQ(t.next(), 20u);
  EXPECT_FALSE(t.pop(19));
  EXPECT_EQ(t.pop(20), 0u);
  EXPECT_FALSE(t.pop(49));
  EXPECT_EQ(t.pop(1000), 1u);
  EXPECT_FALSE(t.pop(1000));
  EXPECT_EQ(t.next(), kNever);
  t.arm(0, 5);
  EXPECT_EQ(t.pop(1000), 0u);
}

TEST(Serialization, RoundsUp) {
  EXPECT_EQ(serialization_ns(1250, 100'000'000), 100 * kMicrosecond);
  EXPECT_EQ(serialization_ns(1, 3), 2'666'666'667u);
}

}  // namespace
}  // namespace lossless::endpoint
