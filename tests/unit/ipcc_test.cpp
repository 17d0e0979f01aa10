// SPDX-License-Identifier: Apache-2.0
// IPCC: the four cases, the spacing of CNPs, limits, and the thresholds that follow from a port.
#include "bpf/stages/ipcc.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "daemon/roce/plan.h"

namespace lossless {
namespace {

ll_ipcc row() {
  ll_ipcc c{};
  c.on = 1;
  c.low = 10'000;
  c.high = 20'000;
  c.few = 8'000;
  c.many = 2'000;
  c.trend_ns = 1000;
  c.flow_ns = 50'000;
  c.port_cnps = 20;
  return c;
}

// Depths one trend time apart.
std::vector<ll_ipcc_case> cases(std::initializer_list<std::uint32_t> depths) {
  const ll_ipcc c = row();
  ll_ipcc_state s{};
  std::vector<ll_ipcc_case> out;
  std::uint64_t now = 1'000'000;
  for (const std::uint32_t depth : depths) out.push_back(ll_ipcc_case_of(&c, &s, depth, now += c.trend_ns));
  return out;
}

TEST(Ipcc, FourCasesAndIdle) {
  EXPECT_EQ(cases({10'000, 10'001, 11'000, 20'000, 20'001, 30'000, 25'000, 20'001, 19'000, 10'000}),
            (std::vector{LL_IPCC_IDLE, LL_IPCC_RISING_LOW, LL_IPCC_RISING_LOW, LL_IPCC_RISING_LOW,
                         LL_IPCC_RISING_HIGH, LL_IPCC_RISING_HIGH, LL_IPCC_FALLING_HIGH, LL_IPCC_FALLING_HIGH,
                         LL_IPCC_FALLING_LOW, LL_IPCC_IDLE}));
}

TEST(Ipcc, AQueueThatStaysIsFallingWhileItIsShortAndRisingWhenItIsLong) {
  EXPECT_EQ(cases({15'000, 15'000, 15'000}).back(), LL_IPCC_FALLING_LOW);
  EXPECT_EQ(cases({30'000, 25'000, 25'000}).back(), LL_IPCC_RISING_HIGH) << "at its limit it cannot grow";
}

TEST(Ipcc, TrendIsNotThatOfTwoPackets) {
  const ll_ipcc c = row();
  ll_ipcc_state s{};
  EXPECT_EQ(ll_ipcc_case_of(&c, &s, 25'000, 1'000'000), LL_IPCC_RISING_HIGH);
  EXPECT_EQ(ll_ipcc_case_of(&c, &s, 24'000, 1'000'500), LL_IPCC_RISING_HIGH) << "before the time is over";
  EXPECT_EQ(ll_ipcc_case_of(&c, &s, 24'000, 1'001'000), LL_IPCC_FALLING_HIGH);
  EXPECT_EQ(ll_ipcc_case_of(&c, &s, 32'001, 1'001'001), LL_IPCC_RISING_HIGH) << "it grows at once by much";
}

unsigned cnps(ll_ipcc_case found, unsigned packets) {
  const ll_ipcc c = row();
  ll_ipcc_state s{};
  std::mt19937 random(1);
  unsigned sent = 0;
  for (unsigned i = 0; i < packets; ++i)
    if (ll_ipcc_chooses(&c, &s, found, 1000)) {
      ll_ipcc_used(&s, static_cast<__u32>(random()));
      ++sent;
    }
  return sent;
}

TEST(Ipcc, FewManyNone) {
  EXPECT_EQ(cnps(LL_IPCC_IDLE, 10'000), 0U);
  EXPECT_EQ(cnps(LL_IPCC_FALLING_LOW, 10'000), 0U);
  EXPECT_NEAR(cnps(LL_IPCC_RISING_LOW, 10'000), 10'000 / 8.5, 100);  // half a packet is rounded up
  EXPECT_NEAR(cnps(LL_IPCC_FALLING_HIGH, 10'000), 10'000 / 8.5, 100);
  EXPECT_NEAR(cnps(LL_IPCC_RISING_HIGH, 10'000), 10'000 / 2.5, 400);
}

TEST(Ipcc, FlowsAreToldInProportionToWhatTheySend) {
  const ll_ipcc c = row();
  ll_ipcc_state s{};
  std::mt19937 random(2);
  std::map<unsigned, unsigned> told;
  // Flow 0 sends half, 1 a third, 2 a sixth, always in the same order.
  const unsigned order[] = {0, 1, 0, 2, 0, 1};
  for (unsigned i = 0; i < 60'000; ++i)
    if (ll_ipcc_chooses(&c, &s, LL_IPCC_RISING_LOW, 1000)) {
      ll_ipcc_used(&s, static_cast<__u32>(random()));
      ++told[order[i % 6]];
    }
  const double all = told[0] + told[1] + told[2];
  EXPECT_NEAR(told[0] / all, 1.0 / 2, 0.03);
  EXPECT_NEAR(told[1] / all, 1.0 / 3, 0.03);
  EXPECT_NEAR(told[2] / all, 1.0 / 6, 0.03);
}

TEST(Ipcc, PortLimit) {
  const ll_ipcc c = row();
  ll_ipcc_limit limit{};
  unsigned sent = 0;
  for (std::uint64_t now = 5'000'000'000; now < 5'010'000'000; now += 1000)
    sent += static_cast<unsigned>(ll_ipcc_port_may(&c, &limit, now));
  EXPECT_EQ(sent, 200U);  // 10 ms, 20 in each
}

TEST(IpccPlan, FollowsFromThePort) {
  QueueConfig queue;
  EXPECT_EQ(roce::make_ipcc_row(queue, {}, 0, 1500).on, 0);
  queue.ipcc.emplace();
  const ll_ipcc fast = roce::make_ipcc_row(queue, {}, 25'000'000'000, 1500);
  EXPECT_EQ(fast.low, 100'000U);
  EXPECT_EQ(fast.high, 400'000U);
  EXPECT_EQ(fast.flow_ns, 50'000U);
  EXPECT_EQ(fast.port_cnps, 20U);
  const ll_ipcc slow = roce::make_ipcc_row(queue, {}, 100'000'000, 1500);
  EXPECT_EQ(slow.low, 8U * 1522);
  EXPECT_EQ(slow.high, 16U * 1522);
  EXPECT_GT(slow.trend_ns, fast.trend_ns);
  queue.ipcc->high_bytes = 5000;
  EXPECT_LT(roce::make_ipcc_row(queue, {}, 100'000'000, 1500).low, 5000U);
}

}  // namespace
}  // namespace lossless
