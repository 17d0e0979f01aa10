// SPDX-License-Identifier: Apache-2.0
// Hook flows in user space: the same code that the kernel runs.
#include "bpf/stages/hook_flow.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace {

using Bytes = std::vector<std::uint8_t>;

// One's complement sum of a header that includes its checksum: 0 when right.
std::uint16_t full_checksum(const std::uint8_t* header, std::size_t length) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < length; i += 2)
    sum += static_cast<std::uint32_t>(header[i] << 8 | header[i + 1]);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

struct Packet {
  unsigned ip = 4;                    // 4, 6; else some other protocol
  std::vector<std::uint16_t> tags{};  // TCIs, outermost first
  std::uint8_t tos = 0;
  std::uint8_t words = 5;  // IPv4 header length
};

void put_ip(Bytes& frame, const Packet& packet, const Bytes& noise) {
  Bytes header(noise.begin(), noise.begin() + (packet.ip == 4 ? packet.words * 4 : 40));
  if (packet.ip == 4) {
    header[0] = static_cast<std::uint8_t>(0x40 | packet.words);
    header[1] = packet.tos;
    header[10] = header[11] = 0;
    const std::uint16_t check = full_checksum(header.data(), header.size());
    header[10] = static_cast<std::uint8_t>(check >> 8);
    header[11] = static_cast<std::uint8_t>(check);
  } else {
    header[0] = static_cast<std::uint8_t>(0x60 | packet.tos >> 4);
    header[1] = static_cast<std::uint8_t>(packet.tos << 4 | (header[1] & 0x0f));
  }
  frame.insert(frame.end(), header.begin(), header.end());
}

// `noise`: at least 100 bytes that fill what the packet does not say.
Bytes make_frame(const Packet& packet, const Bytes& noise) {
  Bytes frame(noise.begin(), noise.begin() + 12);
  for (std::size_t i = 0; i < packet.tags.size(); ++i) {
    const std::uint16_t tpid = i == 0 && packet.tags.size() == 2 ? 0x88a8 : 0x8100;
    for (const std::uint16_t word : {tpid, packet.tags[i]}) {
      frame.push_back(static_cast<std::uint8_t>(word >> 8));
      frame.push_back(static_cast<std::uint8_t>(word));
    }
  }
  const std::uint16_t ethertype = packet.ip == 4 ? 0x0800 : packet.ip == 6 ? 0x86dd : 0x0806;
  frame.push_back(static_cast<std::uint8_t>(ethertype >> 8));
  frame.push_back(static_cast<std::uint8_t>(ethertype));
  put_ip(frame, packet, noise);
  frame.insert(frame.end(), noise.begin(), noise.begin() + 30);
  return frame;
}

ll_headers parse(const Bytes& frame) {
  ll_headers h;
  ll_parse(frame.data(), frame.data() + frame.size(), &h);
  return h;
}

int rewrite(Bytes& frame, const ll_headers& h, const ll_hook_verdict& v, int tag_in_frame = 1) {
  return ll_hook_rewrite(frame.data(), frame.data() + frame.size(), &h, &v, tag_in_frame);
}

ll_hook one_rule(std::uint8_t from, std::uint8_t dscp, std::uint8_t dot1p, std::uint8_t tc) {
  ll_hook hook{};
  hook.by_dscp[from] = {.on = 1, .dscp = dscp, .dot1p = dot1p, .tc = tc};
  return hook;
}

ll_headers ip_with_dscp(std::uint8_t dscp) {
  return {.l3_off = 14,
          .ip = 4,
          .tos = static_cast<std::uint8_t>(dscp << 2 | 2),
          .pcp = LL_PCP_NONE,
          .bad = LL_BAD_NONE};
}

TEST(HookFlow, SameGroupAndConfiguredDscpMoves) {
  const ll_hook hook = one_rule(26, 28, 4, 4);
  const ll_headers h = ip_with_dscp(26);
  const ll_hook_verdict v = ll_hook_decide(&hook, 7, 7, &h);
  EXPECT_EQ(v.kind, LL_HOOK_MOVE);
  EXPECT_EQ(v.dscp, 28);
  EXPECT_EQ(v.dot1p, 4);
  EXPECT_EQ(v.tc, 4);
}

TEST(HookFlow, OtherGroupsAreNoHookFlows) {
  const ll_hook hook = one_rule(26, 28, 4, 4);
  const ll_headers h = ip_with_dscp(26);
  for (const auto& [in, out] :
       std::vector<std::pair<std::uint8_t, std::uint8_t>>{{0, 0}, {0, 1}, {1, 0}, {1, 2}}) {
    EXPECT_EQ(ll_hook_decide(&hook, in, out, &h).kind, LL_HOOK_NONE) << +in << " " << +out;
  }
  EXPECT_EQ(ll_hook_decide(&hook, LL_HOOK_MAX_GROUP, LL_HOOK_MAX_GROUP, &h).kind, LL_HOOK_MOVE);
}

TEST(HookFlow, OtherDscpsAndProtocolsAreSeenAndStay) {
  const ll_hook hook = one_rule(26, 28, 4, 4);
  const ll_headers other = ip_with_dscp(27);
  EXPECT_EQ(ll_hook_decide(&hook, 1, 1, &other).kind, LL_HOOK_OTHER);
  ll_headers not_ip = ip_with_dscp(26);
  not_ip.ip = 0;
  EXPECT_EQ(ll_hook_decide(&hook, 1, 1, &not_ip).kind, LL_HOOK_OTHER);
  // A rule for DSCP 0 must not catch what has no DSCP.
  const ll_hook zero = one_rule(0, 8, 1, 1);
  not_ip.tos = 0;
  EXPECT_EQ(ll_hook_decide(&zero, 1, 1, &not_ip).kind, LL_HOOK_OTHER);
}

// Values whose checksum carries twice, from RFC 1624's own trap: a sum of 0xffff before the second fold.
TEST(HookFlow, ChecksumThatCarriesTwice) {
  const Bytes noise(200, 0xff);
  for (unsigned from = 0; from < 64; ++from) {
    for (unsigned to = 0; to < 64; ++to) {
      Bytes frame = make_frame({.tos = static_cast<std::uint8_t>(from << 2)}, noise);
      const ll_hook_verdict v{
          .kind = LL_HOOK_MOVE, .dscp = static_cast<std::uint8_t>(to), .dot1p = 0, .tc = 0};
      ASSERT_EQ(rewrite(frame, parse(frame), v), 0);
      ASSERT_EQ(full_checksum(frame.data() + 14, 20), 0) << from << " -> " << to;
    }
  }
}

TEST(HookFlow, TagOutsideOfTheFrame) {
  const ll_hook_verdict v{.kind = LL_HOOK_MOVE, .dscp = 28, .dot1p = 5, .tc = 5};
  EXPECT_EQ(ll_hook_tci(&v, 0x7123), 0xb123);  // PCP 3 -> 5, DEI 1 and VLAN 0x123 stay
  EXPECT_EQ(ll_hook_tci(&v, 0x0fff), 0xafff);
  // What is in the frame is then the inner tag, and stays.
  const Bytes noise(200, 0x5a);
  Bytes frame = make_frame({.tags = {0x6064}, .tos = 26 << 2}, noise);
  const Bytes before = frame;
  ASSERT_EQ(rewrite(frame, parse(frame), v, 0), 0);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 18, frame.begin()));
  EXPECT_EQ(frame[19], 28 << 2);
}

TEST(HookFlow, NotIpIsLeftAlone) {
  const ll_hook_verdict v{.kind = LL_HOOK_MOVE, .dscp = 28, .dot1p = 5, .tc = 5};
  Bytes arp = make_frame({.ip = 0, .tags = {0x6064}}, Bytes(200, 0x5a));
  const Bytes before = arp;
  EXPECT_EQ(rewrite(arp, parse(arp), v), -1);
  EXPECT_EQ(arp, before);
}

TEST(HookFlow, Key) {
  Bytes noise(200);
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<std::uint8_t>(i);
  ll_hook_key key;
  const Bytes v4 = make_frame({.tags = {5}, .tos = 26 << 2 | 3}, noise);
  ll_headers h = parse(v4);
  ASSERT_EQ(ll_hook_key_of(v4.data(), v4.data() + v4.size(), &h, 11, 12, &key), 0);
  EXPECT_EQ(std::vector<int>(key.src, key.src + 5), (std::vector<int>{12, 13, 14, 15, 0}));
  EXPECT_EQ(std::vector<int>(key.dst, key.dst + 5), (std::vector<int>{16, 17, 18, 19, 0}));
  EXPECT_EQ(key.in_ifindex, 11U);
  EXPECT_EQ(key.out_ifindex, 12U);
  EXPECT_EQ(key.ip, 4);
  EXPECT_EQ(key.dscp, 26);
  const Bytes v6 = make_frame({.ip = 6, .tos = 46 << 2}, noise);
  h = parse(v6);
  ASSERT_EQ(ll_hook_key_of(v6.data(), v6.data() + v6.size(), &h, 11, 12, &key), 0);
  EXPECT_TRUE(std::equal(key.src, key.src + 16, noise.begin() + 8));
  EXPECT_TRUE(std::equal(key.dst, key.dst + 16, noise.begin() + 24));
  EXPECT_EQ(key.ip, 6);
  EXPECT_EQ(key.dscp, 46);
  const Bytes arp = make_frame({.ip = 0}, noise);
  h = parse(arp);
  EXPECT_EQ(ll_hook_key_of(arp.data(), arp.data() + arp.size(), &h, 11, 12, &key), -1);
}

TEST(HookFlow, RulesAreChecked) {
  ll_hook hook{};
  EXPECT_EQ(ll_hook_bad_rule(&hook), LL_DSCPS);
  hook = one_rule(26, 28, 4, 4);
  hook.by_dscp[0] = {.on = 1, .dscp = 63, .dot1p = 7, .tc = 7};
  EXPECT_EQ(ll_hook_bad_rule(&hook), LL_DSCPS);
  hook.by_dscp[28] = {.on = 1, .dscp = 30, .dot1p = 4, .tc = 4};  // 26 -> 28 -> 30
  EXPECT_EQ(ll_hook_bad_rule(&hook), 26U);
  for (const ll_hook_rule& rule : {ll_hook_rule{.on = 1, .dscp = 64, .dot1p = 0, .tc = 0},
                                   ll_hook_rule{.on = 1, .dscp = 1, .dot1p = 8, .tc = 0},
                                   ll_hook_rule{.on = 1, .dscp = 1, .dot1p = 0, .tc = 8},
                                   ll_hook_rule{.on = 1, .dscp = 40, .dot1p = 0, .tc = 0}}) {  // onto itself
    hook = {};
    hook.by_dscp[40] = rule;
    EXPECT_EQ(ll_hook_bad_rule(&hook), 40U);
  }
}

Packet any_packet() {
  Packet packet;
  packet.ip = *rc::gen::element(4U, 6U);
  packet.tags = *rc::gen::resize(
      2, rc::gen::container<std::vector<std::uint16_t>>(rc::gen::arbitrary<std::uint16_t>()));
  if (packet.tags.size() > 2) packet.tags.resize(2);
  packet.tos = *rc::gen::arbitrary<std::uint8_t>();
  packet.words = *rc::gen::inRange<std::uint8_t>(5, 16);
  return packet;
}

Bytes any_noise() { return *rc::gen::container<Bytes>(200, rc::gen::arbitrary<std::uint8_t>()); }

// The rewritten frame is the one that would have been made with the new values in the first place.
RC_GTEST_PROP(HookFlow, RewriteChangesNothingElse, ()) {
  const Packet packet = any_packet();
  const Bytes noise = any_noise();
  const ll_hook_verdict v{.kind = LL_HOOK_MOVE,
                          .dscp = *rc::gen::inRange<std::uint8_t>(0, 64),
                          .dot1p = *rc::gen::inRange<std::uint8_t>(0, 8),
                          .tc = 0};
  Packet want = packet;
  want.tos = static_cast<std::uint8_t>(v.dscp << 2 | (packet.tos & 3));
  if (!want.tags.empty())
    want.tags[0] = static_cast<std::uint16_t>(v.dot1p << 13 | (packet.tags[0] & 0x1fff));
  Bytes frame = make_frame(packet, noise);
  const ll_headers h = parse(frame);
  RC_ASSERT(h.ip == packet.ip);
  RC_ASSERT(rewrite(frame, h, v) == 0);
  RC_ASSERT(parse(frame).tos == want.tos);
  const Bytes made = make_frame(want, noise);
  if (packet.ip == 4) {
    // 0 and 0xffff are the same sum: a checksum made from scratch and one brought up to date may differ in
    // that.
    RC_ASSERT(full_checksum(frame.data() + h.l3_off, packet.words * 4U) == 0);
    frame[h.l3_off + 10U] = made[h.l3_off + 10U];
    frame[h.l3_off + 11U] = made[h.l3_off + 11U];
  }
  RC_ASSERT(frame == made);
}

// Whatever the frame and whatever is said about it: nothing outside is read or written (under ASan), and a
// frame that is refused stays as it was.
RC_GTEST_PROP(HookFlow, AnyFrame, ()) {
  Bytes frame = *rc::gen::container<Bytes>(rc::gen::arbitrary<std::uint8_t>());
  ll_headers h{.l3_off = *rc::gen::inRange<std::uint16_t>(0, 100),
               .ip = *rc::gen::element<std::uint8_t>(0, 4, 6),
               .tos = *rc::gen::arbitrary<std::uint8_t>(),
               .pcp = 0,
               .bad = LL_BAD_NONE};
  if (*rc::gen::arbitrary<bool>()) h = parse(frame);
  const ll_hook hook = one_rule(static_cast<std::uint8_t>(h.tos >> 2), 1, 1, 1);
  const ll_hook_verdict v = ll_hook_decide(&hook, 1, 1, &h);
  const Bytes before = frame;
  ll_hook_key key;
  const int keyed = ll_hook_key_of(frame.data(), frame.data() + frame.size(), &h, 1, 2, &key);
  if (rewrite(frame, h, v) != 0) RC_ASSERT(frame == before);
  RC_ASSERT(frame.size() >= LL_ETH_HLEN + LL_IPV4_HLEN || keyed != 0);
}

}  // namespace
