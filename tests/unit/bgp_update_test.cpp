// SPDX-License-Identifier: Apache-2.0
// UPDATE both ways, and what RFC 7606 section 7 wants of each malformed attribute.
#include "daemon/bgp/update.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "daemon/bgp/packet.h"
#include "tests/unit/hex.h"

namespace lossless::bgp {
namespace {

using test::from_hex;

UpdateContext context(bool external = false, bool four_octet = true) {
  UpdateContext out{.attributes = {.four_octet_as = four_octet, .external = external}};
  out.families.add(Family::Ipv4Unicast);
  out.families.add(Family::Inof);
  return out;
}

const std::string kOrigin = "40010100";
const std::string kPath = "400200";
const std::string kHop = "4003040a000001";
const std::string kPref = "40050400000064";
const std::string kBase = kOrigin + kPath + kHop + kPref;
const std::string kPrefix = "18 0a0100";
const std::string kTlv = "0002000300040a00000100000001";

// An UPDATE body with these attributes and 10.1.0.0/24.
Bytes body(const std::string& attributes, const std::string& nlri = kPrefix) {
  const Bytes a = from_hex(attributes);
  WireWriter out;
  out.u16(0).u16(static_cast<std::uint32_t>(a.size())).bytes(a).bytes(from_hex(nlri));
  return out.take();
}

std::string mp_reach(const std::string& nlri, const std::string& hop = "040a000001") {
  const Bytes value = from_hex("1770 fe" + hop + "00" + nlri);
  WireWriter out;
  out.u8(value.size());
  char length[3];
  std::snprintf(length, sizeof length, "%02x", static_cast<unsigned>(value.size()));
  return "800e" + std::string(length) + "1770fe" + hop + "00" + nlri;
}

ByteView body_of(const Bytes& message) { return ByteView(message).subspan(kHeader); }

enum class Outcome { Good, Discard, Withdraw, Reset };

Outcome outcome(const Bytes& bytes, const UpdateContext& with = context()) {
  const auto got = decode_update(bytes, with);
  if (!got) return Outcome::Reset;
  if (got->treated_as_withdraw) return Outcome::Withdraw;
  return got->faults.empty() ? Outcome::Good : Outcome::Discard;
}

TEST(BgpUpdate, PlainIpv4) {
  const auto got = decode_update(body(kBase, "18 0a0100 00 0f ac10"), context());
  ASSERT_TRUE(got);
  ASSERT_EQ(got->announced.size(), 1U);
  const NlriList& list = got->announced[0].nlris;
  ASSERT_EQ(list.size(), 3U);
  EXPECT_TRUE(std::ranges::equal(list[0], from_hex("180a0100")));
  EXPECT_TRUE(std::ranges::equal(list[1], from_hex("00")));
  EXPECT_TRUE(std::ranges::equal(list[2], from_hex("0fac10"))) << "bits beyond the length are 0";
  EXPECT_EQ(got->attributes.local_pref, 100U);
  EXPECT_EQ(to_string(*got->attributes.next_hop), "10.0.0.1");
}

TEST(BgpUpdate, AllAttributesBothWays) {
  PathAttributes a{.origin = Origin::Egp,
                   .as_path = AsPath{{AsSegment::Sequence, {65001, 4200000000}}, {AsSegment::Set, {1, 2}}},
                   .next_hop = parse_ip("10.0.0.9"),
                   .med = 7,
                   .local_pref = 200,
                   .atomic_aggregate = true,
                   .aggregator = Aggregator{65001, 0x01020304},
                   .communities = {kNoExport, 0xfde90001},
                   .originator = 0x0a000001,
                   .clusters = {0x0a000002, 0x0a000003},
                   .extended_communities = Bytes(16, 3),
                   .large_communities = Bytes(12, 1),
                   .unknown = {{kOptional | kTransitive | kPartial, 99, Bytes(300, 5)}}};
  for (const bool four_octet : {true, false}) {
    const AttributeContext with{.four_octet_as = four_octet};
    const Bytes nlri = from_hex("180a0100");
    const ByteView view(nlri);
    Bytes message;
    encode_announce({Family::Ipv4Unicast}, encode_attributes(a, with, true), *a.next_hop, {&view, 1},
                    message);
    const auto back = decode_update(body_of(message), context(false, four_octet));
    ASSERT_TRUE(back);
    EXPECT_TRUE(back->faults.empty()) << back->faults[0];
    EXPECT_EQ(back->attributes, a) << four_octet;
  }
  std::string text;
  for (const auto& [name, value] : describe(a)) text.append(name).append("=").append(value).append(" ");
  EXPECT_EQ(
      text,
      "origin=egp as-path=65001 4200000000 {1 2} next-hop=10.0.0.9 med=7 local-pref=200 atomic-aggregate=yes "
      "aggregator=65001 1.2.3.4 communities=no-export 65001:1 originator-id=10.0.0.1 "
      "cluster-list=10.0.0.2 10.0.0.3 extended-communities=0303030303030303 0303030303030303 "
      "large-communities=16843009:16843009:16843009 ");
}

TEST(BgpUpdate, InofReachAndUnreach) {
  const Bytes tlv = from_hex(kTlv);
  std::vector<ByteView> many(400, ByteView(tlv));
  PathAttributes a{.origin = Origin::Igp, .as_path = AsPath{}, .local_pref = 100};
  const Bytes attributes = encode_attributes(a, {}, false);
  Bytes stream;
  EXPECT_EQ(encode_announce({Family::Inof}, attributes, *parse_ip("fd00::1"), many, stream), 2U);
  encode_withdraw({Family::Inof}, many, stream);
  Framer framer;
  framer.feed(stream);
  std::size_t announced = 0;
  std::size_t withdrawn = 0;
  for (auto next = framer.next(); next && *next; next = framer.next()) {
    const auto update = decode_update((*next)->body, context());
    ASSERT_TRUE(update);
    for (const auto& r : update->announced) announced += r.nlris.size();
    for (const auto& r : update->withdrawn) withdrawn += r.nlris.size();
    if (update->announced.empty()) continue;
    EXPECT_EQ(to_string(*update->attributes.next_hop), "fd00::1");
  }
  EXPECT_EQ(announced, 400U);
  EXPECT_EQ(withdrawn, 400U);
  EXPECT_EQ(framer.held(), 0U);
}

TEST(BgpUpdate, EndOfRib) {
  for (const FamilyFacts& f : kFamilyTable) {
    const auto got = decode_update(body_of(encode_end_of_rib(f.family)), context());
    ASSERT_TRUE(got);
    EXPECT_EQ(got->end_of_rib, f.family);
  }
  UpdateContext none;
  EXPECT_EQ(decode_update(body_of(encode_end_of_rib(Family::Inof)), none)->end_of_rib, std::nullopt);
}

TEST(BgpUpdate, RoutesOfFamiliesNotNegotiatedArePassedOver) {
  UpdateContext only;
  only.families.add(Family::Ipv4Unicast);
  const auto got = decode_update(body(kBase + mp_reach("000e" + kTlv), ""), only);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->announced.empty());
  EXPECT_TRUE(got->faults.empty());
}

// One row for each class of RFC 7606 section 7, and those of sections 3 to 5.
struct Malformed {
  const char* what;
  std::string attributes;
  Outcome internal;
  Outcome external;
};

TEST(BgpUpdate, MalformedAttributes) {
  using enum Outcome;
  const std::string rest = kPath + kHop + kPref;
  const Malformed cases[] = {
      {"all good", kBase, Good, Discard},  // local-pref from outside is dropped
      {"7.1 ORIGIN of two bytes", "4001020000" + rest, Withdraw, Withdraw},
      {"7.1 ORIGIN of no known value", "40010103" + rest, Withdraw, Withdraw},
      {"7.2 AS_PATH: unknown segment", kOrigin + "4002060501 0000fde9" + kHop + kPref, Withdraw, Withdraw},
      {"7.2 AS_PATH: segment overrun", kOrigin + "4002060202 0000fde9" + kHop + kPref, Withdraw, Withdraw},
      {"7.2 AS_PATH: empty segment", kOrigin + "4002020200" + kHop + kPref, Withdraw, Withdraw},
      {"7.2 AS_PATH: one byte left", kOrigin + "40020102" + kHop + kPref, Withdraw, Withdraw},
      {"7.3 NEXT_HOP of 3 bytes", kOrigin + kPath + "4003030a0000" + kPref, Withdraw, Withdraw},
      {"7.4 MED of 3 bytes", kBase + "800403000000", Withdraw, Withdraw},
      {"7.5 LOCAL_PREF of 3 bytes", kOrigin + kPath + kHop + "400503000000", Withdraw, Discard},
      {"7.6 ATOMIC_AGGREGATE with a value", kBase + "40060100", Discard, Discard},
      {"7.7 AGGREGATOR of 7 bytes", kBase + "c0070700000000000000", Discard, Discard},
      {"7.8 COMMUNITIES of 3 bytes", kBase + "c00803000000", Withdraw, Withdraw},
      {"7.8 COMMUNITIES, empty", kBase + "c00800", Withdraw, Withdraw},
      {"7.9 ORIGINATOR_ID of 3 bytes", kBase + "800903000000", Withdraw, Discard},
      {"7.10 CLUSTER_LIST of 3 bytes", kBase + "800a03000000", Withdraw, Discard},
      {"7.11 MP_REACH_NLRI: next hop overrun", kBase + "800e0a1770fe40 000000000000", Reset, Reset},
      {"7.11 MP_REACH_NLRI: next hop of 5 bytes", kBase + mp_reach("000e" + kTlv, "050a00000100"), Reset,
       Reset},
      {"7.11 MP_REACH_NLRI: too short", kBase + "800e021770", Reset, Reset},
      {"7.12 MP_UNREACH_NLRI: too short", kBase + "800f021770", Reset, Reset},
      {"5.3 MP_REACH_NLRI: route overrun", kBase + mp_reach("00ff" + kTlv), Reset, Reset},
      {"5.3 MP_UNREACH_NLRI: route overrun", kBase + "800f061770fe00ff00", Reset, Reset},
      {"7.14 EXTENDED COMMUNITIES of 7 bytes", kBase + "c0100700000000000000", Withdraw, Withdraw},
      {"RFC 8092 LARGE_COMMUNITIES of 11 bytes", kBase + "c0200b0000000000000000000000", Withdraw, Withdraw},
      {"3 (c) ORIGIN as optional", "c0010100" + rest, Withdraw, Withdraw},
      {"3 (c) MED as transitive", kBase + "c00404 00000001", Withdraw, Withdraw},
      {"3 (d) ORIGIN is missing", rest, Withdraw, Withdraw},
      {"3 (d) AS_PATH is missing", kOrigin + kHop + kPref, Withdraw, Withdraw},
      {"3 (d) NEXT_HOP is missing", kOrigin + kPath + kPref, Withdraw, Withdraw},
      {"3 (g) ORIGIN twice", kBase + kOrigin, Discard, Discard},
      {"3 (g) MP_REACH_NLRI twice", kBase + mp_reach("000e" + kTlv) + mp_reach("000e" + kTlv), Reset, Reset},
      {"3 (g) MP_UNREACH_NLRI twice", kBase + "800f031770fe 800f031770fe", Reset, Reset},
      {"4 an attribute beyond the end", kBase + "8004ff00000001", Withdraw, Withdraw},
      {"4 a lone byte at the end", kBase + "80", Withdraw, Withdraw},
      {"RFC 4271 unknown well-known attribute", kBase + "406300", Reset, Reset},
      {"unknown optional attribute", kBase + "806300", Good, Discard},
      {"unknown transitive attribute", kBase + "c06300", Good, Discard},
  };
  for (const Malformed& c : cases) {
    EXPECT_EQ(outcome(body(c.attributes)), c.internal) << c.what;
    EXPECT_EQ(outcome(body(c.attributes), context(true)), c.external) << c.what << ", external";
  }
}

TEST(BgpUpdate, WithdrawnMeansTheSameRoutes) {
  const auto got = decode_update(body("40010103" + kPath + kHop + kPref), context());
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->announced.empty());
  ASSERT_EQ(got->withdrawn.size(), 1U);
  EXPECT_TRUE(std::ranges::equal(got->withdrawn[0].nlris[0], from_hex(kPrefix)));
  EXPECT_EQ(got->faults, std::vector<std::string>{"origin is malformed: treated as withdraw"});
}

TEST(BgpUpdate, RoutesThatCannotBeFound) {
  EXPECT_EQ(outcome(from_hex("0005 0000")), Outcome::Reset) << "withdrawn routes beyond the end";
  EXPECT_EQ(outcome(from_hex("0000 0005 40")), Outcome::Reset) << "attributes beyond the end";
  EXPECT_EQ(outcome(body(kBase, "21 0a01000000")), Outcome::Reset) << "prefix of 33 bits";
  EXPECT_EQ(outcome(body(kBase, "18 0a01")), Outcome::Reset) << "prefix beyond the end";
  EXPECT_EQ(outcome(from_hex("0002 210a 0000")), Outcome::Reset) << "withdrawn prefix of 33 bits";
}

TEST(BgpUpdate, As4IsMerged) {
  // RFC 6793: 23456 stands for what AS4_PATH has.
  const auto got = decode_update(
      body(kOrigin + "4002080203 0001 5ba0 0002" + kHop + kPref + "c0110a0202 fa56ea00 00000002"),
      context(false, false));
  ASSERT_TRUE(got);
  EXPECT_EQ(as_path_text(*got->attributes.as_path), "1 4200000000 2");
}

RC_GTEST_PROP(BgpUpdate, AnyBytes, (const Bytes& bytes)) {
  for (const bool external : {false, true}) (void)decode_update(bytes, context(external));
}

}  // namespace
}  // namespace lossless::bgp
