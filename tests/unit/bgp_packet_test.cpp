// SPDX-License-Identifier: Apache-2.0
// BGP messages but for UPDATE: values and bytes both ways, and what ends a session.
#include "daemon/bgp/packet.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/hex.h"

namespace lossless::bgp {
namespace {

using test::from_hex;

const std::string kMarker(32, 'f');

Open sample_open() {
  Open open{.asn = 65001, .hold_s = 90, .router_id = 0x0a000001};
  open.families.add(Family::Inof);
  open.graceful_restart =
      GracefulRestart{.restarting = true, .time_s = 120, .families = {{Family::Inof, true}}};
  return open;
}

ByteView body_of(const Bytes& message) { return ByteView(message).subspan(kHeader); }

TEST(BgpOpen, IsWhatTheStandardsSay) {
  const Bytes bytes = encode_open(sample_open());
  EXPECT_EQ(bytes, from_hex(kMarker + "0039 01 04 fde9 005a 0a000001 1c 02 1a"
                                      "01 04 1770 00 fe"         // multiprotocol, 6000/254
                                      "02 00 06 00"              // route refresh, extended messages
                                      "40 06 8078 1770 fe 80"    // graceful restart: R, 120 s; F
                                      "41 04 0000fde9 46 00"));  // four octets, enhanced refresh
  const auto back = decode_open(body_of(bytes));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, sample_open());
}

TEST(BgpOpen, FourOctetAs) {
  Open open = sample_open();
  open.asn = 4200000001;
  const Bytes bytes = encode_open(open);
  EXPECT_EQ(WireReader(body_of(bytes).subspan(1)).u16(), kAsTrans);
  EXPECT_EQ(decode_open(body_of(bytes))->asn, 4200000001);
}

TEST(BgpOpen, WithoutCapabilitiesSpeaksIpv4) {
  const auto open = decode_open(from_hex("04 fde9 0000 0a000001 00"));
  ASSERT_TRUE(open);
  EXPECT_TRUE(open->families.has(Family::Ipv4Unicast));
  EXPECT_FALSE(open->families.has(Family::Inof) || open->four_octet_as || open->route_refresh);
  EXPECT_EQ(open->hold_s, 0);
}

TEST(BgpOpen, UnknownCapabilitiesAndFamiliesArePassedOver) {
  // 255 of them in a parameter list of RFC 9072.
  std::string capabilities;
  for (int i = 0; i < 255; ++i) capabilities += "c803abcdef";
  capabilities += "0104000200800104177000fe";
  const std::string text = "04 fde9 005a 0a000001 ff ff";
  WireWriter out(from_hex(text));
  const Bytes list = from_hex(capabilities);
  out.u16(static_cast<std::uint32_t>(list.size() + 3)).u8(2).u16(static_cast<std::uint32_t>(list.size()));
  const auto open = decode_open(out.bytes(list).take());
  ASSERT_TRUE(open);
  EXPECT_EQ(open->unknown_capabilities, 255U);
  EXPECT_TRUE(open->families.has(Family::Inof));
}

struct BadOpen {
  const char* body;
  Notification error;
};

TEST(BgpOpen, BadOnesGetTheirError) {
  const auto open = [](std::uint8_t subcode, Bytes data = {}) {
    return Notification{ErrorCode::Open, subcode, std::move(data)};
  };
  const BadOpen cases[] = {
      {"03 fde9 005a 0a000001 00", open(error::kVersion, {0, 4})},
      {"04 0000 005a 0a000001 00", open(error::kBadPeerAs)},
      {"04 fde9 0001 0a000001 00", open(error::kHoldTime)},
      {"04 fde9 0002 0a000001 00", open(error::kHoldTime)},
      {"04 fde9 005a 00000000 00", open(error::kBadId)},
      {"04 fde9 005a 0a000001 02 01 00", open(error::kParameter)},
      {"04 fde9 005a 0a000001 05", open(0)},
      {"04 fde9 005a 0a000001 04 02 02 01 04", open(0)},
  };
  for (const BadOpen& c : cases) {
    const auto got = decode_open(from_hex(c.body));
    ASSERT_FALSE(got) << c.body;
    EXPECT_EQ(got.error(), c.error) << c.body << " gives " << to_string(got.error());
  }
}

TEST(BgpFramer, CutsWhateverComesInWhateverPieces) {
  Bytes stream;
  for (const Bytes& m : {encode_open(sample_open()), encode_keepalive(),
                         encode_route_refresh(Family::Inof, RefreshKind::Begin), encode_keepalive()})
    stream.insert(stream.end(), m.begin(), m.end());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    Framer framer;
    std::vector<MessageType> types;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      framer.feed(ByteView(stream).subspan(at, std::min(piece, stream.size() - at)));
      for (auto next = framer.next(); next && *next; next = framer.next()) types.push_back((*next)->type);
    }
    EXPECT_EQ(types, (std::vector{MessageType::Open, MessageType::Keepalive, MessageType::RouteRefresh,
                                  MessageType::Keepalive}));
    EXPECT_EQ(framer.held(), 0U);
  }
}

TEST(BgpFramer, BadHeaders) {
  const auto error_of = [](const std::string& text) {
    Framer framer;
    framer.feed(from_hex(text));
    const auto got = framer.next();
    return got ? Notification{} : got.error();
  };
  EXPECT_EQ(error_of("fe" + kMarker.substr(2) + "0013 04"),
            (Notification{ErrorCode::Header, error::kNotSynchronised}));
  EXPECT_EQ(error_of(kMarker + "0013 09"), (Notification{ErrorCode::Header, error::kBadType, {9}}));
  EXPECT_EQ(error_of(kMarker + "0012 04"), (Notification{ErrorCode::Header, error::kBadLength, {0, 0x12}}));
  EXPECT_EQ(error_of(kMarker + "0014 04"), (Notification{ErrorCode::Header, error::kBadLength, {0, 0x14}}));
  EXPECT_EQ(error_of(kMarker + "1001 02"), (Notification{ErrorCode::Header, error::kBadLength, {0x10, 1}}));
  Framer wide;
  wide.allow_extended();
  wide.feed(from_hex(kMarker + "1001 02"));
  EXPECT_TRUE(wide.next());
}

TEST(BgpNotification, TextForPeople) {
  const Notification n = shutdown_notification(error::kShutdown, "maintenance until 5");
  const auto back = decode_notification(body_of(encode_notification(n)));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, n);
  EXPECT_EQ(to_string(*back), "cease, administrative shutdown: \"maintenance until 5\"");
  EXPECT_EQ(to_string(Notification{ErrorCode::Cease, error::kShutdown, {200, 'x'}}),
            "cease, administrative shutdown");
  EXPECT_EQ(to_string(Notification{ErrorCode::HoldTimer}), "hold timer expired");
  EXPECT_EQ(to_string(Notification{static_cast<ErrorCode>(77), 3}), "error code 77, subcode 3");
}

TEST(BgpNotification, TextIsCutBetweenCharacters) {
  const std::string text = std::string(254, 'a') + "\xc3\xa9";
  EXPECT_EQ(shutdown_notification(error::kShutdown, text).data.size(), 255U);
}

TEST(BgpRefresh, BothWaysAndOthers) {
  const Bytes bytes = encode_route_refresh(Family::Inof, RefreshKind::End);
  EXPECT_EQ(*decode_route_refresh(body_of(bytes)), (RouteRefresh{Family::Inof, 2}));
  EXPECT_EQ(*decode_route_refresh(from_hex("0019 00 41")), (RouteRefresh{std::nullopt, 0}));
  EXPECT_EQ(decode_route_refresh(from_hex("0001 00 01 00")).error().code, ErrorCode::RouteRefresh);
}

RC_GTEST_PROP(BgpOpen, AnyBytesGiveAValueOrAnError, (const Bytes& body)) {
  (void)decode_open(body);
  (void)decode_notification(body);
  (void)decode_route_refresh(body);
}

}  // namespace
}  // namespace lossless::bgp
