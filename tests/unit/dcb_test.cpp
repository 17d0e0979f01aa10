// SPDX-License-Identifier: Apache-2.0
// DCB netlink: answers as the kernel builds them, requests read back, plans and refusals.
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>

#include "daemon/net/dcb_plan.h"
#include "daemon/net/dcb_record.h"
#include "daemon/net/ethtool_io.h"

namespace {

using namespace lossless::net;

// An answer to DCB_CMD_IEEE_GET.
Message answer(const std::function<void(Message&)>& attributes) {
  Message message(RTM_GETDCB, 0);
  dcbmsg header{};
  header.cmd = DCB_CMD_IEEE_GET;
  message.header(header).text(DCB_ATTR_IFNAME, "p1");
  attributes(message);
  return message;
}

DcbState read(const Message& message) {
  DcbState state;
  EXPECT_TRUE(read_dcb(nlmsg_hdr(message.raw()), state));
  return state;
}

// The kernel takes a request's attributes apart as we do an answer's.
DcbState read_request(const Message& message) {
  nlmsg_hdr(message.raw())->nlmsg_type = RTM_GETDCB;
  return read(message);
}

DcbState full() {
  DcbState state;
  state.mode = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
  state.ets = DcbEts{.cap = 8};
  state.pfc = DcbPfc{.cap = 4};
  state.max_kbps.emplace();
  state.buffers = DcbBuffers{.priority_buffer = {}, .bytes = {1000}, .total_bytes = 10'000};
  state.apps.emplace();
  state.trust = std::vector<std::uint8_t>{IEEE_8021QAZ_APP_SEL_DSCP};
  state.rewrite.emplace();
  return state;
}

TEST(Dcb, ReadsAnAnswer) {
  ieee_ets ets{};
  ets.ets_cap = 8;
  ets.tc_tx_bw[3] = 60;
  ets.tc_tsa[3] = IEEE_8021QAZ_TSA_ETS;
  ets.prio_tc[5] = 3;
  ieee_pfc pfc{};
  pfc.pfc_cap = 8;
  pfc.pfc_en = 0x28;
  pfc.delay = 7;
  pfc.indications[3] = 1ULL << 40U;
  const Message message = answer([&](Message& m) {
    m.nest(DCB_ATTR_IEEE, [&](Message& i) {
      i.attr(DCB_ATTR_IEEE_ETS, ets).attr(DCB_ATTR_IEEE_PFC, pfc);
      i.nest(DCB_ATTR_IEEE_APP_TABLE, [](Message& list) {
        list.attr(DCB_ATTR_IEEE_APP, dcb_app{3, 3, 4791}).attr(DCB_ATTR_DCB_APP, dcb_app{255, 1, 1});
      });
      i.nest(DCB_ATTR_DCB_APP_TRUST_TABLE, [](Message& list) {
        list.attr(DCB_ATTR_IEEE_APP, std::uint8_t{5}).attr(DCB_ATTR_DCB_APP, std::uint8_t{255});
      });
    });
    m.attr(DCB_ATTR_DCBX, std::uint8_t{DCB_CAP_DCBX_HOST});
  });
  EXPECT_EQ(dcb_interface(nlmsg_hdr(message.raw())), "p1");
  const DcbState state = read(message);
  EXPECT_EQ(state.ets->cap, 8);
  EXPECT_EQ(state.ets->share[3], 60);
  EXPECT_EQ(state.ets->priority_tc[5], 3);
  EXPECT_EQ(state.pfc->enabled, 0x28);
  EXPECT_EQ(state.pfc->delay, 7);
  EXPECT_EQ(state.pfc->indications[3], 1ULL << 40U);
  EXPECT_EQ(*state.apps, (DcbApps{{3, 4791, 3}, {255, 1, 1}}));
  EXPECT_EQ(*state.trust, (std::vector<std::uint8_t>{5, 255}));
  EXPECT_EQ(*state.mode, DCB_CAP_DCBX_HOST);
  EXPECT_FALSE(state.buffers || state.max_kbps || state.rewrite || state.cee);
}

TEST(Dcb, WhatIsAskedForIsWhatIsRead) {
  DcbEts ets{.willing = true};
  ets.share = {10, 20, 70};
  ets.tsa = {2, 2, 2, 0, 255};
  ets.priority_tc = {0, 1, 2, 3, 4, 5, 6, 7};
  ets.recommended_share = {50, 50};
  EXPECT_EQ(read_request(dcb_set_ets("p1", ets)).ets, ets);
  const DcbPfc pfc{.enabled = 9, .macsec_bypass = true, .delay = 300};
  EXPECT_EQ(read_request(dcb_set_pfc("p1", pfc)).pfc, pfc);
  const PerPriority<std::uint64_t> kbps{1, 2, 3, 4, 5, 6, 7, 1ULL << 36U};
  EXPECT_EQ(read_request(dcb_set_max_rate("p1", kbps)).max_kbps, kbps);
  const DcbBuffers buffers{.priority_buffer = {1, 2}, .bytes = {3, 4}};
  EXPECT_EQ(read_request(dcb_set_buffers("p1", buffers)).buffers, buffers);
  EXPECT_EQ(read_request(dcb_set_trust("p1", {})).trust, std::vector<std::uint8_t>{});
  EXPECT_EQ(read_request(dcb_set_mode("p1", 9)).mode, 9);
  const DcbApps apps{{5, 26, 3}, {255, 3, 3}};
  EXPECT_EQ(read_request(dcb_add("p1", DcbTable::Apps, apps)).apps, apps);
  EXPECT_EQ(read_request(dcb_remove("p1", DcbTable::Rewrite, apps)).rewrite, apps);
}

TEST(Dcb, ARecordIsWhatTheDriverAnswered) {
  ieee_pfc pfc{};
  pfc.pfc_cap = 8;
  pfc.pfc_en = 0x28;
  const Message ieee =
      answer([&](Message& m) { m.nest(DCB_ATTR_IEEE, [&](Message& i) { i.attr(DCB_ATTR_IEEE_PFC, pfc); }); });
  const Message mode = answer([](Message& m) { m.attr(DCB_ATTR_DCBX, std::uint8_t{5}); });
  DcbRecord record{.ifindex = 7, .parts = set_of(DcbPart::Pfc), .answers = {}};
  DcbState said;
  for (const Message* message : {&ieee, &mode}) {
    auto* header = nlmsg_hdr(message->raw());
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(header);
    record.answers.emplace_back(bytes, bytes + header->nlmsg_len);
    ASSERT_TRUE(read_dcb(header, said));
  }
  const std::string text = to_text(record);
  EXPECT_TRUE(text.starts_with("7 pfc\n")) << text;
  const auto read = parse_record(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ifindex, 7);
  EXPECT_EQ(read->parts, record.parts);
  EXPECT_EQ(state_of(*read), said);
  EXPECT_EQ(only_parts(said, read->parts).pfc->enabled, 0x28);
  EXPECT_FALSE(only_parts(said, read->parts).mode);
  for (const std::string& wrong :
       {std::string(), "x" + text, "-" + text, text.substr(0, text.size() - 1),
        text.substr(0, text.size() - 2) + "\n", text + "zz\n", "7 pcf" + text.substr(5)})
    EXPECT_FALSE(parse_record(wrong)) << wrong;
  for (const std::string& wrong :
       {std::string("7 pfc\n"), text.substr(0, text.size() - 3) + "\n", text + "00\n"}) {
    const auto odd = parse_record(wrong);
    ASSERT_TRUE(odd) << wrong;
    EXPECT_FALSE(state_of(*odd)) << wrong;
  }
}

TEST(Dcb, WhatIsNoLongerWantedGoesBack) {
  DcbState original = full();
  original.max_kbps = PerPriority<std::uint64_t>{9};
  DcbState wanted;
  wanted.trust = std::vector<std::uint8_t>{1};
  const auto touched = static_cast<DcbParts>(set_of(DcbPart::MaxRate) | set_of(DcbPart::Trust));
  const DcbState now = with_former(wanted, touched, original);
  EXPECT_EQ(now.max_kbps, original.max_kbps);
  EXPECT_EQ(now.trust, wanted.trust);
  EXPECT_FALSE(now.buffers) << "never wanted";
  EXPECT_EQ(parts_of(now), touched);
}

TEST(Dcb, ResultOfASet) {
  const auto result = [](int type, int attribute, std::uint8_t value) {
    Message message(type, 0);
    message.header(dcbmsg{}).attr(attribute, value);
    return dcb_set_result(nlmsg_hdr(message.raw()));
  };
  EXPECT_EQ(result(RTM_SETDCB, DCB_ATTR_IEEE, 0), 0);
  EXPECT_EQ(result(RTM_SETDCB, DCB_ATTR_IEEE, static_cast<std::uint8_t>(-EOPNOTSUPP)), EOPNOTSUPP);
  EXPECT_EQ(result(RTM_SETDCB, DCB_ATTR_DCBX, 1), EINVAL);
  EXPECT_EQ(result(RTM_GETDCB, DCB_ATTR_DCBX, 1), std::nullopt);
}

TEST(Dcb, NothingIsWrittenWhereNothingDiffers) {
  DcbState now = full();
  DcbState wanted = now;
  now.pfc->requests[3] = 5;  // counters are no setting
  EXPECT_TRUE(plan_dcb("p1", now, wanted).empty());
  EXPECT_TRUE(same_settings(now, wanted));
  wanted.pfc->enabled = 8;
  const auto steps = plan_dcb("p1", now, wanted);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].part, DcbPart::Pfc);
}

TEST(Dcb, ATableIsToldWhatChanges) {
  DcbState now = full();
  now.apps = DcbApps{{3, 1, 1}, {3, 2, 2}};
  DcbState wanted;
  wanted.apps = DcbApps{{3, 2, 2}, {3, 1, 4}};
  std::ranges::sort(*wanted.apps);
  auto steps = plan_dcb("p1", now, wanted);
  ASSERT_EQ(steps.size(), 2U);
  const auto* first = static_cast<const dcbmsg*>(nlmsg_data(nlmsg_hdr(steps[0].message.raw())));
  EXPECT_EQ(first->cmd, DCB_CMD_IEEE_DEL);
  EXPECT_EQ(read_request(steps[0].message).apps, (DcbApps{{3, 1, 1}}));
  EXPECT_EQ(read_request(steps[1].message).apps, (DcbApps{{3, 1, 4}}));
}

std::string refusal(const DcbState& now, const DcbState& wanted) {
  const auto faults = check_dcb(now, wanted);
  return faults.empty() ? "" : std::string(to_string(faults[0].part)) + ": " + faults[0].text;
}

TEST(Dcb, RefusesWhatCannotBe) {
  const DcbState now = full();
  DcbState wanted = now;
  wanted.pfc->enabled = 0x1f;
  EXPECT_EQ(refusal(now, wanted), "pfc: PFC on 5 priorities (0,1,2,3,4); allowed: 4 at once");

  wanted = now;
  wanted.ets->tsa[0] = wanted.ets->tsa[1] = IEEE_8021QAZ_TSA_ETS;
  wanted.ets->share = {60, 30};
  EXPECT_EQ(refusal(now, wanted), "ets: the shares add to 90; allowed: 100");

  wanted = now;
  DcbState small = now;
  small.ets->cap = 4;
  wanted.ets->priority_tc[7] = 5;
  EXPECT_EQ(refusal(small, wanted), "ets: priority 7 is in TC 5; the port has 4 TCs, from 0");

  wanted = now;
  wanted.buffers->bytes[1] = 9001;
  EXPECT_EQ(refusal(now, wanted), "buffer: the buffers take 10001 bytes; the port has 10000");

  wanted = now;
  wanted.apps = DcbApps{{6, 1, 1}};
  EXPECT_EQ(refusal(now, wanted), "app: selector 6 is unknown; allowed: 1 to 5 and 255");
  wanted.apps = DcbApps{{5, 64, 1}};
  EXPECT_EQ(refusal(now, wanted), "app: dscp 64; allowed: 0 to 63");

  wanted = now;
  wanted.trust = std::vector<std::uint8_t>{5, 5};
  EXPECT_EQ(refusal(now, wanted), "apptrust: selector dscp twice; allowed: each once");

  DcbState firmware = now;
  firmware.mode = DCB_CAP_DCBX_LLD_MANAGED;
  EXPECT_EQ(refusal(firmware, now),
            "dcbx: the NIC's firmware runs DCBX and decides on it; nothing is written");
  DcbState none;
  wanted = {};
  wanted.pfc = DcbPfc{.enabled = 8};
  EXPECT_EQ(refusal(none, wanted), "pfc: the driver does not have it");
}

TEST(Dcb, NamesWhatADriverDropped) {
  const DcbState now = full();
  DcbState wanted;
  wanted.pfc = DcbPfc{.enabled = 0x28};
  DcbState after = now;
  after.pfc->enabled = 8;
  EXPECT_EQ(differences(after, wanted), (std::vector<DcbFault>{{DcbPart::Pfc, "is 3 instead of 3,5"}}));
  EXPECT_FALSE(same_parts(now, wanted).ets);
  EXPECT_TRUE(same_parts(now, wanted).pfc);
}

TEST(Dcb, CountersOfDriversByTheirNames) {
  const PfcCounters mlx5 = find_pfc_counters({{"rx_prio3_pause", 7},
                                              {"tx_prio3_pause", 8},
                                              {"rx_prio3_pause_duration", 90},
                                              {"rx_prio3_bytes", 1},
                                              {"rx_0_1", 5}});
  EXPECT_TRUE(mlx5.frames && mlx5.durations);
  EXPECT_EQ(mlx5.rx[3], 7U);
  EXPECT_EQ(mlx5.tx[3], 8U);
  EXPECT_EQ(mlx5.rx_duration_us[3], 90U);
  const PfcCounters ice = find_pfc_counters({{"rx_priority_5_xoff.nic", 2}, {"rx_priority_5_xon.nic", 2}});
  EXPECT_TRUE(ice.frames && !ice.durations);
  EXPECT_EQ(ice.rx[5], 2U);
  EXPECT_FALSE(find_pfc_counters({{"rx_prio9_pause", 1}, {"rx_pause", 1}}).frames);
}

TEST(Dcb, ShortAttributesAreLeftOut) {
  const DcbState state = read(answer([](Message& m) {
    m.nest(DCB_ATTR_IEEE, [](Message& i) { i.attr(DCB_ATTR_IEEE_ETS, std::uint32_t{1}); });
  }));
  EXPECT_FALSE(state.ets);
  DcbState other;
  Message link(RTM_NEWLINK, 0);
  link.header(ifinfomsg{});
  EXPECT_FALSE(read_dcb(nlmsg_hdr(link.raw()), other));
}

}  // namespace
