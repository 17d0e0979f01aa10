// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "daemon/bfd/packet.h"
#include "hex.h"

namespace lossless::bfd {
namespace {

using test::from_hex;

const char* const kPlain = "20c8 0318 11111111 22222222 0000c350 0000c350 00000000";

const Packet kPacket{.state = State::Up,
                     .control_plane_independent = true,
                     .detect_mult = 3,
                     .my_discriminator = 0x11111111,
                     .your_discriminator = 0x22222222,
                     .desired_min_tx_us = 50000,
                     .required_min_rx_us = 50000};

TEST(BfdPacket, WithoutAuthentication) {
  const Bytes bytes = from_hex(kPlain);
  EXPECT_EQ(encode(kPacket, {}, 0), bytes);
  const auto read = decode(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->packet, kPacket);
  EXPECT_EQ(read->auth, AuthSection{});
  EXPECT_TRUE(is_signed_by(bytes, read->auth, {}));
}

TEST(BfdPacket, EveryBit) {
  const auto read = decode(from_hex("27fa 0518 00000001 00000002 00000003 00000004 00000005"));
  ASSERT_TRUE(read);
  const Packet& p = read->packet;
  EXPECT_EQ(p.diag, Diag::AdministrativelyDown);
  EXPECT_EQ(p.state, State::Up);
  EXPECT_TRUE(p.poll && p.final && p.control_plane_independent && p.demand);
  EXPECT_EQ(p.detect_mult, 5);
  EXPECT_EQ(p.required_min_echo_rx_us, 5U);
  EXPECT_EQ(encode(p, {}, 0), from_hex("27fa 0518 00000001 00000002 00000003 00000004 00000005"));
}

struct Signed {
  AuthType type;
  const char* hex;  // made by another implementation of MD5 and SHA1
};

class BfdAuthentication : public testing::TestWithParam<Signed> {};

TEST_P(BfdAuthentication, AsOthersMakeIt) {
  const AuthKey key{.type = GetParam().type, .id = 5, .secret = {'s', 'e', 'c', 'r', 'e', 't', '7'}};
  Packet packet = kPacket;
  packet.control_plane_independent = false;
  const Bytes bytes = encode(packet, key, 0x01020304);
  EXPECT_EQ(bytes, from_hex(GetParam().hex));
  const auto read = decode(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->packet, packet);
  EXPECT_EQ(read->auth.type, key.type);
  EXPECT_EQ(read->auth.key_id, 5);
  EXPECT_EQ(read->auth.sequence, key.type == AuthType::Simple ? 0U : 0x01020304U);
  EXPECT_TRUE(is_signed_by(bytes, read->auth, key));
  Bytes longer = bytes;  // bytes after the packet do not belong to it
  longer.push_back(1);
  EXPECT_TRUE(is_signed_by(longer, decode(longer)->auth, key));

  AuthKey other = key;
  other.id = 6;
  EXPECT_FALSE(is_signed_by(bytes, read->auth, other));
  other = key;
  other.secret.back() = '8';
  EXPECT_FALSE(is_signed_by(bytes, read->auth, other));
  EXPECT_FALSE(is_signed_by(bytes, read->auth, {}));
  EXPECT_FALSE(is_signed_by(from_hex(kPlain), {}, key));
  for (std::size_t cut = 24; cut < bytes.size(); ++cut) {
    const auto part = decode(ByteView(bytes).first(cut));
    ASSERT_FALSE(part);
    EXPECT_EQ(part.error(), Fault::Length);
  }
}

TEST_P(BfdAuthentication, EachByteCounts) {
  const AuthKey key{.type = GetParam().type, .id = 5, .secret = {'s', 'e', 'c', 'r', 'e', 't', '7'}};
  const Bytes bytes = from_hex(GetParam().hex);
  // Simple passwords say nothing of the packet.
  for (std::size_t i = key.type == AuthType::Simple ? 26 : 0; i < bytes.size(); ++i) {
    Bytes changed = bytes;
    changed[i] ^= 0x10U;
    const auto read = decode(changed);
    EXPECT_FALSE(read && is_signed_by(changed, read->auth, key)) << "byte " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Types, BfdAuthentication,
    testing::Values(Signed{AuthType::Simple,
                           "20c403221111111122222222 0000c3500000c35000000000 010a05 73656372657437"},
                    Signed{AuthType::KeyedMd5,
                           "20c4033011111111222222220000c3500000c350000000000218050001020304 "
                           "f1358e927243007882f054d8f9aa74e9"},
                    Signed{AuthType::MeticulousMd5,
                           "20c4033011111111222222220000c3500000c350000000000318050001020304 "
                           "1a60b63dfd2094f170c7d11f6e1011a0"},
                    Signed{AuthType::KeyedSha1,
                           "20c4033411111111222222220000c3500000c35000000000041c050001020304 "
                           "dea693c5c4e01f6e46b069d428807c9230259c7d"},
                    Signed{AuthType::MeticulousSha1,
                           "20c4033411111111222222220000c3500000c35000000000051c050001020304 "
                           "bfd7bc7a909cba6a7274c978d10e064136f37309"}),
    [](const auto& type) {
      std::string name(to_string(type.param.type));
      std::erase(name, '-');
      return name;
    });

struct Wrong {
  const char* hex;
  Fault fault;
};

TEST(BfdPacket, WhatIsRefused) {
  for (const Wrong& wrong : std::initializer_list<Wrong>{
           {"", Fault::Length},
           {"20c8 0318 11111111 22222222 0000c350 0000c350 000000", Fault::Length},
           {"00c8 0318 11111111 22222222 0000c350 0000c350 00000000", Fault::Version},
           {"40c8 0318 11111111 22222222 0000c350 0000c350 00000000", Fault::Version},
           {"20c8 0317 11111111 22222222 0000c350 0000c350 00000000", Fault::Length},
           {"20c8 0319 11111111 22222222 0000c350 0000c350 00000000", Fault::Length},
           {"20c8 0018 11111111 22222222 0000c350 0000c350 00000000", Fault::DetectMult},
           {"20c9 0318 11111111 22222222 0000c350 0000c350 00000000", Fault::Multipoint},
           {"20c8 0318 00000000 22222222 0000c350 0000c350 00000000", Fault::MyDiscriminator},
           {"20c8 0318 11111111 00000000 0000c350 0000c350 00000000", Fault::YourDiscriminator},
           {"2088 0318 11111111 00000000 0000c350 0000c350 00000000", Fault::YourDiscriminator},
           {"20cc 0318 11111111 22222222 0000c350 0000c350 00000000", Fault::Authentication},
           {"20cc 031b 11111111 22222222 0000c350 0000c350 00000000 010305", Fault::Authentication},
           {"20cc 031c 11111111 22222222 0000c350 0000c350 00000000 00040541", Fault::Authentication},
           {"20cc 031c 11111111 22222222 0000c350 0000c350 00000000 06040541", Fault::Authentication},
           {"20cc 031c 11111111 22222222 0000c350 0000c350 00000000 01050541", Fault::Authentication},
           {"20cc 031c 11111111 22222222 0000c350 0000c350 00000000 02040541", Fault::Authentication},
       }) {
    const auto read = decode(from_hex(wrong.hex));
    ASSERT_FALSE(read) << wrong.hex;
    EXPECT_EQ(read.error(), wrong.fault) << wrong.hex << ": " << to_string(read.error());
  }
  EXPECT_TRUE(decode(from_hex("2048 0318 11111111 00000000 0000c350 0000c350 00000000"))) << "Down";
  EXPECT_TRUE(decode(from_hex("2008 0318 11111111 00000000 0000c350 0000c350 00000000"))) << "AdminDown";
}

RC_GTEST_PROP(BfdPacket, WhatIsWrittenIsReadTheSame,
              (std::uint32_t mine, std::uint32_t yours, std::uint8_t bits)) {
  Packet packet = kPacket;
  packet.my_discriminator = mine | 1U;
  packet.your_discriminator = yours | 1U;
  packet.state = static_cast<State>(bits & 3U);
  packet.poll = (bits & 4U) != 0;
  packet.final = (bits & 8U) != 0;
  packet.demand = (bits & 16U) != 0;
  packet.diag = static_cast<Diag>(bits >> 3U);
  const auto read = decode(encode(packet, {}, 0));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->packet == packet);
}

}  // namespace
}  // namespace lossless::bfd
