// SPDX-License-Identifier: Apache-2.0
#include "bpf/stages/roce.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "bpf/stages/icrc.h"
#include "tests/unit/roce_vectors.h"
#include "veth-topo/endpoint/codec.h"

namespace lossless::endpoint {
namespace {

using Frame = std::vector<std::uint8_t>;

ll_roce_kind parse(const Frame& f, ll_roce& r) {
  return ll_roce_parse(f.data(), f.data() + f.size(), static_cast<__u32>(f.size()), &r);
}

TEST(Roce, ParsesVectors) {
  for (const RoceVector& v : roce_vectors()) {
    ll_roce r;
    ASSERT_EQ(parse(v.frame, r), LL_ROCE_OK) << v.name;
    EXPECT_EQ(r.opcode, v.opcode) << v.name;
    EXPECT_EQ(r.dest_qp, v.qp) << v.name;
    EXPECT_EQ(r.psn, v.psn) << v.name;
    EXPECT_EQ(r.payload_len, v.payload) << v.name;
    EXPECT_EQ(r.icrc_at + 4u, v.frame.size()) << v.name;
  }
}

TEST(Roce, ReadsTagAndEcn) {
  ll_roce r;
  ASSERT_EQ(parse(roce_vector("send_only_tagged_v4").frame, r), LL_ROCE_OK);
  EXPECT_EQ(r.pcp, 3);
  EXPECT_EQ(r.tos, 106);
}

// A frame that ends early, both as one whose end is not readable and as one that is short.
TEST(Roce, TruncatedAtEachByteIsNeverOk) {
  for (const RoceVector& v : roce_vectors()) {
    for (std::size_t n = 0; n < v.frame.size(); n++) {
      const Frame cut(v.frame.begin(), v.frame.begin() + static_cast<std::ptrdiff_t>(n));
      ll_roce r;
      const auto kind = parse(cut, r);
      EXPECT_NE(kind, LL_ROCE_OK) << v.name << " at " << n;
      EXPECT_NE(kind, LL_ROCE_OTHER) << v.name << " at " << n;
    }
  }
}

TEST(Roce, HeadersMayBeAllThatIsReadable) {
  const auto& f = roce_vector("write_first_v4").frame;
  ll_roce r;
  const auto len = static_cast<__u32>(f.size());
  EXPECT_EQ(ll_roce_parse(f.data(), f.data() + 54, len, &r), LL_ROCE_OK);
  EXPECT_EQ(ll_roce_parse(f.data(), f.data() + 53, len, &r), LL_ROCE_BTH_SHORT);
  EXPECT_EQ(ll_roce_parse(f.data(), f.data() + 41, len, &r), LL_ROCE_UDP_SHORT);
  EXPECT_EQ(ll_roce_parse(f.data(), f.data() + 33, len, &r), LL_ROCE_IP_SHORT);
  EXPECT_EQ(ll_roce_parse(f.data(), f.data() + 13, len, &r), LL_ROCE_L2_SHORT);
}

void fix_checksum(Frame& f) {
  ll_put16(&f[24], 0);
  ll_put16(&f[24], ~ll_ip4_sum(&f[14]) & 0xffffu);
}

struct BadCase {
  const char* what;
  void (*change)(Frame&);
  ll_roce_kind kind;
};

TEST(Roce, ClassifiesBadInput) {
  const BadCase cases[] = {
      {"another EtherType", [](Frame& f) { f[13] = 6; }, LL_ROCE_OTHER},
      {"TCP", [](Frame& f) { f[23] = 6; }, LL_ROCE_OTHER},
      {"another port", [](Frame& f) { f[37]++; }, LL_ROCE_OTHER},
      {"IP version 5", [](Frame& f) { f[14] = 0x55; }, LL_ROCE_IP_VERSION},
      {"IPv6 behind the EtherType of IPv4", [](Frame& f) { f[14] = 0x65; }, LL_ROCE_IP_VERSION},
      {"IP options", [](Frame& f) { f[14] = 0x46; }, LL_ROCE_IP_OPTIONS},
      {"header length 0", [](Frame& f) { f[14] = 0x40; }, LL_ROCE_IP_OPTIONS},
      {"more fragments", [](Frame& f) { f[20] = 0x20; }, LL_ROCE_IP_FRAGMENT},
      {"fragment offset", [](Frame& f) { f[21] = 1; }, LL_ROCE_IP_FRAGMENT},
      {"longer than the frame", [](Frame& f) { f[16] = 0x7f; }, LL_ROCE_IP_LENGTH},
      {"shorter than its header", [](Frame& f) { f[16] = 0, f[17] = 19; }, LL_ROCE_IP_LENGTH},
      {"wrong checksum", [](Frame& f) { f[22]++; }, LL_ROCE_IP_CHECKSUM},
      {"no room for UDP", [](Frame& f) { f[16] = 0, f[17] = 27, fix_checksum(f); }, LL_ROCE_UDP_SHORT},
      {"UDP longer than IP", [](Frame& f) { f[39]++; }, LL_ROCE_UDP_LENGTH},
      {"UDP shorter than IP", [](Frame& f) { f[39]--; }, LL_ROCE_UDP_LENGTH},
      {"no room for the ICRC",
       [](Frame& f) { f[16] = 0, f[17] = 43, f[38] = 0, f[39] = 23, fix_checksum(f); }, LL_ROCE_BTH_SHORT},
      {"TVer 1", [](Frame& f) { f[43] |= 1; }, LL_ROCE_BTH_VERSION},
      {"unknown opcode", [](Frame& f) { f[42] = 0xe0; }, LL_ROCE_OPCODE},
      {"no room for the RETH",
       [](Frame& f) { f[16] = 0, f[17] = 59, f[38] = 0, f[39] = 39, fix_checksum(f); }, LL_ROCE_EXT_SHORT},
      {"odd length", [](Frame& f) { f[16] = 0, f[17] = 61, f[38] = 0, f[39] = 41, fix_checksum(f); },
       LL_ROCE_PAD},
      {"pad without payload",
       [](Frame& f) { f[16] = 0, f[17] = 60, f[38] = 0, f[39] = 40, f[43] |= 0x10, fix_checksum(f); },
       LL_ROCE_PAD},
  };
  for (const BadCase& c : cases) {
    Frame f = roce_vector("write_first_v4").frame;
    c.change(f);
    ll_roce r;
    EXPECT_STREQ(kind_name(parse(f, r)), kind_name(c.kind)) << c.what;
  }
}

int is_other(const Frame& f) {
  ll_headers h;
  ll_parse(f.data(), f.data() + f.size(), &h);
  return ll_roce_is_other(f.data(), f.data() + f.size(), &h);
}

// What is passed by without parsing is nothing that the parser would have made anything of.
TEST(Roce, WhatIsPassedByIsOfNoInterest) {
  unsigned passed = 0;
  for (const RoceVector& v : roce_vectors()) {
    EXPECT_FALSE(is_other(v.frame)) << v.name;
    for (std::size_t at = 0; at < 8U * v.frame.size(); at++) {
      Frame f = v.frame;
      f[at / 8] ^= static_cast<std::uint8_t>(1U << at % 8);
      if (!is_other(f)) continue;
      passed++;
      ll_roce r;
      const auto kind = parse(f, r);
      // A port is read where its checksum is wrong, too.
      EXPECT_TRUE(kind == LL_ROCE_OTHER || kind == LL_ROCE_IP_CHECKSUM)
          << v.name << " bit " << at << ": " << kind;
    }
  }
  EXPECT_GT(passed, 16U) << "each bit of a destination port";
}

TEST(Roce, ChecksIcrc) {
  Frame f = roce_vector("write_first_v4").frame;
  ll_roce r;
  EXPECT_EQ(parse_frame(f, r), LL_ROCE_OK);
  f[100] ^= 1;
  EXPECT_EQ(parse_frame(f, r), LL_ROCE_ICRC);
}

TEST(Roce, AnyBytesAreParsedWithinBounds) {
  rc::check("random changes of a frame keep all offsets inside of it", [] {
    Frame f = roce_vectors()[*rc::gen::inRange<std::size_t>(0, 10)].frame;
    const auto changes = *rc::gen::inRange(1, 8);
    for (int i = 0; i < changes; i++)
      f[*rc::gen::inRange<std::size_t>(0, f.size())] = *rc::gen::arbitrary<std::uint8_t>();
    f.resize(*rc::gen::inRange<std::size_t>(0, f.size() + 1));
    ll_roce r;
    if (parse(f, r) != LL_ROCE_OK) return;
    RC_ASSERT(r.icrc_at + 4u <= f.size());
    RC_ASSERT(r.payload_at + r.payload_len <= r.icrc_at);
  });
}

TEST(Roce, CnpIsTheOneOfTheNic) {
  const auto& golden = roce_vector("golden_cnp").frame;
  Frame built(LL_CNP4_LEN);
  const std::uint8_t src[4] = {10, 0, 17, 1};
  const std::uint8_t dst[4] = {10, 0, 18, 1};
  ll_put_cnp4(built.data(), src, dst, 0xc2, 0x718c, 0, 0x118);
  ll_icrc_put(&built[LL_CNP4_LEN - 4], ll_icrc_small4(built.data(), 16));
  EXPECT_EQ(built, Frame(golden.begin() + 14, golden.end()));
}

TEST(Roce, CnpOverIpv6Verifies) {
  Address a;
  a.v6 = true;
  a.ip = {0x20, 1, 0xd, 0xb8};
  Address b = a;
  b.ip[15] = 9;
  FrameHead head;
  head.src = &a;
  head.dst = &b;
  head.tos = 48 << 2;
  head.dest_qp = 0xabcdef;
  Frame out(200);
  out.resize(build_cnp(out, head));
  ll_roce r;
  ASSERT_EQ(parse_frame(out, r), LL_ROCE_OK);
  EXPECT_EQ(r.opcode, LL_OP_CNP);
  EXPECT_EQ(r.congestion, 0x40);
  EXPECT_EQ(r.dest_qp, 0xabcdefu);
  EXPECT_EQ(r.tos, 48 << 2);
}

TEST(Roce, SourcePortIsSymmetricAndHigh) {
  rc::check("any pair of QPNs", [](std::uint32_t a, std::uint32_t b) {
    a &= 0xffffff;
    b &= 0xffffff;
    RC_ASSERT(ll_roce_sport(a, b) == ll_roce_sport(b, a));
    RC_ASSERT(ll_roce_sport(a, b) >= 0xc000);
  });
  EXPECT_EQ(ll_roce_sport(1, 1), 0xc001);
  const std::uint32_t label = 0x24642;  // 0x111 * 0x222, below 2^20: the product is the label
  EXPECT_EQ(ll_roce_sport(0x111, 0x222), ((label & 0x3fff) ^ (label >> 14)) | 0xc000);
}

TEST(Roce, CmMessagesAtTheOffsetsOthersReadThem) {
  ll_cm req{};
  req.attribute = LL_CM_REQ;
  req.local_id = 7;
  req.qpn = 0x123456;
  req.psn = 0xabcdef;
  req.service = 42;
  std::array<std::uint8_t, LL_MAD_LEN> mad{};
  const Address a;
  encode_cm(mad, req, 1024, a, a);
  // Offsets in the UDP payload; the MAD starts after BTH and DETH.
  const std::uint8_t* udp = mad.data() - 20;
  EXPECT_EQ(ll_get16(udp + 36), 0x0010u);
  EXPECT_EQ(ll_get24(udp + 76), 0x123456u);
  ll_cm read;
  ASSERT_EQ(ll_cm_parse(mad.data(), mad.data() + mad.size(), &read), 1);
  EXPECT_EQ(read.qpn, req.qpn);
  EXPECT_EQ(read.psn, req.psn);
  EXPECT_EQ(read.service, 42u);

  ll_cm rep{};
  rep.attribute = LL_CM_REP;
  rep.local_id = 8;
  rep.remote_id = 7;
  rep.qpn = 0x654321;
  encode_cm(mad, rep, 1024, a, a);
  EXPECT_EQ(ll_get16(udp + 36), 0x0013u);
  EXPECT_EQ(ll_get24(udp + 56), 0x654321u);
  ASSERT_EQ(ll_cm_parse(mad.data(), mad.data() + mad.size(), &read), 1);
  EXPECT_EQ(read.remote_id, 7u);
  EXPECT_EQ(read.qpn, 0x654321u);
}

TEST(Roce, CmTooShortOrOfAnotherClassIsNone) {
  std::array<std::uint8_t, LL_MAD_LEN> mad{};
  ll_cm cm{};
  cm.attribute = LL_CM_REQ;
  encode_cm(mad, cm, 1024, {}, {});
  ll_cm read;
  for (std::size_t n = 0; n < 72; n++) EXPECT_EQ(ll_cm_parse(mad.data(), mad.data() + n, &read), 0);
  mad[1] = 3;
  EXPECT_EQ(ll_cm_parse(mad.data(), mad.data() + mad.size(), &read), 0);
}

}  // namespace
}  // namespace lossless::endpoint
