// SPDX-License-Identifier: Apache-2.0
// LLDP frames (802.1AB): vectors, malformed ones, and what is written against what is read.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "daemon/lldp/packet.h"
#include "tests/unit/hex.h"

namespace {

using namespace lossless;
using namespace lossless::lldp;
using test::from_hex;

const std::string kHead = "0180c200000e 020000000001 88cc";
const std::string kMandatory = "0207 04 020000000001 0405 05 65746830 0602 0078";
const std::string kEnd = "0000";

// Exactly as long as it is: a sanitizer sees a byte read too much.
std::expected<Decoded, Fault> decode_hex(const std::string& hex) {
  Bytes exact = from_hex(hex);
  exact.shrink_to_fit();
  return decode(exact);
}

Fault fault_of(const std::string& hex) {
  const auto read = decode_hex(hex);
  EXPECT_FALSE(read) << hex;
  return read ? Fault::Ethernet : read.error();
}

TEST(LldpPacket, AllTlvs) {
  const auto read = decode_hex(kHead + kMandatory +
                               "0804 75706c6b"                       // port description
                               "0a03 737731"                         // system name
                               "0c03 4c2d31"                         // system description
                               "0e04 0014 0004"                      // capabilities
                               "100c 05 01 0a000001 02 00000007 00"  // management
                               "101b 11 02 fd000000000000000000000000000001 03 00000001 03 2b0601"
                               "fe06 0080c2 0b aabb" +
                               kEnd);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->tlvs_discarded, 0U);
  const Packet& p = read->packet;
  EXPECT_EQ(chassis_text(p.chassis), "02:00:00:00:00:01");
  EXPECT_EQ(port_text(p.port), "eth0");
  EXPECT_EQ(p.ttl_s, 120);
  EXPECT_EQ(p.port_description, "uplk");
  EXPECT_EQ(p.system_name, "sw1");
  EXPECT_EQ(p.system_description, "L-1");
  ASSERT_TRUE(p.capabilities);
  EXPECT_EQ(capabilities_text(p.capabilities->supported), "bridge,router");
  EXPECT_EQ(capabilities_text(p.capabilities->enabled), "bridge");
  ASSERT_EQ(p.management.size(), 2U);
  EXPECT_EQ(management_text(p.management[0]), "10.0.0.1");
  EXPECT_EQ(p.management[0].interface_number, 7U);
  EXPECT_EQ(management_text(p.management[1]), "fd00::1");
  EXPECT_EQ(p.management[1].oid, from_hex("2b0601"));
  ASSERT_EQ(p.org.size(), 1U);
  EXPECT_EQ(p.org[0].oui, 0x0080c2U);
  EXPECT_EQ(p.org[0].subtype, 11);
  EXPECT_EQ(p.org[0].value, from_hex("aabb"));
  EXPECT_EQ(encode(p, read->source), from_hex(kHead + kMandatory +
                                              "0804 75706c6b 0a03 737731 0c03 4c2d31 0e04 0014 0004"
                                              "100c 05 01 0a000001 02 00000007 00"
                                              "101b 11 02 fd000000000000000000000000000001 03 00000001 03 "
                                              "2b0601 fe06 0080c2 0b aabb" +
                                              kEnd));
}

TEST(LldpPacket, EndMayBeMissingAndPaddingIsNotRead) {
  EXPECT_TRUE(decode_hex(kHead + kMandatory));
  EXPECT_TRUE(decode_hex(kHead + kMandatory + kEnd + "ffffffffffff"));
}

TEST(LldpPacket, FaultyFramesByKind) {
  EXPECT_EQ(fault_of(""), Fault::Ethernet);
  EXPECT_EQ(fault_of("0180c200000e 020000000001 0800" + kMandatory), Fault::Ethernet);
  EXPECT_EQ(fault_of("0180c2000001 020000000001 88cc" + kMandatory), Fault::Ethernet);
  EXPECT_EQ(fault_of(kHead), Fault::Truncated);
  EXPECT_EQ(fault_of(kHead + kEnd), Fault::Mandatory);
  EXPECT_EQ(fault_of(kHead + "0405 05 65746830 0207 04 020000000001 0602 0078"), Fault::Mandatory);
  EXPECT_EQ(fault_of(kHead + "0207 04 020000000001 0602 0078"), Fault::Mandatory);
  EXPECT_EQ(fault_of(kHead + "0207 04 020000000001 0405 05 65746830" + kEnd), Fault::Mandatory);
  EXPECT_EQ(fault_of(kHead + "0201 04 0405 05 65746830 0602 0078"), Fault::ChassisId);
  EXPECT_EQ(fault_of(kHead + "0200 0405 05 65746830 0602 0078"), Fault::ChassisId);
  EXPECT_EQ(fault_of(kHead + "0207 04 020000000001 0401 05 0602 0078"), Fault::PortId);
  EXPECT_EQ(fault_of(kHead + "0207 04 020000000001 0405 05 65746830 0601 78"), Fault::Ttl);
  EXPECT_EQ(fault_of(kHead + kMandatory + "0602 0078" + kEnd), Fault::Mandatory);  // again
  EXPECT_EQ(fault_of(kHead + kMandatory + "0a05 7377"), Fault::Truncated);
  EXPECT_EQ(fault_of(kHead + kMandatory + "0bff 7377"), Fault::Truncated);  // 511 beyond the frame
  EXPECT_EQ(fault_of(kHead + kMandatory + "0a"), Fault::Truncated);
}

TEST(LldpPacket, CutShortAtEveryByteOfTheMandatoryOnes) {
  const Bytes whole = from_hex(kHead + kMandatory);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    cut.shrink_to_fit();
    EXPECT_FALSE(decode(cut)) << length;
  }
}

// The TLV goes, the frame stays.
TEST(LldpPacket, WrongContentIsLeftOutAndCounted) {
  const std::vector<std::string> tlvs{
      "0e03 001400",                         // capabilities of 3 bytes
      "0e05 0014001400",                     // of 5
      "1000",                                // management of 0
      "1009 01 01 02 00000007 00 00",        // no address
      "1005 05 01 0a0000",                   // cut
      "100c 20 01 0a000001 02 00000007 00",  // address beyond the TLV
      "100c 05 01 0a000001 02 00000007 80",  // OID beyond it
      "fe00",
      "fe03 0080c2",  // no subtype
  };
  for (const std::string& tlv : tlvs) {
    const auto read =
        decode_hex(std::string(kHead).append(kMandatory).append(tlv).append("0a03 737731").append(kEnd));
    ASSERT_TRUE(read) << tlv;
    EXPECT_EQ(read->tlvs_discarded, 1U) << tlv;
    EXPECT_EQ(read->packet.system_name, "sw1") << tlv;
    EXPECT_FALSE(read->packet.capabilities) << tlv;
    EXPECT_TRUE(read->packet.management.empty()) << tlv;
    EXPECT_TRUE(read->packet.org.empty()) << tlv;
  }
}

TEST(LldpPacket, DuplicatesEmptyAndReservedOnes) {
  const auto read =
      decode_hex(kHead + kMandatory + "0a03 737731 0a03 737732 0800 1202 0000 fe04 00000000" + kEnd);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tlvs_discarded, 1U);
  EXPECT_EQ(read->tlvs_unrecognised, 1U);      // type 9
  EXPECT_EQ(read->packet.system_name, "sw1");  // the first counts
  EXPECT_EQ(read->packet.port_description, "");
  EXPECT_EQ(read->packet.org.size(), 1U);
}

TEST(LldpPacket, LongestTlvs) {
  const std::string text(2 * 256, '6');
  const auto too_long = decode_hex(kHead + kMandatory + "0b00" + text + kEnd);  // a name of 256
  ASSERT_TRUE(too_long);
  EXPECT_EQ(too_long->tlvs_discarded, 1U);
  const auto longest = decode_hex(kHead + kMandatory + "ffff 001882 65" + std::string(2 * 507, '0') + kEnd);
  ASSERT_TRUE(longest);
  ASSERT_EQ(longest->packet.org.size(), 1U);
  EXPECT_EQ(longest->packet.org[0].value.size(), 507U);
}

TEST(LldpPacket, WhatDoesNotFitIsLeftOut) {
  Packet packet{.chassis = chassis_of({2}), .port = port_of("eth0"), .ttl_s = 1};
  packet.system_description = std::string(1000, 'x');
  for (int i = 0; i < 5; ++i) packet.org.push_back({.oui = 1, .subtype = 1, .value = Bytes(507)});
  const Bytes frame = encode(packet, {2});
  EXPECT_LE(frame.size(), kMaxFrame);
  const auto read = decode(frame);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->packet.org.size(), 2U);
  EXPECT_EQ(read->packet.system_description->size(), kMaxText);
}

TEST(LldpPacket, ShutdownHasTheMandatoryOnesOnly) {
  Packet packet{.chassis = chassis_of({2, 0, 0, 0, 0, 1}), .port = port_of("eth0"), .ttl_s = 120};
  packet.system_name = "sw1";
  EXPECT_EQ(encode_shutdown(packet, {2, 0, 0, 0, 0, 1}),
            from_hex(kHead + "0207 04 020000000001 0405 05 65746830 0602 0000" + kEnd));
}

TEST(LldpPacket, TextOfIds) {
  EXPECT_EQ(chassis_text({.subtype = 5, .value = from_hex("01 0a000001")}), "10.0.0.1");
  EXPECT_EQ(chassis_text({.subtype = 5, .value = from_hex("01 0a0000")}), "0x0a0000");
  EXPECT_EQ(chassis_text({.subtype = 4, .value = from_hex("0a00")}), "0x0a00");
  EXPECT_EQ(chassis_text({.subtype = 7, .value = from_hex("410a1b42")}), "A??B");
  EXPECT_EQ(chassis_text({.subtype = 99, .value = from_hex("41")}), "0x41");
  EXPECT_EQ(port_text({.subtype = 3, .value = from_hex("020000000001")}), "02:00:00:00:00:01");
  EXPECT_EQ(port_subtype_text(5), "interface");
  EXPECT_EQ(chassis_subtype_text(200), "reserved");
}

RC_GTEST_PROP(LldpPacket, WhatIsWrittenIsRead, (const std::string& name, std::uint16_t ttl)) {
  Packet packet{.chassis = chassis_of({2, 3}), .port = port_of("eth0"), .ttl_s = ttl};
  packet.system_name = name;
  packet.capabilities = Capabilities{.supported = ttl, .enabled = 1};
  packet.org = {{.oui = 0x123456, .subtype = 7, .value = *rc::gen::arbitrary<Bytes>()}};
  const auto read = decode(encode(packet, {2}));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->packet == packet);
}

RC_GTEST_PROP(LldpPacket, AnyBytesAreSafe, (const Bytes& bytes)) {
  Bytes frame = from_hex(kHead + kMandatory);
  frame.insert(frame.end(), bytes.begin(), bytes.end());
  if (const auto read = decode(frame)) RC_ASSERT(decode(encode(read->packet, read->source)).has_value());
}

}  // namespace
