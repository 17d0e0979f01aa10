// SPDX-License-Identifier: Apache-2.0
// What the configuration says of DCB, ETS shares, applications and ECMP, and what DCB makes of it.
#include <gtest/gtest.h>

#include "daemon/core/config.h"
#include "daemon/dcb/plan.h"

namespace {

using namespace lossless;

constexpr const char* kPort = "[[port]]\nname = \"p\"\n";

Config good(const std::string& text) {
  auto config = parse_config(text, "f");
  EXPECT_TRUE(config) << (config ? "" : config.error()[0].text());
  return config.value_or(Config{});
}

std::string fault(const std::string& text) {
  const auto config = parse_config(text, "f");
  return config ? "" : config.error()[0].text();
}

TEST(ConfigDcb, Defaults) {
  const Config config = good(kPort);
  EXPECT_EQ(config.ports[0].dcb, DcbUse::Auto);
  EXPECT_EQ(config.ports[0].weights, Weights::Relative);
  EXPECT_TRUE(config.dcb.put_back);
  EXPECT_EQ(config.ecmp.hash, EcmpHash::Keep);
  EXPECT_EQ(config.applications, (std::vector<Application>{{AppField::Udp, 4791, 3}}));
  EXPECT_TRUE(good(std::string("application = []\n") + kPort).applications.empty());
}

TEST(ConfigDcb, Applications) {
  const std::string entry = "[[application]]\nfield = \"tcp\"\nprotocol = 4420\npriority = 2\n";
  EXPECT_EQ(good(kPort + entry).applications, (std::vector<Application>{{AppField::Tcp, 4420, 2}}));
  EXPECT_EQ(
      fault(kPort + entry + entry),
      "f:9:12: application[2].protocol: 4420 has a priority already, at line 5; allowed: each protocol of a "
      "field once");
  EXPECT_EQ(fault(kPort + std::string("[[application]]\nfield = \"udp\"\npriority = 2\n")),
            "f:3:1: application[1]: lacks 'protocol'");
  EXPECT_EQ(
      fault(kPort + std::string("[[application]]\nfield = \"dscp\"\nprotocol = 1\npriority = 8\n")),
      "f:4:9: application[1].field: \"dscp\" is not one of the choices; allowed: \"ethertype\", \"tcp\", "
      "\"udp\" or \"port\"");
}

TEST(ConfigDcb, SharesMustAddToAHundred) {
  const std::string percent = std::string(kPort) + "weights = \"percent\"\n";
  EXPECT_EQ(fault(percent),
            "f:3:11: port.p.weights: the weights of WRR group 1 add to 60 percent; allowed: 100 together, or "
            "weights = \"relative\"");
  std::string queues = "[queue]\n";
  for (const auto& [tc, weight] :
       std::initializer_list<std::pair<int, int>>{{0, 5}, {1, 5}, {2, 10}, {3, 50}, {4, 20}, {5, 10}})
    queues += std::to_string(tc) + " = { weight = " + std::to_string(weight) + " }\n";
  EXPECT_EQ(fault(queues + percent), "");
}

dcb::PortInput input_of(const Config& config) {
  return {.port = config.ports[0], .dcb = config.dcb, .applications = config.applications};
}

TEST(DcbPlan, WeightsBecomePercentages) {
  Config config = good(kPort);
  EXPECT_EQ(dcb::shares_of(config.ports[0]), (net::PerPriority<std::uint8_t>{17, 17, 17, 17, 16, 16, 0, 0}));
  for (QueueConfig& queue : config.ports[0].queues) {
    queue.schedule = Schedule::Wrr;
    queue.group = 1;
    queue.weight = 1;
  }
  config.ports[0].queues[7].weight = 100;
  const auto shares = dcb::shares_of(config.ports[0]);
  EXPECT_EQ(shares, (net::PerPriority<std::uint8_t>{1, 1, 1, 1, 1, 1, 1, 93}));
  config.ports[0].queues[0].group = 2;
  EXPECT_EQ(dcb::shares_of(config.ports[0])[0], 100);
}

net::DcbState driver() {
  net::DcbState now;
  now.ets = net::DcbEts{.cap = 8};
  now.pfc = net::DcbPfc{.cap = 8, .delay = 9};
  now.apps.emplace();
  now.trust.emplace();
  now.buffers = net::DcbBuffers{.total_bytes = 100'000};
  now.mode = DCB_CAP_DCBX_HOST;
  return now;
}

TEST(DcbPlan, WhatAPortMeans) {
  const Config config = good(
      "[maps]\ndot1p_tc = [0, 0, 2, 3, 4, 3, 6, 7]\n[queue.3]\nlossless = true\npfc = true\n"
      "[[port]]\nname = \"p\"\ntrust = \"dscp\"\npriority = 2\n");
  const net::DcbState wanted = dcb::wanted_state(input_of(config), driver());
  EXPECT_EQ(wanted.pfc->enabled, 0x28) << "both priorities of TC 3";
  EXPECT_EQ(wanted.pfc->delay, 9) << "not ours to change";
  EXPECT_EQ(wanted.ets->priority_tc, config.ports[0].maps.dot1p_tc);
  EXPECT_EQ(wanted.ets->tsa[6], IEEE_8021QAZ_TSA_STRICT);
  EXPECT_EQ(wanted.trust, std::vector<std::uint8_t>{IEEE_8021QAZ_APP_SEL_DSCP});
  EXPECT_EQ(wanted.mode, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE);
  EXPECT_FALSE(wanted.buffers) << "unless configured";
  EXPECT_EQ(wanted.apps->size(), 56U + 1 + 1) << "DSCPs with a priority, RoCEv2, the port's priority";
  EXPECT_TRUE(net::check_dcb(driver(), wanted).empty());
}

TEST(DcbPlan, BuffersHoldHeadroom) {
  Config config =
      good("[dcb]\nbuffers = true\n[queue.3]\nlossless = true\npfc = true\n[[port]]\nname = \"p\"\n");
  dcb::PortInput input = input_of(config);
  input.headroom_bytes[3] = 40'000;
  input.frame_bytes = 1522;
  const auto wanted = dcb::wanted_state(input, driver()).buffers;
  EXPECT_EQ(wanted->bytes, (net::PerPriority<std::uint32_t>{56'956, 43'044}));
  EXPECT_EQ(wanted->priority_buffer, (net::PerPriority<std::uint8_t>{0, 0, 0, 1}));
}

TEST(DcbPlan, TwoGroupsAreNoEts) {
  const Config config = good("[queue.0]\ngroup = 2\n[[port]]\nname = \"p\"\n");
  std::vector<net::DcbFault> left_out;
  EXPECT_FALSE(dcb::wanted_state(input_of(config), driver(), &left_out).ets);
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].part, net::DcbPart::Ets);
}

TEST(ConfigDcb, RequiredNeedsWhatDcbCanSay) {
  const std::string two = "[queue.0]\ngroup = 2\n[[port]]\nname = \"p\"\ndcb = ";
  EXPECT_EQ(fault(two + "\"auto\"\n"), "");
  EXPECT_EQ(fault(two + "\"required\"\n"),
            "f:5:7: port.p.dcb: \"required\" needs ETS in the driver, which has one WRR group, and the "
            "port's queues are "
            "in two; allowed: one group, or dcb = \"auto\", which shares out in software");
}

TEST(ConfigDcb, RatesAndRewriting) {
  const std::string text =
      "[maps]\ndscp_rewrite = [0, 8, 16, 26, 32, 40, 48, 56]\n[queue.2]\nmax_rate = \"50mbit\"\n"
      "[[port]]\nname = \"p\"\nrewrite = \"both\"\nmaps = { dot1p_rewrite = [0, 1, 2, 3, 4, 5, 6, 6] }\n";
  const Config config = good(text);
  EXPECT_EQ(config.ports[0].queues[2].max_rate_bps, 50'000'000U);
  EXPECT_EQ(config.ports[0].maps.dscp_rewrite[3], 26);
  EXPECT_EQ(config.ports[0].maps.dot1p_rewrite[7], 6);
  EXPECT_EQ(good(to_toml(config)), config);
  EXPECT_EQ(diff_config(good(kPort), config).size(), 4U);
  EXPECT_EQ(fault(std::string(kPort) + "maps = { dscp_rewrite = [0, 8, 16, 64, 32, 40, 48, 56] }\n"),
            "f:3:36: port.p.maps.dscp_rewrite.3: 64 is too large; allowed: an integer from 0 to 63");
}

TEST(DcbPlan, RatesAndRewriting) {
  const Config config = good(
      "[queue.2]\nmax_rate = \"50mbit\"\n[[port]]\nname = \"p\"\nrewrite = \"dscp\"\n"
      "maps = { dscp_rewrite = [0, 8, 16, 26, 32, 40, 48, 56] }\n");
  net::DcbState now = driver();
  std::vector<net::DcbFault> left_out;
  EXPECT_FALSE(dcb::wanted_state(input_of(config), now, &left_out).max_kbps) << "the driver has none";
  ASSERT_EQ(left_out.size(), 2U);
  EXPECT_EQ(left_out[0].part, net::DcbPart::MaxRate);
  EXPECT_EQ(left_out[1].part, net::DcbPart::Rewrite);
  now.max_kbps.emplace();
  now.rewrite.emplace();
  const net::DcbState wanted = dcb::wanted_state(input_of(config), now);
  EXPECT_EQ(wanted.max_kbps, (net::PerPriority<std::uint64_t>{0, 0, 50'000}));
  ASSERT_EQ(wanted.rewrite->size(), 8U);
  EXPECT_EQ((*wanted.rewrite)[3], (net::DcbApp{IEEE_8021QAZ_APP_SEL_DSCP, 26, 3}));
  EXPECT_TRUE(net::check_dcb(now, wanted).empty());
  const net::DcbState usual = dcb::wanted_state(input_of(good(kPort)), now);
  EXPECT_FALSE(usual.max_kbps || usual.rewrite) << "not ours to decide on unless configured";
}

TEST(DcbPlan, ADriverWithCeeAlone) {
  const Config config = good("[queue.3]\nlossless = true\npfc = true\n[[port]]\nname = \"p\"\n");
  net::DcbState now;
  now.cee.emplace();
  now.apps.emplace();
  now.mode = 0;
  const net::DcbState wanted = dcb::wanted_state(input_of(config), now);
  EXPECT_EQ(wanted.mode, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_CEE);
  EXPECT_EQ(wanted.cee->pfc, 8);
  EXPECT_TRUE(wanted.cee->on && wanted.cee->pfc_on);
  EXPECT_EQ(wanted.cee->tx.tc_group[7], 15);
  EXPECT_EQ(wanted.cee->tx.tc_priorities[5], 32);
  EXPECT_FALSE(wanted.apps || wanted.ets || wanted.pfc);
}

}  // namespace
