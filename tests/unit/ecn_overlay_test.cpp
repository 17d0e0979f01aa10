// SPDX-License-Identifier: Apache-2.0
// ECN Overlay: rows from the configuration, and the pure half of what the datapath does.
#include <gtest/gtest.h>

#include "daemon/ecn_overlay/tables.h"

namespace lossless::ecn_overlay {
namespace {

Config with(OverlayDscp carry) {
  Config config;
  config.ecn_overlay = {.enabled = true, .port = 8472, .carry_dscp = carry};
  PortConfig port;
  port.name = "u0";
  port.maps = default_maps();
  for (unsigned tc = 0; tc < kTcs; ++tc) port.queues[tc] = default_queue(tc);
  port.queues[3].lossless = true;
  config.ports.push_back(port);
  return config;
}

TEST(EcnOverlayRow, CarriesWhatIsConfigured) {
  const auto carried = [](OverlayDscp carry) {
    const Config config = with(carry);
    return make_row(config, config.ports[0]).carried;
  };
  EXPECT_EQ(carried(OverlayDscp::None), 0U);
  EXPECT_EQ(carried(OverlayDscp::All), ~0ULL);
  EXPECT_EQ(carried(OverlayDscp::Lossless), 0xffULL << 24U) << "DSCP 24 to 31 are TC 3";
}

// A DSCP that this port rewrites counts as what it becomes.
TEST(EcnOverlayRow, GoesThroughAllThreeMaps) {
  Config config = with(OverlayDscp::Lossless);
  PriorityMaps& maps = config.ports[0].maps;
  maps.dscp_dscp[10] = 26;
  maps.dscp_dot1p[46] = 2;
  maps.dot1p_tc[2] = 3;
  maps.dscp_dot1p[25] = 0;
  const std::uint64_t carried = make_row(config, config.ports[0]).carried;
  for (const unsigned dscp : {10U, 46U, 16U, 23U, 26U}) EXPECT_TRUE(carried >> dscp & 1U) << dscp;
  for (const unsigned dscp : {25U, 0U, 40U}) EXPECT_FALSE(carried >> dscp & 1U) << dscp;
}

TEST(EcnOverlayRow, IsEmptyWhereItIsOff) {
  Config config = with(OverlayDscp::All);
  EXPECT_TRUE(is_on(config, config.ports[0]));
  EXPECT_EQ(make_row(config, config.ports[0]).udp_port, 8472);
  config.ports[0].ecn_overlay = false;
  EXPECT_FALSE(is_on(config, config.ports[0]));
  EXPECT_EQ(make_row(config, config.ports[0]).udp_port, 0);
  EXPECT_EQ(make_row(config, config.ports[0]).carried, 0U);
}

TEST(EcnOverlayStage, PortZeroMatchesNothing) {
  std::uint8_t headers[16] = {};
  headers[8] = LL_VXLAN_VNI_VALID;
  EXPECT_FALSE(ll_overlay_is_vxlan(headers, 0));
  headers[2] = 0x12;
  headers[3] = 0xb5;
  EXPECT_TRUE(ll_overlay_is_vxlan(headers, 4789));
  headers[8] = 0;
  EXPECT_FALSE(ll_overlay_is_vxlan(headers, 4789));
}

TEST(EcnOverlayStage, EncapsulationKeepsOneDscpAndTakesTheInnerEcn) {
  ll_overlay row{};
  row.carried = 1ULL << 26U;
  for (__u8 ecn = 0; ecn < 4; ++ecn) {
    EXPECT_EQ(ll_ecn_encapsulate(&row, 26 << 2 | ecn, 5 << 2 | 2), 26 << 2 | ecn);
    EXPECT_EQ(ll_ecn_encapsulate(&row, 27 << 2 | ecn, 5 << 2 | 2), 5 << 2 | ecn);
  }
}

}  // namespace
}  // namespace lossless::ecn_overlay
