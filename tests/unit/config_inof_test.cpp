// SPDX-License-Identifier: Apache-2.0
// The tables under [inof]: read, refused, written, compared.
#include <gtest/gtest.h>

#include "daemon/core/config.h"

namespace lossless {
namespace {

constexpr const char* kRest = "[lldp]\nenabled = true\n[[port]]\nname = \"p\"\n";
constexpr const char* kFull = R"([inof]
on = true
dialects = "china-mobile"
age = 30
hard_zoning = true
[[inof.zone]]
name = "z2"
hosts = ["fd00::/64", "10.0.0.1", "10.0.0.4-10.0.0.9", "10.0.0.1"]
[[inof.zone]]
name = "z1"
[inof.whitelist]
on = true
exceptions = ["p9"]
[[inof.whitelist.allow]]
port = "p"
hosts = ["10.0.0.0/30"]
)";

InofConfig read(const std::string& text) {
  const auto config = parse_config(text + kRest, "f");
  EXPECT_TRUE(config) << (config ? "" : config.error().front().text());
  return config ? config->inof : InofConfig{};
}

TEST(ConfigInof, Defaults) {
  const InofConfig config = read("");
  EXPECT_FALSE(config.on);
  EXPECT_EQ(config.age_s, 120U);
  EXPECT_TRUE(config.default_zone);
  EXPECT_FALSE(config.hard_zoning);
}

TEST(ConfigInof, ReadsAndSortsZones) {
  const InofConfig config = read(kFull);
  ASSERT_EQ(config.zones.size(), 2U);
  EXPECT_EQ(config.zones[0].name, "z1");
  ASSERT_EQ(config.zones[1].hosts.size(), 3U) << "one was there twice";
  EXPECT_EQ(to_string(config.zones[1].hosts[0]), "10.0.0.1");
  EXPECT_EQ(to_string(config.zones[1].hosts[2]), "fd00::/64");
  EXPECT_EQ(config.dialects, InofDialects::ChinaMobile);
  EXPECT_EQ(config.whitelist.exceptions, std::vector<std::string>{"p9"});
  ASSERT_EQ(config.whitelist.allow.size(), 1U);
  EXPECT_EQ(config.whitelist.allow[0].port, "p");
}

TEST(ConfigInof, ReadsBackAsTheSame) {
  const InofConfig config = read(kFull);
  EXPECT_EQ(read(to_toml(config)), config);
  const auto alone = parse_inof(to_toml(config), "state");
  ASSERT_TRUE(alone);
  EXPECT_EQ(*alone, config);
}

TEST(ConfigInof, KeptStateTakesNothingElse) {
  const auto config = parse_inof("[api]\n", "state");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().front().text(), "state:1:2: unknown key 'api' at the top level; known keys: inof");
}

TEST(ConfigInof, Differences) {
  const auto from = parse_config(std::string(kFull) + kRest, "f");
  auto to = *from;
  to.inof.hard_zoning = false;
  to.inof.zones.erase(to.inof.zones.begin());
  to.inof.whitelist.exceptions.clear();
  const std::vector<ConfigChange> expected{{"inof.hard_zoning", "true", "false"},
                                           {"inof.whitelist.exceptions", "[\"p9\"]", "[]"},
                                           {"inof.zone.z1.hosts", "[]", ""}};
  EXPECT_EQ(diff_config(*from, to), expected);
}

TEST(ConfigInof, SaysWhatIsWrong) {
  const auto first = [](const std::string& text) {
    const auto config = parse_config(text + kRest, "f");
    return config ? std::string("accepted") : config.error().front().text();
  };
  const std::string form = "an address, a prefix such as \"10.0.0.0/24\", or \"FIRST-LAST\", IPv4 or IPv6";
  EXPECT_EQ(first("[inof]\nage = 1\n"),
            "f:2:7: inof.age: 1 is too small; allowed: an integer from 3 to 3600");
  EXPECT_EQ(first("[inof]\nonn = true\n"), "f:2:1: unknown key 'onn' in inof; did you mean 'on'?");
  EXPECT_EQ(
      first("[[inof.zone]]\nname = \"a\"\nhosts = [\"10.0.0.1/24\"]\n"),
      "f:3:10: inof.zone[1].hosts.0: \"10.0.0.1/24\" has bits set beyond its prefix length; the prefix is "
      "10.0.0.0/24; allowed: " +
          form);
  EXPECT_EQ(first("[[inof.zone]]\nname = \"a\"\nhosts = [1]\n"),
            "f:3:10: inof.zone[1].hosts.0: 1 is an integer; allowed: " + form);
  EXPECT_EQ(first("[[inof.zone]]\nhosts = []\n"),
            "f:1:1: inof.zone[1]: lacks 'name', by which the zone is shown");
  EXPECT_EQ(first("[[inof.zone]]\nname = \"default\"\n").substr(0, 38),
            "f:2:8: inof.zone[1].name: \"default\" is");
  EXPECT_EQ(
      first("[[inof.zone]]\nname = \"a\"\n[[inof.zone]]\nname = \"a\"\n"),
      "f:4:8: inof.zone[2].name: \"a\" is a second zone of that name; the first is at line 2, column 8; "
      "allowed: each name once");
  EXPECT_EQ(first("[[inof.whitelist.allow]]\nhosts = []\n"),
            "f:1:1: inof.whitelist.allow[1]: lacks 'port', the interface that the hosts may join on");
  EXPECT_EQ(first("[inof]\nzone = 3\n"),
            "f:2:8: inof.zone: 3 is an integer; allowed: up to 16383 tables, each under [[inof.zone]]");
}

}  // namespace
}  // namespace lossless
