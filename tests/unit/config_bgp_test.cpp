// SPDX-License-Identifier: Apache-2.0
// [bgp] and [[bgp_neighbor]]: values, errors, the written form.
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/core/config.h"

namespace lossless {
namespace {

constexpr const char* kGood = R"(
[bgp]
on = true
asn = 4200000001
router_id = "10.0.0.1"
local_pref = 200

[[bgp_neighbor]]
address = "10.0.0.2"
client = true
password = "hunter1"

[[bgp_neighbor]]
address = "10.0.0.0/24"
asn = 65002
ipv4_unicast = true

[[port]]
name = "p1"
)";

std::string first_error(const std::string& text) {
  const auto got = parse_config(text + "[[port]]\nname = \"p1\"\n", "f");
  return got ? "" : got.error().front().text();
}

TEST(ConfigBgp, Values) {
  const auto got = parse_config(kGood, "f");
  ASSERT_TRUE(got) << got.error().front().text();
  EXPECT_EQ(got->bgp.asn, 4200000001U);
  ASSERT_EQ(got->bgp_neighbors.size(), 2U);
  EXPECT_TRUE(got->bgp_neighbors[0].client && got->bgp_neighbors[0].inof);
  EXPECT_EQ(got->bgp_neighbors[1].asn, 65002U);
}

TEST(ConfigBgp, ComesBackAsWritten) {
  const auto got = parse_config(kGood, "f");
  ASSERT_TRUE(got);
  const auto again = parse_config(to_toml(*got), "g");
  ASSERT_TRUE(again) << again.error().front().text();
  EXPECT_EQ(*again, *got);
}

TEST(ConfigBgp, Errors) {
  EXPECT_EQ(first_error("[bgp]\non = true\n"), "f:2:6: bgp.on: true needs 'asn', the number of our AS");
  EXPECT_EQ(first_error("[bgp]\non = true\nasn = 1\n"),
            "f:2:6: bgp.on: true needs 'router_id', by which other switches know this one");
  EXPECT_EQ(first_error("[bgp]\nhold_s = 2\n"),
            "f:2:10: bgp.hold_s: 2 is too short; allowed: 0 (for ever), or 3 to 65535");
  EXPECT_NE(first_error("[bgp]\nrouter_id = \"0.0.0.0\"\n").find("allowed: an IPv4 address, not 0.0.0.0"),
            std::string::npos);
  EXPECT_NE(first_error("[[bgp_neighbor]]\nclient = true\n").find("lacks 'address'"), std::string::npos);
  EXPECT_NE(
      first_error("[[bgp_neighbor]]\naddress = \"10.0.0.1\"\n[[bgp_neighbor]]\naddress = \"10.0.0.1\"\n")
          .find("is what \"10.0.0.1\" has already"),
      std::string::npos);
  EXPECT_NE(
      first_error("[[bgp_neighbor]]\naddress = \"10.0.0.1\"\nclinet = true\n").find("did you mean 'client'"),
      std::string::npos);
}

constexpr const char* kKeysAndFilters = R"(
[[key_chain]]
name = "fabric"

[[key_chain.key]]
id = 1
algorithm = "hmac-sha-256"
secret = "old"
send_until = "2026-12-01T00:00:00Z"
accept_until = "2026-12-02T00:00:00Z"

[[key_chain.key]]
id = 2
receive_id = 3
secret = "new"
send_from = "2026-12-01T00:00:00Z"

[[bgp_filter]]
name = "storage"
[[bgp_filter.rule]]
action = "deny"
kind = "zone-host"
zone = "lab*"
prefix = "10.0.0.0/8"
[[bgp_filter.rule]]
action = "permit"
prefix = "10.0.0.0/8"
ge = 16
le = 24

[[bgp_neighbor]]
address = "10.0.0.2"
key_chain = "fabric"
import = "storage"
export = "storage"

[[bgp_neighbor]]
address = "fe80::1"
interface = "swp1"
[[bgp_neighbor]]
address = "fe80::1"
interface = "swp2"

[[port]]
name = "p1"
)";

TEST(ConfigBgp, KeysAndFilters) {
  const auto got = parse_config(kKeysAndFilters, "f");
  ASSERT_TRUE(got) << got.error().front().text();
  ASSERT_EQ(got->key_chains.size(), 1U);
  const net::KeyChain& keys = got->key_chains[0].keys;
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].receive_id, 1);
  EXPECT_EQ(keys[0].send, (net::Lifetime{0, 1796083200}));
  EXPECT_EQ(keys[0].accept.until, 1796169600);
  EXPECT_EQ(keys[1].receive_id, 3);
  EXPECT_EQ(keys[1].send, (net::Lifetime{.from = 1796083200}));
  ASSERT_EQ(got->bgp_filters.size(), 1U);
  EXPECT_EQ(got->bgp_filters[0].otherwise, BgpAction::Deny);
  ASSERT_EQ(got->bgp_filters[0].rules.size(), 2U);
  EXPECT_EQ(got->bgp_filters[0].rules[1].le, 24U);
  const auto again = parse_config(to_toml(*got), "g");
  ASSERT_TRUE(again) << again.error().front().text();
  EXPECT_EQ(*again, *got);
}

TEST(ConfigBgp, ChangesOfKeysAndFilters) {
  const auto from = parse_config(kKeysAndFilters, "f");
  auto to = from;
  ASSERT_TRUE(from);
  to->key_chains[0].keys[1].secret = "newer";
  to->bgp_filters[0].rules[1].le = 32;
  to->bgp_neighbors[2].description = "x";
  std::vector<std::string> paths;
  for (const ConfigChange& change : diff_config(*from, *to)) {
    paths.push_back(change.path);
    EXPECT_EQ(change.to.find("newer"), std::string::npos);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"bgp_neighbor.fe80::1%swp2.description",
                                             "bgp_filter.storage.rule[2]", "key_chain.fabric.key.2.secret"}));
}

TEST(ConfigBgp, ErrorsOfKeysAndFilters) {
  const std::string chain = "[[key_chain]]\nname = \"c\"\n[[key_chain.key]]\n";
  const std::string neighbor = "[[bgp_neighbor]]\naddress = \"10.0.0.1\"\n";
  const std::string rule = "[[bgp_filter]]\nname = \"f\"\n[[bgp_filter.rule]]\naction = \"permit\"\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {chain + "id = 1\n", "key_chain[1].key[1]: lacks 'secret'"},
      {chain + "id = 256\nsecret = \"s\"\n", "allowed: an integer from 0 to 255"},
      {chain + "id = 1\nsecret = \"s\"\nsend_from = \"tomorrow\"\n",
       "allowed: a time in UTC such as \"2026-12-31T23:59:59Z\""},
      {chain + "id = 1\nsecret = \"s\"\nsend_from = 2026-12-31T23:59:59Z\n", "is a date or time"},
      {chain + "id = 1\nsecret = \"s\"\n[[key_chain.key]]\nid = 1\nsecret = \"t\"\n",
       "key 1: its send or receive ID is another key's"},
      {"[[key_chain]]\nname = \"c\"\n", "lacks 'key'"},
      {neighbor + "key_chain = \"c\"\n",
       "key_chain: \"c\" is not there; allowed: the name of a table that is "
       "there; there is none"},
      {chain + "id = 1\nsecret = \"s\"\n" + neighbor + "key_chain = \"c\"\npassword = \"p\"\n",
       "TCP-AO does not go with TCP-MD5"},
      {chain + "id = 1\nsecret = \"s\"\n" + neighbor +
           "key_chain = \"c\"\n[[bgp_neighbor]]\naddress = \"10.0.0.0/24\"\npassword = \"p\"\n",
       "does not go with \"10.0.0.1\", which is signed in the other way"},
      {neighbor + "import = \"f\"\n", "import: \"f\" is not there"},
      {"[[bgp_neighbor]]\naddress = \"fe80::1\"\n", "is a link-local address; allowed: with interface"},
      {neighbor + "interface = \"swp1\"\n", "interface: is for link-local addresses"},
      {"[[bgp_neighbor]]\naddress = \"fe80::/64\"\ninterface = \"swp1\"\n", "is a range of link-local"},
      {rule + "ge = 8\n", "ge: is of prefixes; allowed: with prefix"},
      {rule + "prefix = \"10.0.0.0/8\"\nge = 4\n", "bounds from 4 to 32 bits; allowed: 8 <= ge <= le <= 32"},
      {rule + "prefix = \"10.0.0.0/8\"\nge = 24\nle = 16\n", "bounds from 24 to 16 bits"},
      {rule + "prefix = \"10.0.0.1-10.0.0.2\"\n", "allowed: an address or a prefix"},
      {rule + "kind = \"host\"\nzone = \"z\"\n", "zone: is of no use here"},
      {rule + "kind = \"zone\"\nprefix = \"10.0.0.0/8\"\n", "prefix: is of no use here"},
      {rule + "kind = \"hosts\"\n", "kind: \"hosts\" is not one of the choices"},
      {"[[bgp_filter]]\nname = \"f\"\n[[bgp_filter.rule]]\nzone = \"z\"\n", "lacks 'action'"},
  };
  for (const auto& [text, part] : cases)
    EXPECT_NE(first_error(text).find(part), std::string::npos) << text << first_error(text);
}

TEST(ConfigBgp, ChangesDoNotShowPasswords) {
  auto from = parse_config(kGood, "f");
  auto to = parse_config(kGood, "f");
  ASSERT_TRUE(from && to);
  to->bgp_neighbors[0].password = "hunter2";
  std::ranges::reverse(to->bgp_neighbors);
  const auto changes = diff_config(*from, *to);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].path, "bgp_neighbor.10.0.0.2.password");
  EXPECT_EQ(changes[0].from.find("hunter1"), std::string::npos);
  EXPECT_EQ(changes[0].to.find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace lossless
