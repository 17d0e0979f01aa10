// SPDX-License-Identifier: Apache-2.0
// The pfc table of a queue.
#include "tests/unit/config_one_port.h"

namespace lossless {
namespace {

TEST(ConfigPfc, ATableTrueAndFalse) {
  EXPECT_FALSE(parsed("[queue.3]\nlossless = true\n").ports[0].queues[3].pfc);
  EXPECT_FALSE(parsed("[queue.3]\nlossless = true\npfc = false\n").ports[0].queues[3].pfc);
  EXPECT_EQ(parsed("[queue.3]\nlossless = true\npfc = true\n").ports[0].queues[3].pfc, PfcConfig{});
  const auto pfc = parsed("[queue.3]\nlossless = true\npfc = { xoff = \"100KB\", cable_m = 300 }\n")
                       .ports[0]
                       .queues[3]
                       .pfc;
  ASSERT_TRUE(pfc);
  EXPECT_EQ(pfc->xoff_bytes, 100'000U);
  EXPECT_EQ(pfc->headroom_bytes, 0U);
  EXPECT_EQ(pfc->cable_m, 300U);
}

TEST(ConfigPfc, PortsOverrideKeyByKey) {
  const auto config =
      parse_config("[queue.3]\nlossless = true\npfc = { xoff = \"100KB\", headroom = \"50KB\" }\n" + kPort +
                       "[port.queue.3]\npfc = { xoff = \"80KB\" }\n[[port]]\nname = "
                       "\"eth1\"\n[port.queue.3]\npfc = false\n",
                   "x.toml");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->ports[0].queues[3].pfc->xoff_bytes, 80'000U);
  EXPECT_EQ(config->ports[0].queues[3].pfc->headroom_bytes, 50'000U);
  EXPECT_FALSE(config->ports[1].queues[3].pfc);
}

TEST(ConfigPfc, WrittenAndReadAgain) {
  for (const char* pfc :
       {"true", "false",
        "{ xoff = 90000, xon_offset = 5000, headroom = 7000, cable_m = 1, reaction_us = 2 }"}) {
    const Config config = parsed(std::string("[queue.3]\nlossless = true\npfc = ") + pfc + "\n");
    const auto again = parse_config(to_toml(config), "y.toml");
    ASSERT_TRUE(again) << to_toml(config);
    EXPECT_EQ(*again, config) << to_toml(config);
  }
}

TEST(ConfigPfc, DifferencesAreNamed) {
  const Config a = parsed("[queue.3]\nlossless = true\npfc = { xoff = \"100KB\" }\n");
  const Config b = parsed("[queue.3]\nlossless = true\npfc = { xoff = \"90KB\" }\n");
  const auto changes = diff_config(a, b);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0], (ConfigChange{"port.eth0.queue.3.pfc.xoff", "\"100KB\"", "\"90KB\""}));
}

TEST(ConfigPfc, OrderOfThresholds) {
  EXPECT_EQ(
      first_error("[queue.3]\npfc = true\n"),
      "x.toml:2:7: queue.3.pfc: PFC is for lossless queues, and this one is lossy; allowed: lossless = true "
      "beside it");
  EXPECT_EQ(first_error("[queue.3]\nlossless = true\npfc = { xoff = \"50KB\", xon_offset = \"50KB\" }\n"),
            "x.toml:3:37: queue.3.pfc.xon_offset: xon_offset 50KB is not below xoff 50KB; the peer goes on "
            "at xoff - "
            "xon_offset, and no queue holds less than nothing (see queue.3.pfc.xoff at line 3)");
  EXPECT_EQ(first_error("[queue.3]\nlossless = true\necn = { kmin = \"10KB\", kmax = \"60KB\", pmax = 0.5 }\n"
                        "pfc = { xoff = \"50KB\" }\n"),
            "x.toml:3:31: queue.3.ecn.kmax: kmax 60KB is not below xoff 50KB; PFC would stop the peers "
            "before ECN has "
            "slowed the flows down (see queue.3.pfc.xoff at line 4)");
  EXPECT_EQ(
      first_error("[queue.3]\nlossless = true\npfc = { xoff = \"1MB\" }\n"),
      "x.toml:3:16: queue.3.pfc.xoff: xoff 1MB with headroom 0B is not below limit 1MB; the queue would drop "
      "before it stops the peer (the default limit)");
}

TEST(ConfigPfc, WrongValues) {
  EXPECT_NE(
      first_error("[queue.3]\nlossless = true\npfc = { headroom = 0 }\n").find("queue.3.pfc.headroom: 0"),
      std::string::npos);
  EXPECT_NE(first_error("[queue.3]\nlossless = true\npfc = 5\n").find("queue.3.pfc: 5 is an integer"),
            std::string::npos);
  EXPECT_NE(first_error("[queue.3]\nlossless = true\npfc = { xof = 5 }\n").find("did you mean 'xoff'?"),
            std::string::npos);
}

}  // namespace
}  // namespace lossless
