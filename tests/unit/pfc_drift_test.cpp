// SPDX-License-Identifier: Apache-2.0
// What is drift of the buffer model, and what are packets on their way into a queue or out of it.
#include "daemon/pfc/drift.h"

#include <gtest/gtest.h>

namespace lossless::pfc {
namespace {

constexpr std::uint32_t kRow = 11;
constexpr Level kFrame{.bytes = 1500};
constexpr Level kMuch{.bytes = 90'000, .headroom = 3000};
constexpr Queues kEmpty{.waiting = 0, .passed = 140};

using Rows = std::vector<std::uint32_t>;

class Drift : public testing::Test {
 protected:
  Rows look(const Level& level, const Queues& queues = kEmpty) { return look(level, level, queues); }
  Rows look(const Level& before, const Level& after, const Queues& queues = kEmpty) {
    return watch_.rows({{kRow, {before, after, queues}}}, periods_);
  }
  void begin() { periods_.begun++; }
  void end() { periods_.ended++; }
  void pass() {
    begin();
    end();
  }

  DriftWatch watch_;
  GracePeriods periods_;
};

TEST_F(Drift, StandsAcrossAGracePeriodWithNothingWaiting) {
  EXPECT_EQ(look(kMuch), Rows{});
  EXPECT_TRUE(watch_.suspects());
  pass();
  EXPECT_EQ(look(kMuch), Rows{kRow});
  EXPECT_FALSE(watch_.suspects());
}

// Between the two a processor stands still with a packet in its hands, for however many looks.
TEST_F(Drift, APacketOnItsWayIsNoneUntilAGracePeriodHasEnded) {
  EXPECT_EQ(look(kFrame), Rows{});
  begin();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(look(kFrame), Rows{});
  end();
  EXPECT_EQ(look({}), Rows{}) << "it goes on, and the packet leaves";
  EXPECT_FALSE(watch_.suspects());
}

TEST_F(Drift, AGracePeriodThatBeganBeforeProvesNothing) {
  begin();
  EXPECT_EQ(look(kFrame), Rows{});
  end();
  EXPECT_EQ(look(kFrame), Rows{});
  pass();
  EXPECT_EQ(look(kFrame), Rows{kRow});
}

TEST_F(Drift, TheQueueDrainsWhileItIsListed) {
  EXPECT_EQ(look(kMuch, {.waiting = 60, .passed = 80}), Rows{});
  pass();
  EXPECT_EQ(look(kMuch, {}, kEmpty), Rows{}) << "read before the list, gone after it";
  EXPECT_FALSE(watch_.suspects());
}

TEST_F(Drift, PacketsThatWaitAreNone) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(look(kMuch, {.waiting = 1, .passed = 80}), Rows{});
    pass();
  }
}

// A light load of frames of one size: each look finds another one on its way.
TEST_F(Drift, OtherPacketsOfTheSameSizeAreNone) {
  for (std::uint64_t passed = 1; passed < 100; ++passed) {
    EXPECT_EQ(look(kFrame, {.waiting = 0, .passed = passed}), Rows{});
    pass();
  }
}

TEST_F(Drift, ARowThatMovesStartsAnew) {
  EXPECT_EQ(look(kFrame), Rows{});
  pass();
  EXPECT_EQ(look(kMuch), Rows{});
  EXPECT_EQ(look(kMuch), Rows{}) << "the grace period was before this level was seen";
  pass();
  EXPECT_EQ(look(kMuch), Rows{kRow});
}

TEST_F(Drift, ARowThatIsNotLookedAtIsForgotten) {
  EXPECT_EQ(look(kMuch), Rows{});
  pass();
  EXPECT_EQ(watch_.rows({}, periods_), Rows{});
  EXPECT_EQ(look(kMuch), Rows{});
}

TEST_F(Drift, ALevelBelowZeroIsDriftToo) {
  const Level below{.bytes = std::uint64_t{0} - 1500};
  EXPECT_EQ(look(below), Rows{});
  pass();
  EXPECT_EQ(look(below), Rows{kRow});
}

TEST_F(Drift, RowsAreJudgedOneByOne) {
  const Look drifted{kMuch, kMuch, kEmpty};
  EXPECT_EQ(watch_.rows({{1, drifted}, {2, {kFrame, kFrame, {.waiting = 1}}}}, periods_), Rows{});
  pass();
  EXPECT_EQ(watch_.rows({{1, drifted}, {2, drifted}}, periods_), Rows{1});
  pass();
  EXPECT_EQ(watch_.rows({{2, drifted}}, periods_), Rows{2});
}

TEST_F(Drift, APoolIsSetRightByWhatWasTooMuchAcrossAGracePeriod) {
  const DriftWatch::Sums none{};
  const DriftWatch::Sums too_much{0, std::uint64_t{0} - 500, 700};
  EXPECT_EQ(watch_.pools(too_much, periods_), none);
  EXPECT_TRUE(watch_.suspects());
  EXPECT_EQ(watch_.pools(too_much, periods_), none) << "a packet may be between its row and the pool";
  pass();
  EXPECT_EQ(watch_.pools(too_much, periods_), too_much);
  EXPECT_FALSE(watch_.suspects());
  EXPECT_EQ(watch_.pools(none, periods_), none);
}

TEST_F(Drift, APoolWhoseRowsMovedStartsAnew) {
  const DriftWatch::Sums none{};
  const DriftWatch::Sums too_much{0, 500, 0};
  EXPECT_EQ(watch_.pools(too_much, periods_), none);
  watch_.forget_pools();
  pass();
  EXPECT_EQ(watch_.pools(too_much, periods_), none);
  EXPECT_EQ(watch_.pools({0, 600, 0}, periods_), none);
  pass();
  EXPECT_EQ(watch_.pools({0, 600, 0}, periods_), (DriftWatch::Sums{0, 600, 0}));
}

}  // namespace
}  // namespace lossless::pfc
