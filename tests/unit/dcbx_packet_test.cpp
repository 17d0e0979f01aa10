// SPDX-License-Identifier: Apache-2.0
// DCBX TLVs byte for byte. The bytes were laid out by hand from the tables of the two documents.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "daemon/dcbx/packet.h"
#include "dcbx_frames.h"
#include "hex.h"

namespace lossless::dcbx {
namespace {

using lldp::OrgTlv;
using test::from_hex;

OrgTlv ieee(std::uint8_t subtype, const char* hex) {
  return {.oui = kIeeeOui, .subtype = subtype, .value = from_hex(hex)};
}
OrgTlv cee(const char* hex) { return {.oui = kCeeOui, .subtype = kCee101, .value = from_hex(hex)}; }
Said read(const OrgTlv& tlv) { return decode(std::array{tlv}); }

const Table kTable{.priority_tc = {0, 0, 1, 2, 2, 3, 4, 7},
                   .share = {10, 20, 70, 0, 0, 0, 0, 0},
                   .tsa = {kEtsTsa, kEtsTsa, kEtsTsa, kStrict, kStrict, kCbs, kVendor, kStrict}};
const char* const kTableHex = "00122347 0a14460000000000 02020200 0001ff00";

TEST(DcbxPacket, IeeeEts) {
  const std::string hex = std::string("c4") + kTableHex;
  const Said said = read(ieee(kIeeeEts, hex.c_str()));
  ASSERT_TRUE(said.ieee && said.ieee->ets) << said.faults.front();
  EXPECT_EQ(*said.ieee->ets, (Ets{.willing = true, .cbs = true, .max_tcs = 4, .table = kTable}));
  EXPECT_EQ(encode(*said.ieee), std::vector{ieee(kIeeeEts, hex.c_str())});
}

TEST(DcbxPacket, IeeeRecommendation) {
  const std::string hex = std::string("00") + kTableHex;
  const Said said = read(ieee(kIeeeRecommendation, hex.c_str()));
  ASSERT_TRUE(said.ieee && said.ieee->recommendation);
  EXPECT_EQ(*said.ieee->recommendation, kTable);
  EXPECT_EQ(encode(*said.ieee), std::vector{ieee(kIeeeRecommendation, hex.c_str())});
}

TEST(DcbxPacket, IeeePfc) {
  const Said said = read(ieee(kIeeePfc, "8828"));
  ASSERT_TRUE(said.ieee && said.ieee->pfc);
  EXPECT_EQ(*said.ieee->pfc, (Pfc{.willing = true, .cap = 8, .enabled = 0x28}));
  EXPECT_EQ(encode(*said.ieee), std::vector{ieee(kIeeePfc, "8828")});
  EXPECT_TRUE(read(ieee(kIeeePfc, "4400")).ieee->pfc->mbc);
}

TEST(DcbxPacket, IeeeApplications) {
  const char* const hex = "00 63 12b7 61 8906 bd 001a";
  const Said said = read(ieee(kIeeeApp, hex));
  ASSERT_TRUE(said.ieee && said.ieee->apps);
  EXPECT_EQ(*said.ieee->apps, (std::vector<App>{{3, 3, 4791}, {3, 1, 0x8906}, {5, 5, 26}}));
  EXPECT_EQ(to_string(said.ieee->apps->front()), "udp 4791 = 3");
  // Reserved bits are not kept.
  EXPECT_EQ(encode(*said.ieee), std::vector{ieee(kIeeeApp, "00 63 12b7 61 8906 a5 001a")});
  EXPECT_TRUE(read(ieee(kIeeeApp, "00")).ieee->apps->empty());
}

// Control, priority groups, PFC and application, as an adapter of that time sends them.
const char* const kCeeHex =
    "020a 00 00 00000003 00000005 "
    "0411 00 00 80 00 0011f2ff 1e460000 00000000 08 "
    "0606 00 00 c0 00 08 08 "
    "0810 00 00 a0 00 8906 00 1b21 08 0cbc 01 1b21 10";

TEST(DcbxPacket, Cee) {
  const Said said = read(cee(kCeeHex));
  ASSERT_TRUE(said.cee) << said.faults.front();
  EXPECT_TRUE(said.faults.empty());
  const Cee& c = *said.cee;
  EXPECT_EQ(c.control, (CeeControl{.sequence = 3, .ack = 5}));
  ASSERT_TRUE(c.groups && c.pfc && c.apps);
  EXPECT_TRUE(c.groups->feature.enable && !c.groups->feature.willing && !c.groups->feature.error);
  EXPECT_EQ(c.groups->group, (PerPriority<std::uint8_t>{0, 0, 1, 1, 15, 2, 15, 15}));
  EXPECT_EQ(c.groups->share, (PerPriority<std::uint8_t>{30, 70}));
  EXPECT_TRUE(c.pfc->feature.willing);
  EXPECT_EQ(c.pfc->enabled, 8);
  EXPECT_TRUE(c.apps->feature.error);
  ASSERT_EQ(c.apps->entries.size(), 2U);
  EXPECT_EQ(c.apps->entries[1], (CeeApp{.protocol = 3260, .selector = 1, .priorities = 0x10}));
  EXPECT_EQ(to_string(c.apps->entries[0]), "ethertype 35078 = 3");
  EXPECT_EQ(encode(c), cee(kCeeHex));
}

TEST(DcbxPacket, CeeFeaturesMayBeMissing) {
  const Said said = read(cee("020a 00 00 00000001 00000000"));
  ASSERT_TRUE(said.cee);
  EXPECT_FALSE(said.cee->groups || said.cee->pfc || said.cee->apps);
  EXPECT_TRUE(read(cee("020a 00 00 00000001 00000000 fe02 abcd")).faults.empty()) << "features we don't know";
}

TEST(DcbxPacket, WhatIsNotDcbx) {
  EXPECT_TRUE(decode({}).none());
  EXPECT_TRUE(read({.oui = 0x001882, .subtype = 9, .value = {1}}).none());
  EXPECT_TRUE(read(ieee(3, "00")).none()) << "VLAN name";
  EXPECT_TRUE(read({.oui = kCeeOui, .subtype = kCee100, .value = {1}}).cee100);
}

// Sent by lldpad 1.1 (Debian 12), captured in tests/vm/cases/test_lldpad.py.
TEST(DcbxPacket, FramesOfLldpad) {
  for (const char* const frame : {
           // What it decides on, and UDP 4791 that it took from us.
           "0180c200000e 020000000b01 88cc 020704020000000b01 040703020000000b01 06020078 "
           "fe190080c20900012345671414003c000000000202000200000000 "
           "fe190080c20a00012345671414003c000000000202000200000000 "
           "fe060080c20b0818 "
           "fe0e0080c20c00820cbca312b76312b7 0000",
           // Willing: what we said.
           "0180c200000e 020000000b01 88cc 020704020000000b01 040703020000000b01 06020078 "
           "fe190080c20980012345671e140032000000000202000200000000 "
           "fe190080c20a000123456764000000000000000200000000000000 "
           "fe060080c20b8808 "
           "fe080080c20c006312b7 0000",
           // Its own priority 5 of UDP 4791, beside ours.
           "0180c200000e 020000000b01 88cc 020704020000000b01 040703020000000b01 06020078 "
           "fe190080c20900012345671414003c000000000202000200000000 "
           "fe190080c20a00012345671414003c000000000202000200000000 "
           "fe060080c20b0808 "
           "fe0b0080c20c00a312b76312b7 0000",
       }) {
    const auto bytes = from_hex(frame);
    EXPECT_EQ(test::fault_of_frame(bytes), "") << frame;
    const auto decoded = lldp::decode(bytes);
    ASSERT_TRUE(decoded);
    EXPECT_TRUE(decode(decoded->packet.org).ieee) << frame;
  }
}

// Sent by lldpad 1.1.1 (Debian 13) in CEE, captured in the same way.
TEST(DcbxPacket, CeeFramesOfLldpad) {
  const std::string to_us = "0180c200000e 020000000b01 88cc 020704020000000b01 040703020000000b01 06020078 ";
  // Its first word; after it has heard of us, with the iSCSI that we have not got in error; willing.
  for (const char* const tlv :
       {"fe37001b2102 020a00000000000000000000 04110000800001f3ffff1414003c0000000008 "
        "0606000080001008 080a000080000cbc011b2110 0000",
        "fe37001b2102 020a00000000000100000001 04110000800001f3ffff1414003c0000000008 "
        "0606000080001008 080a0000a0000cbc011b2110 0000",
        "fe37001b2102 020a00000000000100000002 04110000c0000fffffff640000000000000008 "
        "06060000c0002008 080a0000c0000cbc011b2140 0000"}) {
    const auto bytes = from_hex(to_us + tlv);
    EXPECT_EQ(test::fault_of_frame(bytes), "") << tlv;
    const auto decoded = lldp::decode(bytes);
    ASSERT_TRUE(decoded);
    const auto cee = decode(decoded->packet.org).cee;
    ASSERT_TRUE(cee && cee->groups && cee->pfc && cee->apps) << tlv;
    ASSERT_EQ(cee->apps->entries.size(), 1U) << tlv;
    EXPECT_EQ(cee->apps->entries[0].protocol, 3260) << "iSCSI";
  }
}

struct Wrong {
  OrgTlv tlv;
  const char* fault;
};

TEST(DcbxPacket, WhatIsWrongIsLeftOutAndNamed) {
  for (const Wrong& wrong : std::initializer_list<Wrong>{
           {ieee(kIeeeEts, ""), "ETS configuration: wrong length"},
           {ieee(kIeeeEts, "00 00122347 0a14460000000000 02020200 0001ff"),
            "ETS configuration: wrong length"},
           {ieee(kIeeeEts, "00 00122347 0a14460000000000 02020200 0001ff0000"),
            "ETS configuration: wrong length"},
           {ieee(kIeeeEts, "00 00122348 0a14460000000000 02020200 0001ff00"),
            "ETS configuration: a priority has a TC above 7"},
           {ieee(kIeeeEts, "00 00122347 0a14450000000000 02020200 0001ff00"),
            "ETS configuration: the shares add to 99; allowed: 100"},
           {ieee(kIeeeRecommendation, "00 00122347 0a14450000000000 02020200 0001ff00"),
            "ETS recommendation: the shares add to 99; allowed: 100"},
           {ieee(kIeeePfc, "80"), "PFC: wrong length"},
           {ieee(kIeeePfc, "800000"), "PFC: wrong length"},
           {ieee(kIeeePfc, "8908"), "PFC: PFC on more than 8 priorities"},
           {ieee(kIeeeApp, ""), "application priority: wrong length"},
           {ieee(kIeeeApp, "00 63 12"), "application priority: wrong length"},
           {cee(""), "CEE: has no control TLV"},
           {cee("0606 00 00 c0 00 08 08"), "CEE: has no control TLV"},
           {cee("020a 00 00 00000001 00000000 0606 00 00 c0"), "CEE: a TLV reaches beyond the end"},
           {cee("020a 00 00 00000001 00000000 0605 00 00 c0 00 08"), "CEE PFC: wrong length"},
           {cee("020a 00 00 00000001 00000000 0411 00 00 80 00 0011f8ff 1e460000 00000000 08"),
            "CEE priority groups: a priority is in a group that there isn't; allowed: 0 to 7 and 15"},
           {cee("020a 00 00 00000001 00000000 0411 00 00 80 00 0011f2ff 1e450000 00000000 08"),
            "CEE priority groups: the shares add to 99; allowed: 100"},
           {cee("020a 00 00 00000001 00000000 0805 00 00 a0 00 89"), "CEE application: wrong length"},
           {cee("020a 00 00 00000001 00000000 020a 00 00 00000001 00000000"),
            "CEE control: is there more than once"},
       }) {
    const Said said = read(wrong.tlv);
    ASSERT_EQ(said.faults.size(), 1U) << wrong.fault;
    EXPECT_EQ(said.faults.front(), wrong.fault);
    EXPECT_FALSE(said.ieee) << wrong.fault;
    EXPECT_FALSE(said.none());
  }
}

TEST(DcbxPacket, TheFirstOfTwoCounts) {
  const Said said = decode(std::array{ieee(kIeeePfc, "0808"), ieee(kIeeePfc, "0810")});
  ASSERT_TRUE(said.ieee);
  EXPECT_EQ(said.ieee->pfc->enabled, 8);
  EXPECT_EQ(said.faults, std::vector<std::string>{"PFC: is there more than once"});
}

TEST(DcbxPacket, WhatHasNoRoomIsLeftOut) {
  Ieee out;
  out.apps.emplace(200, App{.priority = 1, .selector = 1, .protocol = 7});
  Cee old;
  old.groups = CeeGroups{};
  old.pfc = CeePfc{};
  old.apps = CeeApps{.entries = std::vector<CeeApp>(200, {.protocol = 7, .priorities = 2})};
  std::vector<OrgTlv> tlvs = encode(out);
  tlvs.push_back(encode(old));
  for (const OrgTlv& tlv : tlvs) EXPECT_LE(tlv.value.size(), 507U);
  const Said said = decode(tlvs);
  EXPECT_TRUE(said.faults.empty());
  EXPECT_EQ(said.ieee->apps->size(), 168U);
  EXPECT_EQ(said.cee->apps->entries.size(), 77U);
}

RC_GTEST_PROP(DcbxPacket, WhatIsWrittenIsReadTheSame,
              (std::vector<std::uint32_t> numbers, std::uint8_t bits)) {
  Ieee out;
  out.pfc = Pfc{.willing = (bits & 1U) != 0,
                .mbc = (bits & 2U) != 0,
                .cap = static_cast<std::uint8_t>(bits & 7U),
                .enabled = bits};
  out.apps.emplace();
  Cee old{.control = {.sequence = bits, .ack = ~std::uint32_t{bits}}};
  old.apps = CeeApps{.feature = {.enable = (bits & 4U) != 0}};
  if (numbers.size() > kMaxCeeApps) numbers.resize(kMaxCeeApps);
  for (const std::uint32_t n : numbers) {
    out.apps->push_back({.priority = static_cast<std::uint8_t>(n & 7U),
                         .selector = static_cast<std::uint8_t>(n >> 3U & 7U),
                         .protocol = static_cast<std::uint16_t>(n >> 8U)});
    old.apps->entries.push_back({.protocol = static_cast<std::uint16_t>(n),
                                 .selector = static_cast<std::uint8_t>(n >> 16U & 3U),
                                 .priorities = static_cast<std::uint8_t>(n >> 24U)});
  }
  std::vector<OrgTlv> tlvs = encode(out);
  tlvs.push_back(encode(old));
  const Said said = decode(tlvs);
  RC_ASSERT(said.faults.empty());
  RC_ASSERT(said.ieee == out);
  RC_ASSERT(said.cee == old);
}

}  // namespace
}  // namespace lossless::dcbx
