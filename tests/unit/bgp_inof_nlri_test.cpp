// SPDX-License-Identifier: Apache-2.0
// The routes of AFI 6000, SAFI 254, byte for byte as docs/inof-bgp.md has them.
#include "daemon/bgp/inof_nlri.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/hex.h"

namespace lossless::bgp {
namespace {

using test::from_hex;

constexpr RouterId kOrigin = 0x0a000001;

HostRoute sample_host() {
  HostRoute host{
      .origin = kOrigin,
      .chassis = {4, {2, 0, 0, 0xaa, 0, 2}},
      .port_id = {5, {'s', 'n', 's', 'd'}},
      .tlv = {.dialect = inof::Dialect::Odcc, .address = *parse_ip("10.77.0.2"), .subscribes = true}};
  host.tlv.service = inof::Service{.role = inof::Role::Server, .protocol = inof::Protocol::Roce, .id = "nqn"};
  return host;
}

struct Pair {
  InofRoute route;
  const char* bytes;
  std::size_t key;
  const char* text;
};

std::vector<Pair> pairs() {
  HostRoute v6 = sample_host();
  v6.tlv = {.dialect = inof::Dialect::ChinaMobile, .address = *parse_ip("fd00::2")};
  v6.online = false;
  v6.reason = inof::Reason::LldpTimeout;
  return {
      {sample_host(),
       "0001 0002 0001 0a000001 04 06 02000 0aa0002 05 04 736e7364 00 03 00 04 0a4d0002 01 01 0101 0000 03 "
       "6e716e",
       24, "10.77.0.2 at 10.0.0.1: snsd on 02:00:00:aa:00:02, server roce nqn"},
      {v6,
       "0001 0002 0001 0a000001 04 06 020000aa0002 05 04 736e7364 01 04 06 06 "
       "fd000000000000000000000000000002",
       24, "fd00::2 at 10.0.0.1: snsd on 02:00:00:aa:00:02, left: lldp-timeout"},
      {ZoneRoute{kOrigin, "z1"}, "0004 0001 0002 0a000001 02 7a31", 13, "z1 at 10.0.0.1"},
      {ZoneHostRoute{kOrigin, "z1", *parse_range("10.77.0.0/24")},
       "0005 0001 0003 0a000001 02 7a31 04 0a4d0000 0a4d00ff", 22, "z1 at 10.0.0.1: 10.77.0.0/24"},
      {DefaultZoneRoute{kOrigin, true}, "0002 0003 0004 0a000001 00000001", 10, "on at 10.0.0.1"},
      {HardZoneRoute{kOrigin, false}, "0002 0003 0005 0a000001 00000000", 10, "off at 10.0.0.1"},
  };
}

TEST(InofNlri, BothWays) {
  for (const Pair& p : pairs()) {
    const Bytes bytes = from_hex(p.bytes);
    EXPECT_EQ(encode_inof(p.route), bytes) << p.text;
    const auto back = decode_inof(bytes);
    ASSERT_TRUE(back) << p.text << ": " << to_string(back.error());
    EXPECT_EQ(*back, p.route) << p.text;
    EXPECT_EQ(inof_key_size(bytes), p.key) << p.text;
    EXPECT_EQ(inof_text(bytes), p.text);
    EXPECT_EQ(origin_of(*back), kOrigin);
  }
}

TEST(InofNlri, EveryCutIsRefused) {
  for (const Pair& p : pairs()) {
    const Bytes bytes = from_hex(p.bytes);
    for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(decode_inof(ByteView(bytes).first(n))) << n;
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(decode_inof(longer)) << p.text;
  }
}

TEST(InofNlri, AKeyAloneIsItsOwnKey) {
  for (const Pair& p : pairs()) {
    const Bytes bytes = from_hex(p.bytes);
    EXPECT_EQ(inof_key_size(ByteView(bytes).first(p.key)), p.key) << p.text;
  }
}

TEST(InofNlri, OtherKindsAreKeysAsAWhole) {
  const Bytes other = from_hex("0001 0002 0063 0a000001 aabb");
  EXPECT_EQ(decode_inof(other).error(), InofFault::Kind);
  EXPECT_EQ(inof_key_size(other), other.size());
  EXPECT_EQ(kind_text(other), "unknown");
  const Bytes types = from_hex("0000 0000 0001 0a000001 01 01 aa 01 01 bb 00");
  EXPECT_EQ(inof_key_size(types), types.size()) << "types that are not the kind's";
}

TEST(InofNlri, Faults) {
  EXPECT_EQ(decode_inof(from_hex("0001 0003 0004 0a000001 00000001")).error(), InofFault::Types);
  EXPECT_EQ(decode_inof(from_hex("0002 0003 0004 0a000001 00000002")).error(), InofFault::Value);
  EXPECT_EQ(decode_inof(from_hex("0004 0001 0002 0a000001 00")).error(), InofFault::Value);
  EXPECT_EQ(decode_inof(from_hex("0005 0001 0003 0a000001 017a 04 0a4d0002 0a4d0001")).error(),
            InofFault::Value);
}

RC_GTEST_PROP(InofNlri, AnyBytes, (const Bytes& bytes)) {
  RC_ASSERT(inof_key_size(bytes) <= bytes.size());
  (void)inof_text(bytes);
}

}  // namespace
}  // namespace lossless::bgp
