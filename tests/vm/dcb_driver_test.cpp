// SPDX-License-Identifier: Apache-2.0
// The DCB client against a driver (tests/vm/dcbsim) and iproute2's dcb: what one sets, the other shows.
//   dcb_driver_test     with interfaces that have the driver's kinds as names: full, cee, pfc, firmware
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/net/dcb_io.h"

namespace {

using namespace lossless;
using namespace lossless::net;
using nlohmann::json;

std::string run(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string out;
  std::array<char, 4096> chunk{};
  while (const std::size_t n = fread(chunk.data(), 1, chunk.size(), pipe.get())) out.append(chunk.data(), n);
  return out;
}

// `dcb WHAT show`, of all that there is.
json dcb(const std::string& what, const std::string& interface = "full") {
  return json::parse(run("dcb -j " + what + " show dev " + interface));
}

unsigned writes(const std::string& interface) {
  std::ifstream file("/sys/kernel/debug/dcbsim/" + interface + "/writes");
  unsigned count = 0;
  file >> count;
  return count;
}

class Driver : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Netlink::open();
    ASSERT_TRUE(opened) << opened.error();
    netlink_ = std::make_unique<Netlink>(std::move(*opened));
  }

  DcbState state(const std::string& interface = "full") {
    auto got = read_dcb_state(*netlink_, interface);
    EXPECT_TRUE(got && *got) << interface;
    return got && *got ? **got : DcbState{};
  }

  // What is read back, with nothing dropped; a second time nothing is written.
  DcbState set(const DcbState& wanted, const std::string& interface = "full") {
    const auto done = apply_dcb(*netlink_, interface, state(interface), wanted);
    EXPECT_TRUE(done) << (done ? "" : std::string(to_string(done.error()[0].part)) + done.error()[0].text);
    if (!done) return {};
    EXPECT_GT(done->writes, 0U);
    EXPECT_TRUE(done->ignored.empty()) << done->ignored[0].text;
    const unsigned before = writes(interface);
    const auto again = apply_dcb(*netlink_, interface, state(interface), wanted);
    EXPECT_TRUE(again && again->writes == 0);
    EXPECT_EQ(writes(interface), before);
    return done->state;
  }

  std::unique_ptr<Netlink> netlink_;
};

TEST_F(Driver, Ets) {
  DcbEts ets{.willing = true};
  ets.tsa = {2, 2, 2, 0, 0, 1, 255, 0};
  ets.share = {50, 30, 20};
  ets.rx_share = {100};
  ets.priority_tc = {0, 1, 2, 3, 4, 5, 6, 7};
  ets.recommended_share = {40, 60};
  ets.recommended_tsa = {2, 2};
  ets.recommended_priority_tc = {7, 6, 5, 4, 3, 2, 1, 0};
  DcbState wanted;
  wanted.ets = ets;
  set(wanted);
  const json shown = dcb("ets");
  EXPECT_EQ(shown["tc_bw"], json({50, 30, 20, 0, 0, 0, 0, 0}));
  EXPECT_EQ(shown["tc_tsa"], json({"ets", "ets", "ets", "strict", "strict", "cbs", "vendor", "strict"}));
  EXPECT_EQ(shown["prio_tc"], json({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(shown["pg_bw"], json({100, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(shown["reco_tc_bw"], json({40, 60, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(shown["reco_prio_tc"], json({7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(shown["willing"], true);
  run("dcb ets set dev full tc-bw 0:20 1:20 2:60 willing off");
  EXPECT_EQ(state().ets->share, (PerPriority<std::uint8_t>{20, 20, 60}));
  EXPECT_FALSE(state().ets->willing);
}

TEST_F(Driver, Pfc) {
  DcbState wanted;
  wanted.pfc = DcbPfc{.enabled = 0x28, .macsec_bypass = true, .delay = 123};
  set(wanted);
  const json shown = dcb("pfc");
  EXPECT_EQ(shown["prio_pfc"], json({false, false, false, true, false, true, false, false}));
  EXPECT_EQ(shown["delay"], 123);
  EXPECT_EQ(shown["macsec_bypass"], true);
  run("dcb pfc set dev full prio-pfc 1:on 3:off");
  EXPECT_EQ(state().pfc->enabled, 0x22);
  run("echo 7 > /sys/kernel/debug/dcbsim/full/rx_prio5_pause");
  EXPECT_EQ(state().pfc->indications[5], 7U);
}

TEST_F(Driver, MaxRate) {
  DcbState wanted;
  wanted.max_kbps = {8000, 16000, 0, 0, 0, 0, 0, 100'000'000};
  set(wanted);
  // linux/dcbnl.h has kbit/s there, as drivers do; dcb takes the number for bytes a second.
  EXPECT_EQ(dcb("maxrate")["tc_maxrate"], json({8000, 16000, 0, 0, 0, 0, 0, 100'000'000}));
  run("dcb maxrate set dev full tc-maxrate 3:8mbit");
  EXPECT_EQ((*state().max_kbps)[3], 1'000'000U);
}

TEST_F(Driver, Buffers) {
  DcbState wanted;
  wanted.buffers = DcbBuffers{.priority_buffer = {0, 0, 0, 1, 0, 2}, .bytes = {100'000, 50'000, 40'000}};
  set(wanted);
  const json shown = dcb("buffer");
  EXPECT_EQ(shown["prio_buffer"], json({0, 0, 0, 1, 0, 2, 0, 0}));
  EXPECT_EQ(shown["buffer_size"], json({100'000, 50'000, 40'000, 0, 0, 0, 0, 0}));
  run("dcb buffer set dev full prio-buffer 7:3 buffer-size 3:1000");
  EXPECT_EQ(state().buffers->priority_buffer[7], 3);
  EXPECT_EQ(state().buffers->bytes[3], 1000U);
}

TEST_F(Driver, Applications) {
  DcbState wanted;
  wanted.apps =
      DcbApps{{1, 0x8906, 3}, {2, 3260, 4}, {3, 4791, 3}, {4, 4420, 2}, {5, 26, 3}, {5, 48, 6}, {255, 3, 3}};
  set(wanted);
  const json shown = dcb("app");
  const auto first = [&](const char* table) {
    json out = json::array();
    for (const auto& row : shown[table]) out.push_back({row[0], row[1]});
    return out;
  };
  EXPECT_EQ(first("dgram_port_prio"), json({{4791, 3}}));
  EXPECT_EQ(first("stream_port_prio"), json({{3260, 4}}));
  EXPECT_EQ(first("port_prio"), json({{4420, 2}}));
  EXPECT_EQ(first("dscp_prio").size(), 2U);
  EXPECT_EQ(shown["ethtype_prio"].size(), 1U);
  EXPECT_EQ(shown["pcp_prio"].size(), 1U);
  run("dcb app add dev full dgram-port-prio 319:7");
  wanted.apps->push_back({3, 319, 7});
  std::ranges::sort(*wanted.apps);
  EXPECT_EQ(state().apps, wanted.apps);
  wanted.apps = DcbApps{{3, 4791, 5}};
  set(wanted);
}

TEST_F(Driver, TrustAndRewrite) {
  DcbState wanted;
  wanted.trust = std::vector<std::uint8_t>{DCB_APP_SEL_PCP, IEEE_8021QAZ_APP_SEL_DSCP};
  wanted.rewrite = DcbApps{{5, 26, 3}, {255, 3, 3}};
  set(wanted);
  EXPECT_EQ(dcb("apptrust")["order"], json({"pcp", "dscp"}));
  EXPECT_FALSE(dcb("rewr")["prio_dscp"].empty());
  run("dcb apptrust set dev full order dscp");
  EXPECT_EQ(state().trust, (std::vector<std::uint8_t>{IEEE_8021QAZ_APP_SEL_DSCP}));
  run("dcb rewr del dev full prio-dscp 3:26");
  EXPECT_EQ(state().rewrite, (DcbApps{{255, 3, 3}}));
  wanted.trust->clear();
  set(wanted);
  EXPECT_TRUE(dcb("apptrust")["order"].empty());
}

TEST_F(Driver, Mode) {
  DcbState wanted;
  wanted.mode = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_CEE;
  set(wanted);
  EXPECT_EQ(dcb("dcbx"), json({{"host", true}, {"cee", true}}));
  run("dcb dcbx set dev full host ieee");
  EXPECT_EQ(state().mode, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE);
}

TEST_F(Driver, Cee) {
  EXPECT_FALSE(state("cee").ets || state("cee").pfc);
  DcbState wanted;
  wanted.cee = state("cee").cee;
  ASSERT_TRUE(wanted.cee);
  EXPECT_EQ(wanted.cee->group_tcs, 8);
  wanted.cee->on = wanted.cee->pfc_on = true;
  wanted.cee->pfc = 0x08;
  wanted.cee->tx.tc_group = {0, 0, 0, 1, 0, 0, 15, 15};
  wanted.cee->tx.tc_priorities = {1, 2, 4, 8, 16, 32, 64, 128};
  wanted.cee->tx.group_share = {40, 60};
  wanted.cee->rx = wanted.cee->tx;
  wanted.cee->apps = {{DCB_APP_IDTYPE_PORTNUM, 4791, 8}};
  set(wanted, "cee");
}

TEST_F(Driver, WhatItDropsIsNamed) {
  run("echo 0x3f > /sys/kernel/debug/dcbsim/full/lacks");
  DcbState wanted = same_parts(state(), DcbState{.ets = DcbEts{},
                                                 .pfc = DcbPfc{},
                                                 .max_kbps = PerPriority<std::uint64_t>{},
                                                 .buffers = DcbBuffers{},
                                                 .apps = DcbApps{},
                                                 .trust = std::vector<std::uint8_t>{},
                                                 .rewrite = std::nullopt,
                                                 .mode = std::nullopt,
                                                 .cee = std::nullopt});
  wanted.ets->tsa = {2, 2};
  wanted.ets->share = {1, 99};
  wanted.pfc->enabled = 0x81;
  (*wanted.max_kbps)[6] = 77;
  wanted.buffers->bytes = {1, 2, 3, 4, 5, 6, 7, 8};
  wanted.apps->push_back({255, 7, 7});
  wanted.trust = std::vector<std::uint8_t>{DCB_APP_SEL_PCP};
  const auto done = apply_dcb(*netlink_, "full", state(), wanted);
  run("echo 0 > /sys/kernel/debug/dcbsim/full/lacks");
  ASSERT_TRUE(done);
  std::vector<DcbPart> parts;
  for (const DcbFault& fault : done->ignored) parts.push_back(fault.part);
  EXPECT_EQ(parts, (std::vector<DcbPart>{DcbPart::Ets, DcbPart::Pfc, DcbPart::MaxRate, DcbPart::Buffers,
                                         DcbPart::Apps, DcbPart::Trust}));
  EXPECT_EQ(done->ignored[1].text, "is 0 instead of 0,7");
}

TEST_F(Driver, ARefusedPartTakesTheOthersBack) {
  DcbState sound;
  sound.ets = DcbEts{.willing = !state().ets->willing};
  set(sound);
  // A port that says it has more room than it has: only the driver can refuse.
  const DcbState before = state();
  DcbState boastful = before;
  boastful.buffers->total_bytes = UINT32_MAX;
  DcbState wanted;
  wanted.pfc = DcbPfc{.enabled = 0x0c, .delay = 1};
  wanted.ets = before.ets;
  wanted.ets->willing = !wanted.ets->willing;
  wanted.buffers = DcbBuffers{.priority_buffer = {}, .bytes = {300'000}};
  const auto done = apply_dcb(*netlink_, "full", boastful, wanted);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error()[0].part, DcbPart::Buffers);
  EXPECT_NE(done.error()[0].text.find("Invalid argument"), std::string::npos) << done.error()[0].text;
  EXPECT_EQ(state(), before);
}

TEST_F(Driver, ImpossibleIsRefusedUnwritten) {
  const unsigned before = writes("pfc");
  DcbState wanted;
  wanted.pfc = DcbPfc{.enabled = 0x1f};
  EXPECT_FALSE(apply_dcb(*netlink_, "pfc", state("pfc"), wanted));
  wanted = {};
  wanted.ets = DcbEts{};
  EXPECT_FALSE(apply_dcb(*netlink_, "pfc", state("pfc"), wanted));
  EXPECT_EQ(writes("pfc"), before);
  wanted = {};
  wanted.pfc = DcbPfc{.enabled = 1};
  EXPECT_FALSE(apply_dcb(*netlink_, "firmware", state("firmware"), wanted));
  EXPECT_EQ(writes("firmware"), 0U);
}

TEST_F(Driver, NoDcbIsNoError) {
  const auto got = read_dcb_state(*netlink_, "plain");
  ASSERT_TRUE(got) << got.error();
  EXPECT_FALSE(*got);
  EXPECT_FALSE(read_dcb_state(*netlink_, "not-there"));
}

}  // namespace
