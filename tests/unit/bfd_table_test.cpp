// SPDX-License-Identifier: Apache-2.0
// Which session a packet belongs to, and who wants which session.
#include <gtest/gtest.h>

#include "daemon/bfd/clients.h"

namespace lossless::bfd {
namespace {

constexpr Nanos kMs = kMillisecondNs;
constexpr Nanos kStart = kSecondNs;

IpAddress ip(const char* text) { return *parse_ip(text); }

class BfdTable : public testing::Test {
 protected:
  Table table_{
      42,
      {.send =
           [this](const Peer& peer, std::uint32_t, const Bytes& packet) {
             sent_.emplace_back(peer.key, decode(packet)->packet);
             return !broken_;
           },
       .changed = [this](const PeerKey& key, const Change& change) { changes_.emplace_back(key, change); }}};
  std::vector<std::pair<PeerKey, Packet>> sent_;
  std::vector<std::pair<PeerKey, Change>> changes_;
  bool broken_ = false;

  const Table::Entry& entry(const PeerKey& key) {
    for (const auto& [id, entry] : table_.entries())
      if (entry.peer.key == key) return entry;
    throw std::runtime_error("no such entry");
  }
  void hear(const PeerKey& from, std::uint32_t your, unsigned ifindex = 7, std::uint8_t ttl = 255) {
    const Bytes payload = encode(
        {.my_discriminator = 5, .your_discriminator = your, .desired_min_tx_us = 1, .required_min_rx_us = 1},
        {}, 0);
    table_.receive({.from = from.peer,
                    .to = from.local.value_or(ip("10.0.0.1")),
                    .ifindex = ifindex,
                    .ttl = ttl,
                    .multihop = from.multihop,
                    .payload = payload},
                   kStart);
  }
};

TEST_F(BfdTable, ByAddressThenByDiscriminator) {
  const PeerKey a{.peer = ip("10.0.0.2")};
  const PeerKey b{.peer = ip("10.0.0.3")};
  table_.set({.key = a}, kStart);
  table_.set({.key = b}, kStart);
  hear(a, 0);
  EXPECT_EQ(entry(a).session.state(), State::Init);
  EXPECT_EQ(entry(b).session.state(), State::Down);
  hear(b, entry(b).session.discriminator());
  EXPECT_EQ(entry(b).session.state(), State::Init);
  hear(b, entry(a).session.discriminator());
  EXPECT_EQ(table_.strays().unknown, 1U) << "the discriminator of somebody else's session";
  hear(a, 12345);
  hear({.peer = ip("10.0.0.4")}, 0);
  EXPECT_EQ(table_.strays().unknown, 3U);
}

TEST_F(BfdTable, TheMostExactSession) {
  const PeerKey any{.peer = ip("fe80::2")};
  const PeerKey there{.peer = ip("fe80::2"), .interface = "eth0"};
  const PeerKey away{.peer = ip("fe80::2"), .interface = "eth9"};
  table_.set({.key = any}, kStart);
  table_.set({.key = there, .ifindex = 7}, kStart);
  table_.set({.key = away, .ifindex = 0}, kStart);
  hear(any, 0, 7);
  EXPECT_EQ(entry(there).session.state(), State::Init);
  EXPECT_EQ(entry(any).session.state(), State::Down);
  hear(any, 0, 8);
  EXPECT_EQ(entry(any).session.state(), State::Init);
  EXPECT_EQ(entry(away).session.state(), State::Down) << "its interface is not there";
  table_.set({.key = away, .ifindex = 9}, kStart);
  hear(any, 0, 9);
  EXPECT_EQ(entry(away).session.state(), State::Init);
}

TEST_F(BfdTable, LocalAddressAndHops) {
  const PeerKey far{.peer = ip("10.9.0.1"), .local = ip("10.0.0.1"), .multihop = true};
  table_.set({.key = far, .min_ttl = 250}, kStart);
  hear({.peer = ip("10.9.0.1"), .local = ip("10.0.0.7"), .multihop = true}, 0);
  EXPECT_EQ(table_.strays().unknown, 1U) << "to another address of ours";
  hear({.peer = ip("10.9.0.1"), .local = ip("10.0.0.1")}, 0);
  EXPECT_EQ(table_.strays().unknown, 2U) << "to the port of single hops";
  hear(far, 0, 7, 249);
  EXPECT_EQ(table_.strays().ttl, 1U);
  EXPECT_EQ(entry(far).session.state(), State::Down);
  hear(far, 0, 7, 250);
  EXPECT_EQ(entry(far).session.state(), State::Init);
}

TEST_F(BfdTable, ASingleHopHasFullTtl) {
  const PeerKey a{.peer = ip("10.0.0.2")};
  table_.set({.key = a}, kStart);
  hear(a, 0, 7, 254);
  EXPECT_EQ(entry(a).session.state(), State::Down);
  EXPECT_EQ(table_.strays().ttl, 1U);
}

TEST_F(BfdTable, MalformedIsCountedByWhatIsWrong) {
  table_.receive({.from = ip("10.0.0.2"), .to = ip("10.0.0.1"), .ttl = 255, .payload = {}}, kStart);
  EXPECT_EQ(table_.strays().faults[static_cast<std::size_t>(Fault::Length)], 1U);
}

TEST_F(BfdTable, AllAreServedInTime) {
  for (int i = 1; i <= 200; ++i)
    table_.set({.key = {.peer = ip(("10.0.1." + std::to_string(i)).c_str())}}, kStart);
  EXPECT_EQ(table_.deadline(), kStart) << "the first packets";
  table_.advance(kStart);
  EXPECT_EQ(sent_.size(), 200U);
  std::set<std::uint32_t> discriminators;
  for (const auto& [key, packet] : sent_) discriminators.insert(packet.my_discriminator);
  EXPECT_EQ(discriminators.size(), 200U);
  EXPECT_GE(table_.deadline(), kStart + 750 * kMs);
  while (table_.deadline() <= kStart + 10 * kSecondNs) table_.advance(table_.deadline());
  EXPECT_GE(sent_.size(), 200U * 10);
  EXPECT_LE(sent_.size(), 200U * 15);
}

TEST_F(BfdTable, RemovedSessionsSayGoodbyeAndAreForgotten) {
  const PeerKey a{.peer = ip("10.0.0.2")};
  table_.set({.key = a}, kStart);
  hear(a, 0);
  sent_.clear();
  table_.remove(a, kStart);
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_EQ(sent_[0].second.state, State::AdminDown);
  EXPECT_TRUE(table_.entries().empty());
  EXPECT_EQ(table_.deadline(), kNever);
  hear(a, 0);
  EXPECT_EQ(table_.strays().unknown, 1U);
  table_.remove(a, kStart);
}

TEST_F(BfdTable, WhatDoesNotGoOutIsCounted) {
  const PeerKey a{.peer = ip("10.0.0.2")};
  broken_ = true;
  table_.set({.key = a}, kStart);
  table_.advance(kStart);
  EXPECT_EQ(entry(a).send_failures, 1U);
  EXPECT_GT(table_.deadline(), kStart);
}

TEST(BfdClients, ShareASession) {
  Clients clients;
  BfdProfile fast;
  fast.name = "fast";
  fast.transmit_ms = 10;
  clients.configure({}, {fast},
                    {{.address = "10.0.0.2"}, {.address = "10.0.0.3", .profile = "fast", .shutdown = true}});
  std::vector<std::string> told;
  const PeerKey second{.peer = ip("10.0.0.2")};
  const PeerKey fourth{.peer = ip("10.0.0.4")};
  const auto one =
      clients.add({.owner = "bgp", .key = second, .profile = "fast", .listener = [&](const Event& e) {
                     told.push_back("one" + std::string(to_string(e.state)));
                   }});
  const auto two =
      clients.add({.owner = "bgp", .key = fourth, .profile = "fast", .listener = [&](const Event&) {
                     told.emplace_back("two");
                   }});
  auto wanted = clients.wanted();
  ASSERT_EQ(wanted.size(), 3U);
  EXPECT_EQ(wanted[second].settings.desired_min_tx_us, 300'000U) << "the configuration's own peer goes first";
  EXPECT_EQ(wanted[fourth].settings.desired_min_tx_us, 10'000U);
  EXPECT_TRUE((wanted[{.peer = ip("10.0.0.3")}].settings.admin_down));
  EXPECT_EQ(clients.owners(second), (std::vector<std::string>{"static", "bgp"}));
  clients.tell({.key = second, .state = State::Up});
  EXPECT_EQ(told, std::vector<std::string>{"oneup"});
  clients.configure({}, {fast}, {});
  EXPECT_EQ(clients.wanted()[second].settings.desired_min_tx_us, 10'000U);
  clients.remove(one);
  clients.remove(two);
  EXPECT_TRUE(clients.wanted().empty());
}

TEST(BfdClients, AListenerMayRemoveItself) {
  Clients clients;
  const PeerKey key{.peer = ip("10.0.0.2")};
  int told = 0;
  Clients::Handle handle = 0;
  Clients::Handle other = 0;
  handle = clients.add({.owner = "a", .key = key, .listener = [&](const Event&) {
                          ++told;
                          clients.remove(handle);
                          clients.remove(other);
                        }});
  other = clients.add({.owner = "b", .key = key, .listener = [&](const Event&) { ++told; }});
  clients.tell({.key = key, .state = State::Down, .failed = true});
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(clients.wanted().empty());
}

TEST(BfdClients, KeysOfAuthentication) {
  BfdSettings settings;
  settings.auth = BfdAuth::MeticulousSha1;
  settings.key_id = 7;
  settings.key = "secret";
  const Settings out = settings_of(settings);
  EXPECT_EQ(out.key.type, AuthType::MeticulousSha1);
  EXPECT_EQ(out.key.id, 7);
  EXPECT_EQ(out.key.secret.size(), 6U);
}

}  // namespace
}  // namespace lossless::bfd
