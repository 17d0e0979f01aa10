// SPDX-License-Identifier: Apache-2.0
// The queue tree and the datapath's rows, from configurations.
#include <gtest/gtest.h>

#include "daemon/port/queue_tree.h"
#include "daemon/port/tables.h"

namespace lossless::port {
namespace {

PortConfig port_config() {
  PortConfig config;
  config.name = "p0";
  config.maps = default_maps();
  for (unsigned tc = 0; tc < kTcs; ++tc) config.queues[tc] = default_queue(tc);
  return config;
}

TEST(QueueTree, StrictAboveTheGroup) {
  const QueueTree tree = plan_tree(port_config(), 1500);
  EXPECT_EQ(tree.classes[7].prio, 0);
  EXPECT_EQ(tree.classes[6].prio, 1);
  for (unsigned tc = 0; tc < 6; ++tc) EXPECT_EQ(tree.classes[tc].prio, 2) << tc;
  EXPECT_EQ(tree.rate, kUnlimited);
}

TEST(QueueTree, StrictFirstThenGroupsByTheirHighestTc) {
  PortConfig config = port_config();
  for (QueueConfig& queue : config.queues)
    queue = {.schedule = Schedule::Strict,
             .group = 0,
             .weight = 0,
             .limit_bytes = 1,
             .lossless = false,
             .ecn = {}};
  config.queues[1] = {
      .schedule = Schedule::Wrr, .group = 2, .weight = 1, .limit_bytes = 1, .lossless = false, .ecn = {}};
  config.queues[5] = {
      .schedule = Schedule::Wrr, .group = 2, .weight = 1, .limit_bytes = 1, .lossless = false, .ecn = {}};
  config.queues[3] = {
      .schedule = Schedule::Wrr, .group = 1, .weight = 1, .limit_bytes = 1, .lossless = false, .ecn = {}};
  const QueueTree tree = plan_tree(config, 1500);
  const unsigned expected[] = {4, 5, 3, 6, 2, 5, 1, 0};
  for (unsigned tc = 0; tc < kTcs; ++tc) EXPECT_EQ(tree.classes[tc].prio, expected[tc]) << tc;
}

TEST(QueueTree, WeightsBecomeQuantaOfAtLeastOneFrame) {
  PortConfig config = port_config();
  config.queues[0].weight = 20;
  config.queues[1].weight = 50;
  config.queues[2].weight = 10;
  const QueueTree tree = plan_tree(config, 9000);
  EXPECT_GE(tree.classes[2].quantum, 9014U);
  EXPECT_EQ(tree.classes[0].quantum, 2 * tree.classes[2].quantum);
  EXPECT_EQ(tree.classes[1].quantum, 5 * tree.classes[2].quantum);
}

TEST(QueueTree, ACeilingWhereThereIsAMaximum) {
  PortConfig config = port_config();
  config.queues[2].max_rate_bps = 50'000'000;
  const QueueTree tree = plan_tree(config, 1500);
  EXPECT_EQ(tree.classes[2].ceil, 6'250'000U);
  EXPECT_EQ(tree.classes[2].ceil_burst, 6'250U) << "one millisecond";
  EXPECT_EQ(tree.classes[3].ceil, kUnlimited) << "a ceiling takes a leaf out of the round";
}

TEST(QueueTree, RateAndBurst) {
  PortConfig config = port_config();
  config.rate_bps = 100'000'000;
  const QueueTree tree = plan_tree(config, 1500);
  EXPECT_EQ(tree.rate, 12'500'000U);
  EXPECT_EQ(tree.burst, 12'500U) << "one millisecond";
  config.rate_bps = 1'000'000;
  EXPECT_GE(plan_tree(config, 9000).burst, 2 * 9014U) << "two frames at least";
}

TEST(Tables, MapsAreMultipliedOut) {
  PortConfig config = port_config();
  config.trust = Trust::Dscp;
  config.priority = 5;
  config.maps.dot1p_tc[5] = 2;
  config.maps.dscp_dot1p[26] = 5;
  config.maps.dscp_dscp[10] = 26;
  const ll_port row = make_port_row(config, 7);
  EXPECT_EQ(row.slot, 7U);
  EXPECT_EQ(row.trust, LL_TRUST_DSCP);
  EXPECT_EQ(row.port_tc, 2);
  EXPECT_EQ(row.dot1p_tc[5], 2);
  EXPECT_EQ(row.dscp_tc[26], 2);
  EXPECT_EQ(row.dscp_tc[10], 2) << "10 becomes 26 first";
  EXPECT_EQ(row.dscp_new[10], 26);
  EXPECT_EQ(row.dscp_new[11], 11);
  EXPECT_EQ(row.remark, 1);
  EXPECT_EQ(make_port_row(port_config(), 0).remark, 0);
}

TEST(Tables, Thresholds) {
  QueueConfig queue = default_queue(3);
  EXPECT_EQ(make_wred_row(queue, 0, 1500).flags, 0);
  queue.alpha = LL_ALPHA_ONE;
  EXPECT_EQ(make_wred_row(queue, 0, 1500).egress_alpha, LL_ALPHA_ONE) << "without ECN, too";
  queue.lossless = true;
  EXPECT_EQ(make_wred_row(queue, 0, 1500).flags, LL_WRED_LOSSLESS);
  queue.ecn = EcnConfig{.kmin_bytes = 1, .kmax_bytes = 2, .pmax = 1.0, .ewma_shift = 0};
  EXPECT_EQ(make_wred_row(queue, 0, 1500).flags, LL_WRED_LOSSLESS | LL_WRED_ON);
  EXPECT_EQ(make_wred_row(queue, 0, 1500).pmax, UINT32_MAX);
  queue.ecn->ewma_shift = 6;
  const ll_wred row = make_wred_row(queue, 100'000'000, 1500);
  EXPECT_EQ(row.flags, LL_WRED_LOSSLESS | LL_WRED_ON | LL_WRED_EWMA);
  EXPECT_EQ(row.ewma_shift, 6);
  EXPECT_EQ(row.idle_ns, 120'000U) << "1500 bytes at 100 Mbit/s";
}

TEST(Tables, ProbabilitiesReadBack) {
  for (const double p : {0.0, 0.001, 0.2, 0.5, 1.0})
    EXPECT_NEAR(probability_from_u32(probability_to_u32(p)), p, 1e-9);
  EXPECT_EQ(probability_to_u32(7), UINT32_MAX);
  EXPECT_EQ(probability_to_u32(-1), 0U);
}

}  // namespace
}  // namespace lossless::port
