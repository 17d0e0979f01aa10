// SPDX-License-Identifier: Apache-2.0
// The flow table in the real programs: who gets a row, who has to make room, and two CPUs at once.
#include <gtest/gtest.h>
#include <sched.h>

#include <set>
#include <thread>

#include "tests/bpf/flow_table.h"
#include "tests/bpf/roce_frames.h"

namespace lossless::test {
namespace {

constexpr std::uint32_t kRows = LL_ROCE_FLOWS_MIN;

class RoceTable : public testing::Test {
 protected:
  RoceTable() : port_(MapSizes{.roce_flows = kRows}) {
    ll_roce_config on{};
    on.on = 1;
    on.seed = 0x5eed;
    EXPECT_TRUE(maps().roce_config.set(0, on));
    port_.clear_counters();
  }
  const Maps& maps() { return port_.datapath().maps(); }
  ll_roce_stats stats() { return maps().roce_stats.sum(0); }
  static Connection connection(std::uint32_t qp) { return {.qp_b = qp}; }
  void send(std::uint32_t qp) {
    EXPECT_EQ(port_.ingress(from_a(connection(qp), {.payload = 16})).verdict, -1);
  }
  std::uint64_t packets(std::uint32_t qp) {
    const Connection c = connection(qp);
    const auto flow = find_flow(maps(), key_of(c.a, c.b, qp));
    return flow ? flow->packets : 0;
  }
  ScratchPort port_;
};

TEST_F(RoceTable, AsManyFlowsAsConfiguredAreAllKept) {
  for (unsigned round = 0; round < 3; ++round)
    for (std::uint32_t qp = 2; qp < 2 + kRows; ++qp) send(qp);
  for (std::uint32_t qp = 2; qp < 2 + kRows; ++qp) EXPECT_EQ(packets(qp), 3U) << qp;
  EXPECT_EQ(stats().flows, kRows);
  EXPECT_EQ(stats().evicted, 0U);
  EXPECT_EQ(all_flows(maps()).size(), kRows);
}

TEST_F(RoceTable, FlowsThatGoOnOutliveAFlood) {
  constexpr std::uint32_t kLive = 200;
  constexpr std::uint32_t kRounds = 20;
  std::uint32_t fresh = 0x10000;
  for (unsigned round = 0; round < kRounds; ++round) {
    for (std::uint32_t qp = 2; qp < 2 + kLive; ++qp) send(qp);
    for (unsigned i = 0; i < 1000; ++i) send(fresh++);
  }
  for (std::uint32_t qp = 2; qp < 2 + kLive; ++qp) EXPECT_EQ(packets(qp), kRounds) << qp;
  EXPECT_EQ(packets(0x10000), 0U) << "the flow that was seen longest ago is still there";
  EXPECT_EQ(stats().flows - stats().evicted, all_flows(maps()).size());
  EXPECT_EQ(stats().no_room, 0U);
}

TEST_F(RoceTable, WhatIsForgottenBeginsAnew) {
  for (const std::uint32_t qp : {2U, 3U, 4U, 3U, 4U}) send(qp);
  ll_roce_which one{};
  one.by_qp = 1;
  one.qp = 3;
  EXPECT_EQ(forget_flows(maps(), one), 1U);
  EXPECT_EQ(packets(3), 0U);
  EXPECT_EQ(packets(4), 2U);
  send(3);
  EXPECT_EQ(packets(3), 1U);
  ll_roce_which old{};
  old.silent_since = find_flow(maps(), key_of(Connection{}.a, Connection{}.b, 3))->last_ns;
  EXPECT_LE(forget_flows(maps(), old), 2U) << "the clock is coarse";
  EXPECT_EQ(packets(3), 1U);
  ll_roce_which before{};
  before.born_before = 1;
  EXPECT_EQ(forget_flows(maps(), before), 0U);
  EXPECT_GE(forget_flows(maps()), 1U);
  EXPECT_TRUE(all_flows(maps()).empty());
}

// Both CPUs meet each flow's first packet at about the same time.
TEST_F(RoceTable, TwoCpusCountEveryPacketOnce) {
  constexpr std::uint32_t kFlows = 20'000;  // in a table for a thousand: rows change hands all the time
  const auto all = [this](unsigned cpu) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu % std::thread::hardware_concurrency(), &only);
    sched_setaffinity(0, sizeof only, &only);
    for (std::uint32_t qp = 2; qp < 2 + kFlows; ++qp) {
      const Bytes frame = from_a(connection(qp % 500 + (qp / 2000) * 500 + 2), {.payload = 16});
      run_program(port_.datapath().program(Hook::Ingress), frame, {.ifindex = port_.ifindex()});
    }
  };
  std::thread one(all, 0);
  std::thread other(all, 1);
  one.join();
  other.join();
  EXPECT_EQ(stats().packets, 2U * kFlows);
  EXPECT_EQ(stats().no_room, 0U);
  const auto flows = all_flows(maps());
  EXPECT_EQ(stats().flows - stats().evicted, flows.size()) << "a flow has two rows";
  std::set<std::uint32_t> qps;
  for (const ll_roce_flow& flow : flows) EXPECT_TRUE(qps.insert(flow.key.qp).second) << flow.key.qp;
}

}  // namespace
}  // namespace lossless::test
