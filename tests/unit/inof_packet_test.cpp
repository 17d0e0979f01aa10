// SPDX-License-Identifier: Apache-2.0
// iNOF TLV and status frames against frames of a host program in use, and against themselves.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "daemon/inof/packet.h"
#include "tests/unit/hex.h"

namespace {

using namespace lossless;
using namespace lossless::inof;
using test::from_hex;

// As a host of the ODCC dialect sent it.
const Bytes kHostFrame = from_hex(
    "0180c200000e 020000aa0002 88cc"
    "0207 04 020000aa0002"
    "0410 05 736e73645f736e302e3130305f3031"
    "0602 0078"
    "fe1f 001882 65 01 81 0000 0a4d0002 000000000000000000000000 02 01 0101 0000 00"
    "0000");
const Bytes kQuery = from_hex(
    "0180c200000d 020000aa0002 88a7 01 00 000a 00000000 23 0007 02 0004 0a4d0002"
    "000000000000000000000000");
const Bytes kAck = from_hex(
    "0180c200000d 020000aa0002 88a7 01 00 0018 00000000 22 0015 010004 0a4d0009 020004 0a4d0002"
    "050004 00000001");
const Bytes kTwoAcks = from_hex(
    "0180c200000d 020000aa0002 88a7 01 00 0030 00000000"
    "22 0015 010004 0a4d0009 020004 0a4d0002 050004 00000007"
    "22 0015 010004 0a4d000a 020004 0a4d0002 050004 00000008");
// As such a host accepts and ACKs it.
const Bytes kNotify = from_hex(
    "0180c200000d 020000bb0001 88a7 01 00 0030 00000000 21 002d 010004 0a4d0009 020004 0a4d0002"
    "050004 00000001 060004 00000001 070004 00000000 080007 01010000114400");
// SubTLVs in another order: accepted too.
const Bytes kNotifyReversed = from_hex(
    "0180c200000d 020000bb0001 88a7 01 00 0035 00000000 21 0032 080007 01010000000000 090002 7878"
    "070004 00000000 060004 00000001 050004 00000011 020004 0a4d0002 010004 0a4d0009");

const Mac kHostMac{0x02, 0, 0, 0xaa, 0, 0x02};
const Mac kSwitchMac{0x02, 0, 0, 0xbb, 0, 0x01};
const IpAddress kHost = *parse_ip("10.77.0.2");
const IpAddress kSubject = *parse_ip("10.77.0.9");

HostTlv recorded_host() {
  return {.dialect = Dialect::Odcc,
          .address = kHost,
          .subscribes = true,
          .service = Service{.role = Role::Client, .protocol = Protocol::Roce, .id = ""}};
}

Notify recorded_notify() {
  return {.subject = kSubject,
          .notified = kHost,
          .sequence = 1,
          .state = State::Online,
          .reason = Reason::Normal,
          .attached = from_hex("01010000114400")};
}

// Exactly as long as it is: a sanitizer sees a byte read too much.
std::expected<StatusFrame, FrameFault> decode_exact(const Bytes& frame) {
  Bytes exact(frame);
  exact.shrink_to_fit();
  return decode_frame(exact);
}

TEST(InofPacket, RecordedHostIsRead) {
  const auto lldp = lldp::decode(kHostFrame);
  ASSERT_TRUE(lldp);
  EXPECT_EQ(lldp->source, kHostMac);
  EXPECT_EQ(lldp->packet.ttl_s, 120);
  EXPECT_EQ(lldp::port_text(lldp->packet.port), "snsd_sn0.100_01");
  EXPECT_TRUE(has_prefix(lldp->packet.port, Dialect::Odcc));
  EXPECT_FALSE(has_prefix(lldp->packet.port, Dialect::ChinaMobile));
  ASSERT_EQ(lldp->packet.org.size(), 1U);
  ASSERT_EQ(dialect_of(lldp->packet.org[0]), Dialect::Odcc);
  const auto host = decode_host(lldp->packet.org[0]);
  ASSERT_TRUE(host);
  EXPECT_EQ(*host, recorded_host());
}

TEST(InofPacket, OurHostFrameIsTheRecordedOne) {
  const lldp::Packet packet{.chassis = lldp::chassis_of(kHostMac),
                            .port = host_port_id(Dialect::Odcc, "sn0.100", 1),
                            .ttl_s = kHostTtl,
                            .org = {encode_host(recorded_host())}};
  EXPECT_EQ(lldp::encode(packet, kHostMac), kHostFrame);
}

TEST(InofPacket, RecordedStatusFramesBothWays) {
  const std::array<Message, 1> query{QueryZone{kHost}};
  const std::array<Message, 1> ack{Ack{kSubject, kHost, 1}};
  const std::array<Message, 2> acks{Ack{kSubject, kHost, 7}, Ack{*parse_ip("10.77.0.10"), kHost, 8}};
  const std::array<Message, 1> notify{recorded_notify()};
  EXPECT_EQ(encode_frame(Dialect::Odcc, kHostMac, query), kQuery);
  EXPECT_EQ(encode_frame(Dialect::Odcc, kHostMac, ack), kAck);
  EXPECT_EQ(encode_frame(Dialect::Odcc, kHostMac, acks), kTwoAcks);
  EXPECT_EQ(encode_frame(Dialect::Odcc, kSwitchMac, notify), kNotify);

  const auto same = [](const Bytes& frame, std::span<const Message> messages, const Mac& source) {
    const auto read = decode_exact(frame);
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->dialect, Dialect::Odcc);
    EXPECT_EQ(read->source, source);
    EXPECT_EQ(read->unknown_tlvs, 0U);
    EXPECT_TRUE(std::ranges::equal(read->messages, messages));
  };
  same(kQuery, query, kHostMac);
  same(kAck, ack, kHostMac);
  same(kTwoAcks, acks, kHostMac);
  same(kNotify, notify, kSwitchMac);
}

TEST(InofPacket, OrderOfSubTlvsAndUnknownOnesAndPaddingDontMatter) {
  Bytes padded = kNotifyReversed;
  padded.resize(200);
  for (const Bytes& frame : {kNotifyReversed, padded}) {
    const auto read = decode_exact(frame);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->messages.size(), 1U);
    const auto& notify = std::get<Notify>(read->messages[0]);
    EXPECT_EQ(notify.sequence, 17U);
    EXPECT_EQ(notify.subject, kSubject);
    EXPECT_EQ(notify.attached.size(), 7U);
  }
}

TEST(InofPacket, DialectsDifferInNumbersOnly) {
  const std::array<Message, 1> notify{recorded_notify()};
  Bytes frame = encode_frame(Dialect::ChinaMobile, kSwitchMac, notify);
  EXPECT_EQ(frame[12], 0x77);
  EXPECT_EQ(frame[13], 0x77);
  EXPECT_EQ(frame[22], 1);
  const auto read = decode_exact(frame);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->dialect, Dialect::ChinaMobile);
  EXPECT_TRUE(std::ranges::equal(read->messages, notify));

  // A type of the other dialect is none of ours.
  frame[22] = 33;
  const auto mixed = decode_exact(frame);
  ASSERT_TRUE(mixed);
  EXPECT_TRUE(mixed->messages.empty());
  EXPECT_EQ(mixed->unknown_tlvs, 1U);

  const auto tlv = encode_host({.dialect = Dialect::ChinaMobile, .address = kHost});
  EXPECT_EQ(tlv.oui, 0x5c75c6U);
  EXPECT_EQ(tlv.subtype, 88);
  EXPECT_EQ(lldp::port_text(host_port_id(Dialect::ChinaMobile, "eth0", 12)), "roce-san_eth0_12");
  EXPECT_EQ(dialect_named("china-mobile"), Dialect::ChinaMobile);
  EXPECT_FALSE(dialect_named("cisco"));
}

FrameFault fault_of(Bytes frame, std::size_t at, std::uint8_t value) {
  frame.at(at) = value;
  const auto read = decode_exact(frame);
  EXPECT_FALSE(read) << at;
  return read ? FrameFault::Ethernet : read.error();
}

TEST(InofPacket, RefusedFramesByKind) {
  EXPECT_EQ(fault_of(kNotify, 0, 0x02), FrameFault::Destination);
  EXPECT_EQ(fault_of(kNotify, 12, 0x08), FrameFault::Ethernet);
  EXPECT_EQ(fault_of(kNotify, 14, 0), FrameFault::Version);
  EXPECT_EQ(fault_of(kNotify, 14, 2), FrameFault::Version);
  EXPECT_EQ(fault_of(kNotify, 17, 0), FrameFault::Length);     // no message
  EXPECT_EQ(fault_of(kNotify, 17, 0x38), FrameFault::Length);  // beyond the frame
  EXPECT_EQ(fault_of(kNotify, 17, 0x2f), FrameFault::Length);  // cuts the TLV
  EXPECT_EQ(fault_of(kNotify, 24, 0x2e), FrameFault::Length);  // TLV beyond the header's length
  EXPECT_EQ(fault_of(kNotify, 24, 0x2c), FrameFault::Length);  // cuts the last subTLV
  EXPECT_EQ(fault_of(kNotify, 25, 2), FrameFault::SubTlv);     // address of the notified host twice
  EXPECT_EQ(fault_of(kNotify, 25, 3), FrameFault::SubTlv);     // IPv6 of 4 bytes
  EXPECT_EQ(fault_of(kNotify, 25, 99), FrameFault::Incomplete);
  EXPECT_EQ(fault_of(kNotify, 46, 99), FrameFault::Incomplete);  // no state
}

TEST(InofPacket, CutShortAtEveryByte) {
  for (const Bytes& whole : {kQuery, kAck, kNotify}) {
    const std::size_t needed = 22U + whole[17];
    for (std::size_t length = 0; length < needed; ++length)
      EXPECT_FALSE(decode_exact(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))));
  }
}

TEST(InofPacket, TlvWithoutTailAndFaultyOnes) {
  lldp::OrgTlv tlv = encode_host({.address = kHost, .subscribes = false});
  EXPECT_EQ(tlv.value.size(), 20U);
  ASSERT_TRUE(decode_host(tlv));
  EXPECT_FALSE(decode_host(tlv)->service);
  EXPECT_EQ(attached_of(*decode_host(tlv)), Bytes(7));

  const auto fault = [](const lldp::OrgTlv& wrong) { return decode_host(wrong).error(); };
  auto wrong = tlv;
  wrong.value.pop_back();
  EXPECT_EQ(fault(wrong), TlvFault::Length);
  wrong = tlv;
  wrong.value.resize(26);  // a tail that is too short
  EXPECT_EQ(fault(wrong), TlvFault::Length);
  wrong = tlv;
  wrong.value.resize(27);
  wrong.value[26] = 1;  // an ID beyond the TLV
  EXPECT_EQ(fault(wrong), TlvFault::Length);
  wrong = tlv;
  wrong.value[0] = 2;
  EXPECT_EQ(fault(wrong), TlvFault::Version);
  wrong = tlv;
  wrong.value[1] = 3;
  EXPECT_EQ(fault(wrong), TlvFault::AddressType);
  wrong = tlv;
  std::fill(wrong.value.begin() + 4, wrong.value.end(), 0);
  EXPECT_EQ(fault(wrong), TlvFault::Address);
}

TEST(InofPacket, AttachedInformationIsTheTail) {
  const Service service{.role = Role::Server, .version = 0, .port = 4420, .id = "nqn.2024-01.org:a"};
  EXPECT_EQ(decode_service(encode_service(service)), service);
  EXPECT_EQ(decode_service(from_hex("01010000114400"))->port, 4420);
  EXPECT_FALSE(decode_service({}));
  EXPECT_EQ(attached_of({.address = kHost, .service = service}), encode_service(service));
}

TEST(InofPacket, NamesOfNumbers) {
  EXPECT_EQ(to_string(Reason::PfcDeadlock), "pfc-deadlock");
  // What a host may send and no standard names.
  // NOLINTBEGIN(clang-analyzer-optin.core.EnumCastOutOfRange)
  EXPECT_EQ(to_string(static_cast<Reason>(7)), "7");
  EXPECT_EQ(to_string(static_cast<State>(2)), "2");
  EXPECT_EQ(to_string(static_cast<Role>(0)), "0");
  // NOLINTEND(clang-analyzer-optin.core.EnumCastOutOfRange)
}

TEST(InofPacket, ManyMessagesFillFramesUpToTheLimit) {
  std::vector<Message> messages;
  for (std::uint32_t i = 0; i < 100; ++i) {
    Notify notify = recorded_notify();
    notify.sequence = i;
    messages.emplace_back(notify);
  }
  const auto frames = encode_frames(Dialect::Odcc, kSwitchMac, messages);
  EXPECT_EQ(frames.size(), 4U);  // 48 bytes each, 31 to a frame
  std::uint32_t next = 0;
  for (const Bytes& frame : frames) {
    EXPECT_LE(frame.size(), kMaxFrame);
    const auto read = decode_exact(frame);
    ASSERT_TRUE(read);
    for (const Message& message : read->messages) EXPECT_EQ(std::get<Notify>(message).sequence, next++);
  }
  EXPECT_EQ(next, 100U);
}

IpAddress any_address() {
  IpAddress out{.v6 = *rc::gen::arbitrary<bool>()};
  for (std::size_t i = 0; i < out.size(); ++i) out.bytes[i] = *rc::gen::arbitrary<std::uint8_t>();
  if (out.is_zero()) out.bytes[0] = 1;
  return out;
}

RC_GTEST_PROP(InofPacket, WhatIsWrittenIsRead, (std::uint32_t sequence, const Bytes& attached)) {
  const auto dialect = *rc::gen::elementOf(kDialects);
  const Notify notify{.subject = any_address(),
                      .notified = any_address(),
                      .sequence = sequence,
                      .state = State::Online,
                      .reason = Reason::Bfd,
                      .attached = attached};
  const std::array<Message, 3> messages{notify, Ack{any_address(), any_address(), sequence},
                                        QueryZone{any_address()}};
  const auto read = decode_exact(encode_frame(dialect, kHostMac, messages));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->dialect == dialect);
  RC_ASSERT(std::ranges::equal(read->messages, messages));

  HostTlv host{.dialect = dialect, .address = any_address(), .subscribes = true, .service = Service{}};
  host.service->id = *rc::gen::arbitrary<std::string>();
  RC_ASSERT(decode_host(encode_host(host)).value() == host);
}

RC_GTEST_PROP(InofPacket, AnyBytesAreSafe, (const Bytes& bytes)) {
  Bytes frame(kNotify.begin(), kNotify.begin() + 14);
  frame.insert(frame.end(), bytes.begin(), bytes.end());
  (void)decode_exact(frame);
  (void)decode_host({.oui = 0x1882, .subtype = 101, .value = bytes});
}

}  // namespace
