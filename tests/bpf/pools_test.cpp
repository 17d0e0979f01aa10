// SPDX-License-Identifier: Apache-2.0
// Pools and dynamic thresholds in the real programs.
#include <gtest/gtest.h>

#include "tests/bpf/scratch_io.h"

namespace lossless::test {
namespace {

constexpr unsigned kTc = 3;
constexpr int kNext = -1;
constexpr int kDrop = 2;
constexpr std::uint32_t kFrame = 500;

class Pools : public testing::Test {
 protected:
  void set(const ll_pfc& row) { ASSERT_TRUE(port_.datapath().maps().pfc.set(LL_ROW(0, kTc), row)); }
  void set_size(std::uint32_t pool, std::uint64_t size) {
    ll_pool row{};
    row.size = size;
    ASSERT_TRUE(port_.datapath().maps().pools.set(pool, row));
  }
  ll_mmu mmu() { return port_.datapath().maps().mmu.get(LL_ROW(0, kTc)).value_or(ll_mmu{}); }
  ll_pool pool(std::uint32_t id) { return port_.datapath().maps().pools.get(id).value_or(ll_pool{}); }
  // A frame that came in by the port and is on its way out of it.
  int forward() {
    Bytes frame(kFrame);
    frame[0] = frame[6] = 2;
    frame[12] = 8;
    frame[14] = 0x45;
    frame[15] = kTc << 5;
    return run_program(
               port_.datapath().program(Hook::Egress), frame,
               {.ifindex = port_.ifindex(), .ingress_ifindex = port_.ifindex(), .priority = LL_PRIORITY(kTc)})
        .value()
        .verdict;
  }
  static ll_pfc lossless() {
    ll_pfc row{};
    row.on = row.lossless = 1;
    row.quanta = 100;
    row.refresh_ns = UINT64_MAX;
    row.headroom = 10 * kFrame;
    return row;
  }
  ScratchPort port_;
};

TEST_F(Pools, GuaranteedThenSharedThenHeadroom) {
  ll_pfc row = lossless();
  row.guaranteed = 700;
  row.xoff = 2000;
  set(row);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(forward(), kNext);
  EXPECT_EQ(pool(LL_POOL_GUARANTEED).used, 700U);
  EXPECT_EQ(pool(LL_POOL_SHARED).used, 2000U - 700);
  EXPECT_EQ(pool(LL_POOL_HEADROOM).used, 2 * kFrame);
  EXPECT_EQ(pool(LL_POOL_HEADROOM).peak, 2 * kFrame);
  EXPECT_EQ(mmu().bytes, 2000U);
  EXPECT_EQ(mmu().headroom, 2 * kFrame);
  EXPECT_EQ(mmu().headroom_peak, 2 * kFrame);
  EXPECT_EQ(mmu().peak, 6 * kFrame);
  EXPECT_EQ(mmu().xoff, 1U);
  EXPECT_EQ(mmu().over_limit, 0U);
}

TEST_F(Pools, ADynamicThresholdIsAShareOfWhatIsFree) {
  set_size(LL_POOL_SHARED, 4000);
  ll_pfc row = lossless();
  row.alpha = LL_ALPHA_ONE;
  set(row);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(forward(), kNext);
  EXPECT_EQ(mmu().xoff, 0U) << "2000 held, 2000 free";
  EXPECT_EQ(forward(), kNext);
  EXPECT_EQ(mmu().xoff, 1U);
  EXPECT_EQ(mmu().headroom, kFrame);
  EXPECT_EQ(pool(LL_POOL_SHARED).used, 2000U) << "headroom is not of the shared pool";
}

TEST_F(Pools, WhatOthersHoldLowersTheThreshold) {
  set_size(LL_POOL_SHARED, 4000);
  ll_pool shared = pool(LL_POOL_SHARED);
  shared.used = 3200;
  ASSERT_TRUE(port_.datapath().maps().pools.set(LL_POOL_SHARED, shared));
  ll_pfc row = lossless();
  row.alpha = LL_ALPHA_ONE;
  set(row);
  EXPECT_EQ(forward(), kNext);
  EXPECT_EQ(mmu().xoff, 0U) << "500 of 800";
  EXPECT_EQ(forward(), kNext);
  EXPECT_EQ(mmu().xoff, 1U);
}

TEST_F(Pools, ALossyPacketFindsAFullPoolAndIsDropped) {
  set_size(LL_POOL_SHARED, 1200);
  ll_pfc row{};
  row.guaranteed = 600;
  set(row);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(forward(), kNext);
  EXPECT_EQ(forward(), kDrop) << "600 guaranteed, 900 shared, 500 more";
  EXPECT_EQ(mmu().bytes, 3 * kFrame);
  EXPECT_EQ(mmu().dropped, 1U);
  EXPECT_EQ(mmu().over_limit, 1U);
  EXPECT_EQ(pool(LL_POOL_SHARED).over_limit, 1U);
  EXPECT_EQ(pool(LL_POOL_SHARED).used, 900U);
}

TEST_F(Pools, ALosslessPacketIsCountedAndStays) {
  set_size(LL_POOL_SHARED, 1200);
  set_size(LL_POOL_HEADROOM, 700);
  ll_pfc row = lossless();
  row.xoff = 2000;
  set(row);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(forward(), kNext);
  EXPECT_EQ(pool(LL_POOL_SHARED).over_limit, 2U);
  EXPECT_EQ(pool(LL_POOL_HEADROOM).over_limit, 1U);
  EXPECT_EQ(mmu().over_limit, 3U);
  EXPECT_EQ(mmu().dropped, 0U);
}

TEST_F(Pools, ALossyQueueIsHeldToItsShare) {
  set_size(LL_POOL_SHARED, 100'000);
  ll_wred row{};
  row.egress_alpha = LL_ALPHA_ONE - 3;  // an eighth
  port_.set_wred(kTc, row);
  EXPECT_EQ(forward(), kNext);
  port_.close_gate(kTc);
  port_.fill(kTc, 12'000);
  EXPECT_EQ(forward(), kDrop);
  EXPECT_EQ(mmu().dropped, 1U);
}

}  // namespace
}  // namespace lossless::test
