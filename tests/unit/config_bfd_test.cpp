// SPDX-License-Identifier: Apache-2.0
// [bfd], [[bfd_profile]] and [[bfd_peer]].
#include <gtest/gtest.h>

#include "daemon/core/config.h"

namespace lossless {
namespace {

const std::string kPort = "\n[[port]]\nname = \"eth0\"\n";

Config parsed(const std::string& text) {
  const auto config = parse_config(text + kPort, "x.toml");
  if (!config) ADD_FAILURE() << config.error().front().text();
  return config.value_or(Config{});
}

std::string first_error(const std::string& text) {
  const auto config = parse_config(text + kPort, "x.toml");
  return config ? "" : config.error().front().message;
}

const std::string kAll = R"(
[bfd]
transmit_ms = 100
key_id = 9
auth = "keyed-md5"
key = "common"
[[bfd_profile]]
name = "fast"
transmit_ms = 10
receive_ms = 10
auth = "meticulous-sha1"
key = "12345678901234567890"
[[bfd_profile]]
name = "open"
auth = "none"
passive = true
demand = true
[[bfd_peer]]
address = "10.0.0.2"
profile = "fast"
[[bfd_peer]]
address = "fe80::2"
interface = "eth0"
[[bfd_peer]]
address = "10.9.0.1"
local = "10.0.0.1"
multihop = true
min_ttl = 250
shutdown = true
)";

TEST(ConfigBfd, Values) {
  const Config config = parsed(kAll);
  ASSERT_EQ(config.bfd_profiles.size(), 2U);
  const BfdProfile& fast = config.bfd_profiles[0];
  EXPECT_EQ(fast.transmit_ms, 10U);
  EXPECT_EQ(fast.key_id, 9U) << "from [bfd]";
  EXPECT_EQ(fast.auth, BfdAuth::MeticulousSha1);
  EXPECT_EQ(config.bfd_profiles[1].transmit_ms, 100U);
  EXPECT_EQ(config.bfd_profiles[1].key, "") << "of no use without authentication";
  ASSERT_EQ(config.bfd_peers.size(), 3U);
  EXPECT_EQ(config.bfd_peers[1].interface, "eth0");
  EXPECT_EQ(config.bfd_peers[2].min_ttl, 250U);
}

TEST(ConfigBfd, WrittenAndReadAgain) {
  const Config config = parsed(kAll);
  const auto again = parse_config(to_toml(config), "y.toml");
  ASSERT_TRUE(again) << to_toml(config) << again.error().front().text();
  EXPECT_EQ(*again, config) << to_toml(config);
  EXPECT_TRUE(diff_config(config, *again).empty());
}

TEST(ConfigBfd, DifferencesHideKeys) {
  const Config from = parsed(kAll);
  Config to = from;
  to.bfd_profiles[0].key = "other";
  to.bfd_profiles[0].multiplier = 5;
  to.bfd_peers.erase(to.bfd_peers.begin() + 2);
  to.bfd_peers[1].profile = "fast";
  const auto changes = diff_config(from, to);
  std::string all;
  for (const ConfigChange& change : changes)
    all += change.path + ": " + change.from + " -> " + change.to + "\n";
  EXPECT_EQ(all,
            "bfd_profile.fast.multiplier: 3 -> 5\n"
            "bfd_profile.fast.key: (secret) -> (another secret)\n"
            "bfd_peer.10.9.0.1,10.0.0.1,multihop: { local = \"10.0.0.1\", multihop = true, min_ttl = 250, "
            "shutdown = true } -> \n"
            "bfd_peer.fe80::2,eth0: { interface = \"eth0\", multihop = false, shutdown = false } -> "
            "{ interface = \"eth0\", multihop = false, profile = \"fast\", shutdown = false }\n");
}

struct Wrong {
  std::string text;
  std::string error;
};

TEST(ConfigBfd, WhatIsRefused) {
  const std::string peer = "[[bfd_peer]]\naddress = ";
  const std::string known = peer + "\"10.0.0.1\"\n";
  for (const Wrong& wrong : std::initializer_list<Wrong>{
           {"[bfd]\ntransmit_ms = 2\n",
            "bfd.transmit_ms: 2 is too small; allowed: an integer from 3 to 60000"},
           {"[bfd]\nauth = \"keyed-md5\"\n", "bfd.auth: needs a key; allowed: with key beside it"},
           {"[bfd]\nkey = \"x\"\n",
            "bfd.key: is of no use without authentication; allowed: with auth beside it"},
           {"[bfd]\nauth = \"simple\"\nkey = \"12345678901234567\"\n",
            "bfd.key: has 17 characters; allowed: 1 to 16 (20 with keyed-sha1 and meticulous-sha1)"},
           {"[[bfd_profile]]\nauth = \"none\"\n", "bfd_profile[1]: lacks 'name', by which peers refer to it"},
           {"[[bfd_profile]]\nname = \"a\"\nauth = \"simple\"\n",
            "bfd_profile[1].auth: needs a key; allowed: with key beside it"},
           {"[[bfd_profile]]\nname = \"a\"\n[[bfd_profile]]\nname = \"a\"\n",
            "bfd_profile[2].name: \"a\" is a second profile of that name; the first is at line 2, column 8; "
            "allowed: each "
            "name once"},
           {"[[bfd_peer]]\nmultihop = true\n", "bfd_peer[1]: lacks 'address', the neighbour's"},
           {peer + "\"10.0.0\"\n",
            "bfd_peer[1].address: \"10.0.0\" is not allowed; allowed: an IPv4 or IPv6 address"},
           {peer + "\"fe80::1\"\n",
            "bfd_peer[1].address: is a link-local address; allowed: with interface beside it"},
           {peer + "\"10.0.0.1\"\nlocal = \"fd00::1\"\n",
            "bfd_peer[1].local: is of another family than address; allowed: IPv4 with IPv4, IPv6 with IPv6"},
           {peer + "\"10.0.0.1\"\nmultihop = true\ninterface = \"eth0\"\n",
            "bfd_peer[1].interface: says where the neighbour is, and it is several hops away; allowed: "
            "without "
            "multihop"},
           {peer + "\"10.0.0.1\"\nmin_ttl = 3\n",
            "bfd_peer[1].min_ttl: 3 is for neighbours several hops away; a neighbour on the link has 255; "
            "allowed: with multihop = true"},
           {peer + "\"10.0.0.1\"\nprofile = \"a\"\n",
            "bfd_peer[1].profile: \"a\" is no profile; allowed: names of [[bfd_profile]] tables"},
           {known + known,
            "bfd_peer[2].address: \"10.0.0.1\" is a second peer of that address; allowed: each once, or with "
            "another interface or local address"},
       }) {
    EXPECT_EQ(first_error(wrong.text), wrong.error) << wrong.text;
  }
}

}  // namespace
}  // namespace lossless
