// SPDX-License-Identifier: Apache-2.0
// [roce], and the ipcc table of a queue.
#include "tests/unit/config_one_port.h"

namespace lossless {
namespace {

TEST(ConfigRoce, Defaults) {
  const RoceConfig roce = parsed("").roce;
  EXPECT_TRUE(roce.flows);
  EXPECT_EQ(roce.max_flows, 65536U);
  EXPECT_EQ(roce.cnp_dscp, 48U);
  EXPECT_EQ(roce.cnp_tc, 6U);
  EXPECT_EQ(parsed("[roce]\nmax_flows = 1000000\n").roce.max_flows, 1'000'000U);
  EXPECT_EQ(first_error("[roce]\nmax_flows = 1000001\n"),
            "x.toml:2:13: roce.max_flows: 1000001 is too large; allowed: an integer from 1024 to 1000000");
}

TEST(ConfigRoce, IpccIsATableTrueOrFalse) {
  EXPECT_FALSE(parsed("[queue.3]\nipcc = false\n").ports[0].queues[3].ipcc);
  EXPECT_EQ(parsed("[queue.3]\nipcc = true\n").ports[0].queues[3].ipcc, IpccConfig{});
  const auto ipcc = parsed("[queue.3]\nipcc = { low = \"10KB\", interval_us = 7 }\n").ports[0].queues[3].ipcc;
  ASSERT_TRUE(ipcc);
  EXPECT_EQ(ipcc->low_bytes, 10'000U);
  EXPECT_EQ(ipcc->high_bytes, 0U);
  EXPECT_EQ(ipcc->interval_us, 7U);
  EXPECT_EQ(first_error("[queue.3]\nipcc = 1\n"),
            "x.toml:2:8: queue.3.ipcc: 1 is an integer; allowed: a table such as { low = \"100KB\", high = "
            "\"400KB\" }, true, or false");
}

TEST(ConfigRoce, ThresholdsMustBeInOrder) {
  EXPECT_EQ(first_error("[queue.3]\nipcc = { low = \"20KB\", high = \"10KB\" }\n"),
            "x.toml:2:16: queue.3.ipcc.low: low 20KB is not below high 10KB; few CNPs come before many (see "
            "queue.3.ipcc.high at line 2)");
  EXPECT_EQ(first_error("[queue.3]\nipcc = { high = \"2MB\" }\n"),
            "x.toml:2:17: queue.3.ipcc.high: high 2MB is not below limit 1MB; the queue never gets that deep "
            "(the default limit)");
  EXPECT_EQ(
      first_error("[queue.3]\nlossless = true\npfc = { xoff = \"50KB\" }\nipcc = { high = \"60KB\" }\n"),
      "x.toml:4:17: queue.3.ipcc.high: high 60KB is not below xoff 50KB; PFC would stop the peers before "
      "IPCC has slowed the flows down (see queue.3.pfc.xoff at line 3)");
  EXPECT_EQ(
      first_error("[queue.3]\nipcc = { few = \"1KB\", many = \"2KB\" }\n"),
      "x.toml:2:30: queue.3.ipcc.many: many 2KB is above few 1KB; both are bytes for each CNP, so fewer "
      "bytes make more of them (see queue.3.ipcc.few at line 2)");
}

TEST(ConfigRoce, IpccNeedsFlows) {
  EXPECT_EQ(
      first_error("[roce]\nflows = false\n[queue.3]\nipcc = true\n"),
      "x.toml:4:8: queue.3.ipcc: IPCC tells the senders of flows, and [roce] flows is false; allowed: flows "
      "= true, or no ipcc");
}

TEST(ConfigRoce, PortsOverrideKeyByKey) {
  const Config config = parsed("[queue.3]\nipcc = { low = \"10KB\", high = \"30KB\" }\n");
  EXPECT_EQ(config.ports[0].queues[3].ipcc->high_bytes, 30'000U);
  const auto two = parse_config("[queue.3]\nipcc = { low = \"10KB\", high = \"30KB\" }\n" + kPort +
                                    "[port.queue.3]\nipcc = { high = \"20KB\" }\n",
                                "x.toml");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->ports[0].queues[3].ipcc->low_bytes, 10'000U);
  EXPECT_EQ(two->ports[0].queues[3].ipcc->high_bytes, 20'000U);
}

TEST(ConfigRoce, DifferenceNamesTheKey) {
  const Config from = parsed("[queue.3]\nipcc = { low = \"10KB\" }\n");
  const Config to = parsed("[roce]\nage_s = 5\n[queue.3]\nipcc = { low = \"20KB\" }\n");
  const auto changes = diff_config(from, to);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].path, "roce.age_s");
  EXPECT_EQ(changes[1].path, "port.eth0.queue.3.ipcc.low");
}

}  // namespace
}  // namespace lossless
