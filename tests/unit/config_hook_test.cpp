// SPDX-License-Identifier: Apache-2.0
// Port groups and hook rules: read, checked, written, and as the datapath has them.
#include <gtest/gtest.h>

#include "daemon/hook/tables.h"

namespace lossless {
namespace {

const std::string kPorts =
    "[queue.3]\nlossless = true\n[queue.4]\nlossless = true\n"
    "[[port]]\nname = \"a\"\n[[port]]\nname = \"b\"\n[[port]]\nname = \"c\"\n";
const std::string kGroup = "[[port_group]]\nname = \"up\"\nports = [\"a\", \"b\"]\n";

Config parsed(const std::string& text) {
  const auto config = parse_config(kPorts + text, "x.toml");
  EXPECT_TRUE(config) << config.error().front().text();
  return config.value_or(Config{});
}

std::string errors(const std::string& text) {
  const auto config = parse_config(kPorts + text, "x.toml");
  if (config) return "no error";
  std::string all;
  for (const ConfigError& e : config.error()) all += (all.empty() ? "" : "\n") + e.message;
  return all;
}

TEST(ConfigHook, GroupsAndRulesBecomeRows) {
  const Config config =
      parsed(kGroup +
             "[[port_group]]\nname = \"down\"\nports = [\"c\"]\n"
             "[[hook_flow]]\ndscp = [26, 28]\nto_dscp = 34\ntc = 4\n"
             "[[hook_flow]]\ngroup = \"down\"\ndscp = [0]\nto_dscp = 1\ntc = 2\ndot1p = 7\n");
  EXPECT_EQ(hook::group_of(config, "a"), 1);
  EXPECT_EQ(hook::group_of(config, "c"), 2);
  EXPECT_EQ(hook::group_of(config, "z"), LL_HOOK_NO_GROUP);
  const ll_hook up = hook::make_row(config, 1);
  const ll_hook down = hook::make_row(config, 2);
  for (const ll_hook& row : {up, down}) {
    EXPECT_EQ(row.by_dscp[26].on, 1);
    EXPECT_EQ(row.by_dscp[28].dscp, 34);
    EXPECT_EQ(row.by_dscp[28].tc, 4);
    EXPECT_EQ(row.by_dscp[28].dot1p, 4) << "the TC by default";
    EXPECT_EQ(ll_hook_bad_rule(&row), LL_DSCPS);
  }
  EXPECT_EQ(up.by_dscp[0].on, 0);
  EXPECT_EQ(down.by_dscp[0].dot1p, 7);
  for (const unsigned group : {0U, 3U, 255U}) EXPECT_EQ(hook::make_row(config, group).by_dscp[26].on, 0);
  EXPECT_EQ(hook::target_tcs(config), 1U << 4 | 1U << 2);
}

TEST(ConfigHook, WrittenAndReadAgain) {
  const Config config = parsed(kGroup +
                               "[[hook_flow]]\ngroup = \"up\"\ndscp = [26]\nto_dscp = 34\ntc = 4\n"
                               "[[hook_flow]]\ndscp = [28, 30]\nto_dscp = 36\ntc = 4\ndot1p = 0\n");
  const auto again = parse_config(to_toml(config), "y.toml");
  ASSERT_TRUE(again) << to_toml(config) << again.error().front().text();
  EXPECT_EQ(*again, config) << to_toml(config);
  EXPECT_TRUE(diff_config(config, *again).empty());
}

TEST(ConfigHook, DifferencesAreNamed) {
  const Config a = parsed(kGroup + "[[hook_flow]]\ndscp = [26, 28]\nto_dscp = 34\ntc = 4\n");
  const Config b = parsed(
      "[[port_group]]\nname = \"up\"\nports = [\"a\"]\n"
      "[[hook_flow]]\ndscp = [28]\nto_dscp = 34\ntc = 4\ndot1p = 5\n");
  EXPECT_EQ(diff_config(a, b),
            (std::vector<ConfigChange>{{"hook_flow.*.26", "{ to_dscp = 34, dot1p = 4, tc = 4 }", ""},
                                       {"hook_flow.*.28", "{ to_dscp = 34, dot1p = 4, tc = 4 }",
                                        "{ to_dscp = 34, dot1p = 5, tc = 4 }"},
                                       {"port_group.up", "[\"a\", \"b\"]", "[\"a\"]"}}));
}

struct Refused {
  std::string text;
  std::string error;
};

TEST(ConfigHook, WhatDoesNotFitIsRefused) {
  const std::string rule = "[[hook_flow]]\n";
  for (const Refused& c : std::vector<Refused>{
           {"[[port_group]]\nname = \"up\"\n", "port_group[1]: lacks 'ports'"},
           {"[[port_group]]\nname = \"up\"\nports = []\n",
            "port_group[1].ports: [] is empty; allowed: an array of one or more names of ports, each once"},
           {"[[port_group]]\nname = \"up\"\nports = [1]\n",
            "port_group[1].ports: 1 is not allowed here; allowed: an array of one or more names of ports, "
            "each once"},
           {"[[port_group]]\nname = \"up\"\nports = [\"z\"]\n",
            "port_group[1].ports: has \"z\", which is no port; allowed: names of [[port]] tables"},
           {kGroup + "[[port_group]]\nname = \"more\"\nports = [\"b\"]\n",
            "port_group[2].ports: has \"b\", which is in group \"up\" already; allowed: each port once, in "
            "one "
            "group"},
           {kGroup + "[[port_group]]\nname = \"up\"\nports = [\"c\"]\n",
            "port_group[2].name: is a second group of that name; allowed: each name once"},
           {rule + "dscp = [26]\nto_dscp = 34\ntc = 4\n",
            "hook_flow[1].dscp: is for every port group, and there is none: add a [[port_group]]"},
           {kGroup + rule + "group = \"down\"\ndscp = [26]\nto_dscp = 34\ntc = 4\n",
            "hook_flow[1].group: \"down\" is no port group; allowed: names of [[port_group]] tables"},
           {kGroup + rule + "to_dscp = 34\ntc = 4\n", "hook_flow[1]: lacks 'dscp'"},
           {kGroup + rule + "dscp = [64]\nto_dscp = 34\ntc = 4\n",
            "hook_flow[1].dscp: 64 is not allowed here; allowed: an array of one or more DSCPs, integers "
            "from 0 to "
            "63"},
           {kGroup + rule + "dscp = [26]\nto_dscp = 64\ntc = 4\n",
            "hook_flow[1].to_dscp: 64 is too large; allowed: an integer from 0 to 63"},
           {kGroup + rule + "dscp = [26, 26]\nto_dscp = 34\ntc = 4\n",
            "hook_flow[1].dscp: has 26, for which group \"up\" has a rule already; allowed: each DSCP once "
            "in a "
            "group"},
           {kGroup + rule + "dscp = [26]\nto_dscp = 28\ntc = 4\n" + rule +
                "dscp = [28]\nto_dscp = 34\ntc = 4\n",
            "hook_flow[1].to_dscp: has a rule itself in group \"up\", so the next switch would move the flow "
            "again; "
            "allowed: a DSCP without a rule"},
           {kGroup + rule + "dscp = [26]\nto_dscp = 40\ntc = 5\n",
            "hook_flow[1].tc: is lossy on port \"a\", but DSCP 26 comes into port \"a\" as TC 3, which is "
            "lossless; "
            "allowed: a TC that is lossless on all ports of the group"},
       }) {
    EXPECT_EQ(errors(c.text), c.error) << c.text;
  }
}

TEST(ConfigHook, NoTables) {
  const auto config = parse_config("port_group = 3\nhook_flow = [1]\n" + kPorts, "x.toml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error()[0].text(),
            "x.toml:1:14: port_group: 3 is an integer; allowed: up to 255 tables, each under [[port_group]]");
  EXPECT_EQ(config.error()[1].text(),
            "x.toml:2:14: hook_flow[1]: 1 is an integer; allowed: a table, under [[hook_flow]]");
}

}  // namespace
}  // namespace lossless
