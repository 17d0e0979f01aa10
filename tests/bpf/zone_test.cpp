// SPDX-License-Identifier: Apache-2.0
// Zone isolation and the white list in the real ingress program.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "tests/bpf/scratch_io.h"

namespace lossless::test {
namespace {

constexpr int kNext = -1;
constexpr int kDrop = 2;

using Address = std::array<std::uint8_t, 16>;
Address v4(std::uint8_t last) { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, last}; }
Address v6(std::uint8_t last) { return {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}; }
bool is_v4(const Address& a) { return a[10] == 0xff; }

ll_zone_key key_of(const Address& address) {
  ll_zone_key key{};
  std::ranges::copy(address, key.byte);
  return key;
}

struct Packet {
  Address src;
  Address dst;
  std::uint8_t protocol = 17;
  std::uint16_t sport = 50000;
  std::uint16_t dport = 4791;
  std::vector<std::uint8_t> extensions =
      {};  // IPv6: whole extension headers, the first one's number in front
  std::uint16_t fragment = 0;
  bool tagged = false;

  Bytes bytes() const {
    Bytes out(12, 2);
    if (tagged) out.insert(out.end(), {0x88, 0xa8, 0, 5, 0x81, 0, 0, 6});
    const Bytes ports{static_cast<std::uint8_t>(sport >> 8U), static_cast<std::uint8_t>(sport),
                      static_cast<std::uint8_t>(dport >> 8U), static_cast<std::uint8_t>(dport)};
    if (is_v4(src)) {
      out.insert(out.end(), {8, 0, 0x45, 0, 0, 60, 0, 0, static_cast<std::uint8_t>(fragment >> 8U),
                             static_cast<std::uint8_t>(fragment), 64, protocol, 0, 0});
      out.insert(out.end(), src.begin() + 12, src.end());
      out.insert(out.end(), dst.begin() + 12, dst.end());
    } else {
      out.insert(out.end(), {0x86, 0xdd, 0x60, 0, 0, 0, 0, 40});
      out.push_back(extensions.empty() ? protocol : extensions.front());
      out.push_back(64);
      out.insert(out.end(), src.begin(), src.end());
      out.insert(out.end(), dst.begin(), dst.end());
      if (!extensions.empty()) out.insert(out.end(), extensions.begin() + 1, extensions.end());
    }
    out.insert(out.end(), ports.begin(), ports.end());
    out.resize(out.size() + 60);
    return out;
  }
};

class ZonePrograms : public testing::Test {
 protected:
  void guard(std::uint8_t flags) {
    ll_port row = default_port_row();
    row.guard = flags;
    port_.set_port(row);
  }
  void host(const Address& address, std::vector<std::uint32_t> zones, bool initiator = false) {
    ll_zone_host row{};
    if (initiator) row.flags |= LL_ZONE_INITIATOR;
    std::ranges::fill(row.zones, LL_ZONE_NONE);
    if (zones.size() > LL_ZONE_LIST) {
      row.flags |= LL_ZONE_MANY;
      ll_zone_bits bits{};
      for (const std::uint32_t zone : zones) bits.word[zone / 64] |= 1ULL << (zone % 64);
      ASSERT_TRUE(maps().zone_bits.set(key_of(address), bits));
    } else {
      std::ranges::copy(zones, row.zones);
    }
    ASSERT_TRUE(maps().zone_hosts.set(key_of(address), row));
  }
  const Maps& maps() { return port_.datapath().maps(); }
  int verdict(const Packet& packet) { return port_.ingress(packet.bytes()).verdict; }
  std::uint64_t drops(ll_zone_drop reason) { return maps().zone_stats.sum(0).drop[reason]; }
  ScratchPort port_;
};

std::vector<std::uint32_t> many(std::uint32_t from, std::uint32_t count) {
  std::vector<std::uint32_t> out(count);
  std::iota(out.begin(), out.end(), from);
  return out;
}

TEST_F(ZonePrograms, TheDefaultIsOpen) {
  host(v4(1), {1});
  host(v4(2), {2});
  EXPECT_EQ(verdict({.src = v4(1), .dst = v4(2)}), kNext);
  EXPECT_EQ(port_.classes(0).packets, 1U);
}

TEST_F(ZonePrograms, StorageTrafficBetweenZonesIsDropped) {
  guard(LL_GUARD_ZONES);
  for (const auto address : {v4, v6}) {
    const std::uint64_t before = drops(LL_ZONE_DROP_ISOLATED);
    host(address(1), {1, 7});
    host(address(2), {2, 7});
    host(address(3), {2});
    const auto packet = [&](std::uint8_t src, std::uint8_t dst, std::uint8_t protocol, std::uint16_t sport,
                            std::uint16_t dport) {
      return Packet{
          .src = address(src), .dst = address(dst), .protocol = protocol, .sport = sport, .dport = dport};
    };
    EXPECT_EQ(verdict(packet(1, 2, 17, 50000, 4791)), kNext);
    EXPECT_EQ(verdict(packet(1, 3, 17, 50000, 4791)), kDrop);
    EXPECT_EQ(verdict(packet(1, 3, 6, 50000, 4420)), kDrop);
    EXPECT_EQ(verdict(packet(3, 1, 6, 4420, 50000)), kDrop);
    EXPECT_EQ(verdict(packet(1, 3, 6, 50000, 8009)), kDrop);
    EXPECT_EQ(verdict(packet(1, 3, 6, 50000, 4791)), kNext) << "TCP to that port is no RoCEv2";
    EXPECT_EQ(verdict(packet(1, 3, 17, 4791, 50000)), kNext) << "a source port is any number";
    EXPECT_EQ(verdict(packet(1, 3, 17, 50000, 4420)), kNext);
    EXPECT_EQ(verdict(packet(1, 3, 1, 0, 4791)), kNext) << "ping works";
    EXPECT_EQ(drops(LL_ZONE_DROP_ISOLATED) - before, 4U);
  }
}

TEST_F(ZonePrograms, StrangersReachNoHostOfAZone) {
  guard(LL_GUARD_ZONES);
  host(v4(1), {1});
  EXPECT_EQ(verdict({.src = v4(1), .dst = v4(99)}), kDrop);
  EXPECT_EQ(verdict({.src = v4(99), .dst = v4(1)}), kDrop);
  EXPECT_EQ(verdict({.src = v4(98), .dst = v4(99)}), kNext) << "hosts without iNOF are none of its business";
  EXPECT_EQ(drops(LL_ZONE_DROP_STRANGER), 2U);
}

TEST_F(ZonePrograms, HostsInNoZoneTalkToNobody) {
  guard(LL_GUARD_ZONES);
  host(v4(1), {});
  host(v4(2), {});
  EXPECT_EQ(verdict({.src = v4(1), .dst = v4(2)}), kDrop);
}

TEST_F(ZonePrograms, ManyZones) {
  guard(LL_GUARD_ZONES);
  host(v4(1), many(100, 300));
  host(v4(2), {5, 399});
  host(v4(3), {5, 400});
  host(v4(4), many(399, 9));
  host(v4(5), many(400, 15000));
  for (const auto& [a, b, shared] : std::vector<std::tuple<int, int, bool>>{{1, 2, true},
                                                                            {1, 3, false},
                                                                            {1, 4, true},
                                                                            {1, 5, false},
                                                                            {4, 5, true},
                                                                            {2, 4, true},
                                                                            {3, 5, true}}) {
    const auto src = v4(static_cast<std::uint8_t>(a));
    const auto dst = v4(static_cast<std::uint8_t>(b));
    EXPECT_EQ(verdict({.src = src, .dst = dst}), shared ? kNext : kDrop) << a << " " << b;
    EXPECT_EQ(verdict({.src = dst, .dst = src}), shared ? kNext : kDrop) << b << " " << a;
  }
}

TEST_F(ZonePrograms, InitiatorsCanBeKeptApart) {
  guard(LL_GUARD_INITIATORS);
  host(v4(1), {1}, true);
  host(v4(2), {1}, true);
  host(v4(3), {2});
  EXPECT_EQ(verdict({.src = v4(1), .dst = v4(2)}), kDrop);
  EXPECT_EQ(verdict({.src = v4(1), .dst = v4(3)}), kNext) << "zones are not looked at";
  EXPECT_EQ(drops(LL_ZONE_DROP_INITIATORS), 1U);
}

TEST_F(ZonePrograms, TheWhiteListGoesByPortAndPrefix) {
  guard(LL_GUARD_LIST);
  const auto allow = [&](std::uint32_t slot, const Address& address, unsigned length) {
    const ll_allow_key key{.prefix = 32 + length, .slot = slot, .address = key_of(address)};
    ASSERT_TRUE(maps().zone_allow.set(key, 1));
  };
  allow(0, v4(0), 96 + 30);
  allow(0, v6(9), 128);
  allow(1, v4(64), 96 + 26);
  EXPECT_EQ(verdict({.src = v4(3), .dst = v4(200)}), kNext);
  EXPECT_EQ(verdict({.src = v4(4), .dst = v4(200)}), kDrop);
  EXPECT_EQ(verdict({.src = v4(64), .dst = v4(200)}), kDrop) << "allowed on another port";
  EXPECT_EQ(verdict({.src = v6(9), .dst = v6(1)}), kNext);
  EXPECT_EQ(verdict({.src = v6(8), .dst = v6(1)}), kDrop);
  EXPECT_EQ(verdict({.src = v4(4), .dst = v4(200), .dport = 53}), kNext) << "no storage traffic";
  EXPECT_EQ(drops(LL_ZONE_DROP_DENIED), 3U);
}

TEST_F(ZonePrograms, NoWayAroundByHeaders) {
  guard(LL_GUARD_ZONES);
  for (const auto address : {v4, v6}) {
    host(address(1), {1});
    host(address(2), {2});
  }
  EXPECT_EQ(verdict({.src = v4(1), .dst = v4(2), .tagged = true}), kDrop) << "behind two tags";
  EXPECT_EQ(verdict({.src = v6(1), .dst = v6(2), .tagged = true}), kDrop);
  // Hop-by-hop of 16 bytes, destination options of 8.
  EXPECT_EQ(verdict({.src = v6(1), .dst = v6(2), .extensions = {0, 60, 1, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0,
                                                                0, 0,  0, 0, 17, 0, 0, 0, 0, 0, 0, 0}}),
            kDrop);
  // The first fragment has the ports, a later one has not.
  EXPECT_EQ(verdict({.src = v6(1), .dst = v6(2), .extensions = {44, 17, 0, 0, 1, 0, 0, 0, 0}}), kDrop);
  EXPECT_EQ(verdict({.src = v6(1), .dst = v6(2), .extensions = {44, 17, 0, 0, 9, 0, 0, 0, 0}}), kNext);
  EXPECT_EQ(verdict({.src = v4(1), .dst = v4(2), .fragment = 0x2000}), kDrop);
  EXPECT_EQ(verdict({.src = v4(1), .dst = v4(2), .fragment = 0x2008}), kNext);
}

TEST_F(ZonePrograms, ShortPacketsPassAsTheyAre) {
  guard(LL_GUARD_ZONES);
  host(v4(1), {1});
  host(v4(2), {2});
  // Tagged: the kernel's test run takes no untagged packet that ends inside its IP header.
  Bytes whole = Packet{.src = v4(1), .dst = v4(2)}.bytes();
  whole.insert(whole.begin() + 12, {0x81, 0x00, 0x00, 0x05});
  constexpr std::ptrdiff_t kPorts = 14 + 4 + 20 + 4;  // the end of the ports, which decide
  for (std::ptrdiff_t length = 18; length < kPorts; ++length)
    EXPECT_EQ(port_.ingress(Bytes(whole.begin(), whole.begin() + length)).verdict, kNext) << length;
  EXPECT_EQ(port_.ingress(Bytes(whole.begin(), whole.begin() + kPorts)).verdict, kDrop);
}

}  // namespace
}  // namespace lossless::test
