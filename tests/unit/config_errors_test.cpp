// SPDX-License-Identifier: Apache-2.0
// What a bad file gets: each kind of error with its exact place and words.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/core/config_keys.h"
#include "daemon/core/config_source.h"

namespace lossless {
namespace {

constexpr const char* kSize = "an integer of bytes or a string such as \"100KB\", from 3KB to 1GB";
constexpr const char* kThreshold = "an integer of bytes or a string such as \"100KB\", from 0B to 1GB";
constexpr const char* kRate =
    "0 (not limited), or an integer of bit/s or a string such as \"2.5gbit\", from 1mbit to 800gbit";
constexpr const char* kPort = "\n[[port]]\nname = \"a\"\n";

std::vector<std::string> errors(const std::string& text) {
  const auto config = parse_config(text, "f");
  std::vector<std::string> out;
  if (config) return out;
  for (const ConfigError& e : config.error()) out.push_back(e.text());
  return out;
}

struct Case {
  std::string text;  // a port is put behind it
  std::string error;
};

void expect_each(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(errors(c.text + kPort), std::vector<std::string>{c.error}) << c.text;
  }
}

std::string top_keys() {
  std::string out;
  for (const auto& key : keys<Config>()) out.append(out.empty() ? "" : ", ").append(key.name);
  for (const std::string_view table : kTopTables) out.append(", ").append(table);
  return out;
}

std::string allowed(const char* what) { return std::string("; allowed: ") + what; }

TEST(ConfigErrors, WrongTypes) {
  expect_each({
      {"instance = 1", "f:1:12: instance: 1 is an integer; allowed: 1 to 32 of a-z, 0-9, '_' and '-'"},
      {"instance = true", "f:1:12: instance: true is a boolean; allowed: 1 to 32 of a-z, 0-9, '_' and '-'"},
      {"api.mode = 660",
       "f:1:12: api.mode: 660 is an integer; allowed: a string of 3 or 4 octal digits, up to \"0777\""},
      {"[queue.3]\nlossless = \"true\"",
       "f:2:12: queue.3.lossless: \"true\" is a string; allowed: true or false"},
      {"[queue.3]\nlossless = 1", "f:2:12: queue.3.lossless: 1 is an integer; allowed: true or false"},
      {"[queue.3]\nweight = 5.0",
       "f:2:10: queue.3.weight: 5.0 is a float; allowed: an integer from 1 to 100"},
      {"[queue.3]\nweight = '5'",
       "f:2:10: queue.3.weight: '5' is a string; allowed: an integer from 1 to 100"},
      {"[queue.3]\nweight = 1979-05-27",
       "f:2:10: queue.3.weight: 1979-05-27 is a date or time; allowed: an integer from 1 to 100"},
      {"[queue.3]\nweight = [5]",
       "f:2:10: queue.3.weight: [5] is an array; allowed: an integer from 1 to 100"},
      {"[queue.3]\nlimit = 1e6", "f:2:9: queue.3.limit: 1e6 is a float" + allowed(kSize)},
      {"[queue.3]\nlimit = { a = 1 }", "f:2:9: queue.3.limit: { a = 1 } is a table" + allowed(kSize)},
      {"[queue.3.limit]\na = 1", "f:1:1: queue.3.limit: [queue.3.limit] is a table" + allowed(kSize)},
      {"[queue.3]\necn.pmax = 1",
       "f:2:12: queue.3.ecn.pmax: 1 is an integer; allowed: a float above 0.0, up to 1.0"},
      {"[queue.3]\necn = 3",
       "f:2:7: queue.3.ecn: 3 is an integer; allowed: a table such as { kmin = \"100KB\", kmax = \"400KB\", "
       "pmax = 0.2 "
       "}, or false"},
      {"[queue.3]\necn = true",
       "f:2:7: queue.3.ecn: true does not say where marking begins; allowed: a table such as { kmin = "
       "\"100KB\", kmax = "
       "\"400KB\", pmax = 0.2 }, or false"},
      {"queue = 3", "f:1:9: queue: 3 is an integer; allowed: a table"},
      {"[queue]\n3 = false", "f:2:5: queue.3: false is a boolean; allowed: a table"},
      {"api = []", "f:1:7: api: [] is an array; allowed: a table"},
      {"[[maps]]", "f:1:1: maps: [[maps]] is an array; allowed: a table"},
      {"[maps]\ndot1p_tc = { 0 = 1 }",
       "f:2:12: maps.dot1p_tc: { 0 = 1 } is a table; allowed: an array of 8 integers from 0 to 7"},
      {"[maps]\ndscp_dscp = [1]",
       "f:2:13: maps.dscp_dscp: [1] is an array; allowed: a table of FROM = TO, with FROM from 0 to 63 and "
       "TO an "
       "integer from 0 to 63"},
  });
}

TEST(ConfigErrors, Ranges) {
  expect_each({
      {"[queue.3]\nweight = 0", "f:2:10: queue.3.weight: 0 is too small; allowed: an integer from 1 to 100"},
      {"[queue.3]\nweight = 101",
       "f:2:10: queue.3.weight: 101 is too large; allowed: an integer from 1 to 100"},
      {"[queue.3]\nweight = -1", "f:2:10: queue.3.weight: -1 is negative; allowed: an integer from 1 to 100"},
      {"[queue.3]\nweight = -9_223_372_036_854_775_808",
       "f:2:10: queue.3.weight: -9_223_372_036_854_775_808 is negative; allowed: an integer from 1 to 100"},
      {"[queue.3]\nweight = 0x7fffffffffffffff",
       "f:2:10: queue.3.weight: 0x7fffffffffffffff is too large; allowed: an integer from 1 to 100"},
      {"[queue.3]\ngroup = 3", "f:2:9: queue.3.group: 3 is too large; allowed: an integer from 1 to 2"},
      {"[queue.3]\nlimit = 2999", "f:2:9: queue.3.limit: 2999 is too small" + allowed(kSize)},
      {"[queue.3]\nlimit = \"1000000001B\"",
       "f:2:9: queue.3.limit: \"1000000001B\" is too large" + allowed(kSize)},
      {"[queue.3]\nlimit = \"99999999999999999999GB\"",
       "f:2:9: queue.3.limit: \"99999999999999999999GB\" is too large" + allowed(kSize)},
      {"[queue.3]\nlimit = \"2XB\"",
       "f:2:9: queue.3.limit: \"2XB\" has no known unit (units are B, KB, MB, GB, KiB, MiB, GiB)" +
           allowed(kSize)},
      {"[queue.3]\nlimit = \"-2MB\"", "f:2:9: queue.3.limit: \"-2MB\" is negative" + allowed(kSize)},
      {"[queue.3]\nlimit = \"\"", "f:2:9: queue.3.limit: \"\" is empty" + allowed(kSize)},
      {"[queue.3]\necn.kmin = -1", "f:2:12: queue.3.ecn.kmin: -1 is negative" + allowed(kThreshold)},
      {"[queue.3]\necn.pmax = nan",
       "f:2:12: queue.3.ecn.pmax: nan is not a number; allowed: a float above 0.0, up to 1.0"},
      {"[queue.3]\necn.pmax = inf",
       "f:2:12: queue.3.ecn.pmax: inf is too large; allowed: a float above 0.0, up to 1.0"},
      {"[queue.3]\necn.pmax = -inf",
       "f:2:12: queue.3.ecn.pmax: -inf is negative; allowed: a float above 0.0, up to 1.0"},
      {"[queue.3]\necn.pmax = 0.0",
       "f:2:12: queue.3.ecn.pmax: 0.0 is too small; allowed: a float above 0.0, up to 1.0"},
      {"[queue.3]\necn.pmax = -0.0",
       "f:2:12: queue.3.ecn.pmax: -0.0 is too small; allowed: a float above 0.0, up to 1.0"},
      {"[queue.3]\necn.pmax = 1.0000001",
       "f:2:12: queue.3.ecn.pmax: 1.0000001 is too large; allowed: a float above 0.0, up to 1.0"},
      {"[queue.3]\necn.ewma = 16",
       "f:2:12: queue.3.ecn.ewma: 16 is too large; allowed: an integer from 0 to 15"},
      {"[maps]\ndot1p_tc = [0, 1, 2, 3, 4, 5, 6, 8]",
       "f:2:34: maps.dot1p_tc.7: 8 is too large; allowed: an integer from 0 to 7"},
      {"[maps]\ndot1p_tc = [0, 1, 2, 3, 4, 5, 6, 7.0]",
       "f:2:34: maps.dot1p_tc.7: 7.0 is a float; allowed: an integer from 0 to 7"},
      {"[maps]\ndot1p_tc = [0, 1]",
       "f:2:12: maps.dot1p_tc: [0, 1] has 2 elements; allowed: an array of 8 integers from 0 to 7"},
      {"[maps]\ndscp_dot1p = { 26 = 8 }",
       "f:2:21: maps.dscp_dot1p.26: 8 is too large; allowed: an integer from 0 to 7"},
      {"[maps]\ndscp_dscp.5 = 64",
       "f:2:15: maps.dscp_dscp.5: 64 is too large; allowed: an integer from 0 to 63"},
  });
}

TEST(ConfigErrors, Words) {
  const std::string instance = "; allowed: 1 to 32 of a-z, 0-9, '_' and '-'";
  const std::string user = "; allowed: a name or number of 1 to 32 letters, digits, '_', '-' and '.'";
  const std::string socket =
      "; allowed: an absolute path of a file, at most 107 bytes, no control characters";
  const std::string mode = "; allowed: a string of 3 or 4 octal digits, up to \"0777\"";
  const std::string long_path = "/" + std::string(107, 's');
  expect_each({
      {"instance = \"Lab\"", "f:1:12: instance: \"Lab\" is not allowed" + instance},
      {"instance = \"\"", "f:1:12: instance: \"\" is not allowed" + instance},
      {"instance = \"../x\"", "f:1:12: instance: \"../x\" is not allowed" + instance},
      {"instance = \"" + std::string(33, 'x') + "\"",
       "f:1:12: instance: \"" + std::string(33, 'x') + "\" is not allowed" + instance},
      {"api.owner = \"a b\"", "f:1:13: api.owner: \"a b\" is not allowed" + user},
      {"api.group = \"-x\"", "f:1:13: api.group: \"-x\" is not allowed" + user},
      {"api.socket = \"x.sock\"", "f:1:14: api.socket: \"x.sock\" is not allowed" + socket},
      {"api.socket = \"/tmp/\"", "f:1:14: api.socket: \"/tmp/\" is not allowed" + socket},
      {"api.socket = \"/a\\u0000b\"", "f:1:14: api.socket: \"/a\\u0000b\" is not allowed" + socket},
      {"api.socket = \"" + long_path + "\"",
       "f:1:14: api.socket: \"" + long_path.substr(0, 59) + "... is not allowed" + socket},
      {"api.mode = \"0668\"", "f:1:12: api.mode: \"0668\" is not an octal mode" + mode},
      {"api.mode = \"66\"", "f:1:12: api.mode: \"66\" is not an octal mode" + mode},
      {"api.mode = \"1777\"", "f:1:12: api.mode: \"1777\" is too large" + mode},
      {"api.mode = \"-666\"", "f:1:12: api.mode: \"-666\" is not an octal mode" + mode},
      {"[queue.3]\nschedule = \"WRR\"",
       "f:2:12: queue.3.schedule: \"WRR\" is not one of the choices; allowed: \"strict\" or \"wrr\""},
      {"instance = \"\"\"x\ny\"\"\"", "f:1:12: instance: \"\"\"x... is not allowed" + instance},
  });
}

// Whichever of the two a port sets against the common defaults.
TEST(ConfigErrors, PollLongerThanDetectionInEitherOrder) {
  const std::string port = "[[port]]\nname = \"a\"\n";
  const std::string message =
      ": PFC watchdog poll interval 400 ms is longer than its detection time 300 ms: a deadlock would be "
      "seen "
      "late, must be at most as long (see ";
  EXPECT_EQ(errors("[watchdog]\ndetection_ms = 300\n" + port + "watchdog = { poll_ms = 400 }\n"),
            std::vector<std::string>{"f:5:24: port.a.watchdog.poll_ms" + message +
                                     "watchdog.detection_ms at line 2)"});
  EXPECT_EQ(errors("[watchdog]\npoll_ms = 400\ndetection_ms = 500\n" + port +
                   "watchdog = { detection_ms = 300 }\n"),
            std::vector<std::string>{"f:6:29: port.a.watchdog.detection_ms" + message +
                                     "watchdog.poll_ms at line 2)"});
}

TEST(ConfigErrors, UnknownKeys) {
  expect_each({
      {"instnce = \"a\"", "f:1:1: unknown key 'instnce' at the top level; did you mean 'instance'?"},
      {"foo = 1", "f:1:1: unknown key 'foo' at the top level; known keys: " + top_keys()},
      {"[ports]", "f:1:2: unknown key 'ports' at the top level; did you mean 'port'?"},
      {"[api]\n  sokcet = 1", "f:2:3: unknown key 'sokcet' in api; did you mean 'socket'?"},
      {"[queue.3]\necn = { kmim = 1 }", "f:2:9: unknown key 'kmim' in queue.3.ecn; did you mean 'kmin'?"},
      {"[queue.3]\nKMIN = 1",
       "f:2:1: unknown key 'KMIN' in queue.3; known keys: lossless, schedule, group, weight, limit, "
       "guaranteed, alpha, max_rate, ecn, pfc, ipcc"},
      {"[queue.3]\nlimitt = 1", "f:2:1: unknown key 'limitt' in queue.3; did you mean 'limit'?"},
      {"[queue.8]", "f:1:8: unknown key '8' in queue; allowed: 0 to 7 (the TC)"},
      {"[queue.03]", "f:1:8: unknown key '03' in queue; allowed: 0 to 7 (the TC)"},
      {"[queue.all]", "f:1:8: unknown key 'all' in queue; allowed: 0 to 7 (the TC)"},
      {"[maps]\ndscp_tc = []", "f:2:1: unknown key 'dscp_tc' in maps; did you mean 'dot1p_tc'?"},
      {"[maps]\ndscp_dscp = { 64 = 0 }",
       "f:2:15: unknown key '64' in maps.dscp_dscp; allowed: 0 to 63 (a DSCP)"},
      {"[maps]\ndscp_dscp = { -1 = 0 }",
       "f:2:15: unknown key '-1' in maps.dscp_dscp; allowed: 0 to 63 (a DSCP)"},
      {"\"a\\nb\" = 1", "f:1:1: unknown key 'a?b' at the top level; known keys: " + top_keys()},
      {"[queue.3]\n\"\" = 1",
       "f:2:1: unknown key '' in queue.3; known keys: lossless, schedule, group, weight, limit, "
       "guaranteed, alpha, max_rate, ecn, pfc, ipcc"},
  });
}

TEST(ConfigErrors, Ports) {
  const std::string count = "; allowed: 1 to 256 ports, each under [[port]]";
  const std::string name =
      "; allowed: an interface name of 1 to 15 bytes without '/', ':', '%', white space or control "
      "characters, not "
      "\".\" or \"..\"";
  const std::vector<Case> cases{
      {"", "f: port: the file names none" + count},
      {"port = []", "f:1:8: port: [] names no port" + count},
      {"[port]\nname = \"a\"", "f:1:1: port: [port] is a table" + count},
      {"port = [ 1 ]", "f:1:10: port[1]: 1 is an integer; allowed: a table, under [[port]]"},
      {"[[port]]", "f:1:1: port[1]: lacks 'name', the interface to manage"},
      {"[[port]]\nname = 1", "f:2:8: port[1].name: 1 is an integer" + name},
      {"[[port]]\nname = \"\"", "f:2:8: port[1].name: \"\" is not allowed" + name},
      {"[[port]]\nname = \"..\"", "f:2:8: port[1].name: \"..\" is not allowed" + name},
      {"[[port]]\nname = \"a/b\"", "f:2:8: port[1].name: \"a/b\" is not allowed" + name},
      {"[[port]]\nname = \"a b\"", "f:2:8: port[1].name: \"a b\" is not allowed" + name},
      {"[[port]]\nname = \"a\\tb\"", "f:2:8: port[1].name: \"a\\tb\" is not allowed" + name},
      {"[[port]]\nname = \"sixteen-letters-\"",
       "f:2:8: port[1].name: \"sixteen-letters-\" is not allowed" + name},
      {"[[port]]\nname = \"a\"\nrate = \"999kbit\"",
       "f:3:8: port.a.rate: \"999kbit\" is too small" + allowed(kRate)},
      {"[[port]]\nname = \"a\"\nrate = 800000000001",
       "f:3:8: port.a.rate: 800000000001 is too large" + allowed(kRate)},
      {"[[port]]\nname = \"a\"\nrate = \"100MB\"",
       "f:3:8: port.a.rate: \"100MB\" has no known unit (units are bit, kbit, mbit, gbit)" + allowed(kRate)},
      {"[[port]]\nname = \"a\"\ntrust = \"cos\"",
       "f:3:9: port.a.trust: \"cos\" is not one of the choices; allowed: \"port\", \"dot1p\", \"dscp\" or "
       "\"application\""},
      {"[[port]]\nname = \"a\"\npriority = 8",
       "f:3:12: port.a.priority: 8 is too large; allowed: an integer from 0 to 7"},
      {"[[port]]\nname = \"a\"\nqueue.3.ecn.kmim = 1",
       "f:3:13: unknown key 'kmim' in port.a.queue.3.ecn; did you mean 'kmin'?"},
      {"[[port]]\nname = \"a\"\n[port.queue.9]",
       "f:3:13: unknown key '9' in port.a.queue; allowed: 0 to 7 (the TC)"},
      {"[[port]]\nname = \"a\"\n[[port]]\nname = \"b\"\n[[port]]\nname = 'a'",
       "f:6:8: port.a.name: 'a' is a second port of that name; the first is at line 2, column 8; allowed: "
       "each name once"},
  };
  for (const Case& c : cases) EXPECT_EQ(errors(c.text), std::vector<std::string>{c.error}) << c.text;
}

TEST(ConfigErrors, ATableOfEachKindHasANameOfItsOwn) {
  struct Kind {
    std::string table, more, what;
  };
  const std::vector<Kind> kinds{{"port", "", "port"},
                                {"bfd_profile", "", "profile"},
                                {"bgp_filter", "", "filter"},
                                {"key_chain", "key = [{ id = 1, secret = \"a\" }]\n", "key chain"},
                                {"inof.zone", "hosts = []\n", "zone"}};
  for (const Kind& kind : kinds) {
    std::string one = "[[";
    one.append(kind.table).append("]]\nname = \"a\"\n").append(kind.more);
    const bool is_port = kind.table == "port";
    std::string text = is_port ? "" : "[[port]]\nname = \"eth0\"\n";
    const auto found = errors(text.append(one).append(one));
    std::string expected = ".name: \"a\" is a second ";
    expected.append(kind.what).append(" of that name; the first is at line ").append(is_port ? "2" : "4");
    expected += ", column 8; allowed: each name once";
    ASSERT_EQ(found.size(), 1U) << kind.table;
    EXPECT_NE(found[0].find(expected), std::string::npos) << found[0];
  }
}

TEST(ConfigErrors, TooManyPorts) {
  std::string text;
  for (unsigned i = 0; i < 258; ++i) text += "[[port]]\nname = \"p" + std::to_string(i) + "\"\n";
  EXPECT_EQ(errors(text),
            std::vector<std::string>{"f:513:1: port[257]: [[port]] is one too many of 258 ports; allowed: 1 "
                                     "to 256 ports, each under [[port]]"});
}

TEST(ConfigErrors, OrderOfThresholds) {
  const std::string rise = "; marking must begin at kmin and rise until it takes every packet at kmax";
  const std::string full = "; a queue that is full before kmax drops packets instead of marking them";
  const std::string ecn = "ecn = { kmin = \"100KB\", kmax = \"400KB\", pmax = 0.2 }";
  expect_each({
      {"[queue.3]\necn = { kmin = \"500KB\", kmax = \"400KB\", pmax = 0.2 }",
       "f:2:16: queue.3.ecn.kmin: kmin 500KB is not below kmax 400KB" + rise +
           " (see queue.3.ecn.kmax at line 2)"},
      {"[queue.3]\necn = { kmin = 7, kmax = 7, pmax = 0.2 }",
       "f:2:16: queue.3.ecn.kmin: kmin 7B is not below kmax 7B" + rise + " (see queue.3.ecn.kmax at line 2)"},
      {"[queue.3]\nlimit = \"400KB\"\n" + ecn,
       "f:3:32: queue.3.ecn.kmax: kmax 400KB is not below limit 400KB" + full +
           " (see queue.3.limit at line 2)"},
      {"[queue.3]\necn = { kmin = \"100KB\", kmax = \"1MB\", pmax = 0.2 }",
       "f:2:32: queue.3.ecn.kmax: kmax 1MB is not below limit 1MB" + full + " (the default limit)"},
      {"[queue.3]\n" + ecn + "\n[[port]]\nname = \"b\"\nqueue.3.ecn.kmax = \"50KB\"",
       "f:5:20: port.b.queue.3.ecn.kmax: kmin 100KB is not below kmax 50KB" + rise +
           " (see queue.3.ecn.kmin at line 2)"},
      {"[queue.3]\n" + ecn + "\n[[port]]\nname = \"b\"\nqueue.3.limit = \"300KB\"",
       "f:5:17: port.b.queue.3.limit: kmax 400KB is not below limit 300KB" + full +
           " (see queue.3.ecn.kmax at line 2)"},
      {"[queue.3]\necn = { kmin = 1, pmax = 0.5 }",
       "f:2:7: queue.3.ecn: lacks 'kmax'; ECN needs kmin, kmax and pmax"},
  });
  EXPECT_EQ(errors("[queue.3]\necn = { kmin = 2, kmax = 1, pmax = 0.5 }").size(), 2U)
      << "also without any port";
}

TEST(ConfigErrors, StrictQueuesHaveNoShare) {
  const std::string why =
      " is given but the queue is strict; a strict queue is served before all others and has no share; "
      "allowed: leave "
      "it out, or schedule = \"wrr\"";
  expect_each({
      {"[queue.6]\nweight = 3", "f:2:10: queue.6.weight: 3" + why},
      {"[queue.1]\nschedule = \"strict\"\ngroup = 2", "f:3:9: queue.1.group: 2" + why},
      {"[queue.1]\nschedule = \"strict\"\n[[port]]\nname = \"b\"\nqueue.1.weight = 9",
       "f:5:18: port.b.queue.1.weight: 9" + why},
  });
}

// One fault is one error: what follows from it is not reported beside it.
TEST(ConfigErrors, NoErrorsThatOnlyFollow) {
  EXPECT_EQ(errors(std::string("[queue.6]\nschedule = \"wr\"\nweight = 3") + kPort).size(), 1U);
  EXPECT_EQ(errors(std::string("[queue.3]\necn = { kmin = 9, kmax = -1, pmax = 0.5 }") + kPort).size(), 1U);
  EXPECT_EQ(
      errors(std::string("[queue.3]\nlimit = \"x\"\necn = { kmin = 1, kmax = \"2MB\", pmax = 0.5 }") + kPort)
          .size(),
      1U);
}

TEST(ConfigErrors, AllAtOnceInFileOrder) {
  const std::vector<std::string> found = errors(R"([[port]]
name = "b"
rate = 5
[[port]]
name = "a"
queue.3.limit = 1
[queue.2]
weight = 0
[queue.1]
weight = 0
lossless = 0
[api]
mode = 1
)");
  std::vector<std::string> places;
  places.reserve(found.size());
  for (const std::string& e : found) places.push_back(e.substr(0, e.find(": ")));
  EXPECT_EQ(places, (std::vector<std::string>{"f:3:8", "f:6:17", "f:8:10", "f:10:10", "f:11:12", "f:13:8"}));
}

TEST(ConfigErrors, DefaultsAreReportedOnceForAllPorts) {
  const std::string bad = "[queue.3]\necn = { kmin = 2, kmax = 1, pmax = 0.5 }\n";
  EXPECT_EQ(errors(bad + "[[port]]\nname = \"a\"\n[[port]]\nname = \"b\"\n[[port]]\nname = \"c\"\n").size(),
            1U);
}

// The words after the colon are the TOML parser's and differ between its versions.
TEST(ConfigErrors, Syntax) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"instance", "f:1:9"},
      {"instance = \"a", "f:1:14"},
      {"a = 1\nb = 99999999999999999999", "f:2:25"},
      {"a = 1\na = 2", "f:2:5"},
      {"[queue.3]\n[queue.3]", "f:2:1"},
      {"instance = \"\xff\"", "f:1:12"},
      {"\xC3\xA9 = 1", "f:1:1"},
      {"instance = tru", "f:1:15"},
  };
  for (const auto& [text, place] : cases) {
    const std::vector<std::string> found = errors(text);
    ASSERT_EQ(found.size(), 1U) << text;
    EXPECT_EQ(found[0].substr(0, found[0].find(": not valid TOML: ")), place) << text << " gave " << found[0];
  }
}

TEST(ConfigErrors, NulBytes) {
  const std::vector<std::string> found = errors(std::string("instance = \"a\0b\"", 16));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].starts_with("f:1:14: not valid TOML: ")) << found[0];
}

TEST(ConfigErrors, ColumnsCountCharacters) {
  EXPECT_EQ(errors("port = [ { name = \"äöü\", rate = 5 } ]"),
            std::vector<std::string>{"f:1:33: port.äöü.rate: 5 is too small" + allowed(kRate)});
}

// Far more nesting than a stack would take down again.
TEST(ConfigErrors, DeepNesting) {
  std::string dots = "a";
  for (int i = 0; i < 500'000; ++i) dots += ".a";
  EXPECT_EQ(
      errors(dots + " = 1"),
      std::vector<std::string>{"f:1:32: a dotted key with more than 16 parts; no key here has so many"});
  EXPECT_EQ(errors("[" + dots + "]").size(), 1U);
  EXPECT_EQ(
      errors("x = '.'\n[" + dots + "]"),
      std::vector<std::string>{"f:2:33: a dotted key with more than 16 parts; no key here has so many"});
  EXPECT_EQ(errors("x = " + std::string(1'000'000, '[')).size(), 1U);
  std::string tables = "x = ";
  for (int i = 0; i < 100'000; ++i) tables += "{a=";
  EXPECT_EQ(errors(tables).size(), 1U);
  // Dots in strings and comments nest nothing.
  const std::string many(100, '.');
  EXPECT_TRUE(errors("# " + many + "\napi.socket = '/" + many + "'" + kPort).empty());
  EXPECT_TRUE(errors("api.socket = \"\"\"/\\\"" + many + "\"\"\"\"\"" + kPort).empty());
}

TEST(ConfigErrors, ThousandAtMost) {
  std::string text;
  for (int i = 0; i < 1500; ++i) text += "k" + std::to_string(i) + " = 1\n";
  const std::vector<std::string> found = errors(text + kPort);
  ASSERT_EQ(found.size(), 1001U);
  EXPECT_EQ(found.back(), "f:1001:1: and 500 more errors from here on");
}

TEST(CheckEcn, RangesAndOrder) {
  const EcnConfig good{100'000, 400'000, 0.2, 0};
  EXPECT_EQ(check_ecn(good, 1'000'000), std::nullopt);
  EXPECT_EQ(check_ecn(good, 400'001), std::nullopt);
  const auto message = [](EcnConfig ecn) { return check_ecn(ecn, 1'000'000).value_or("good"); };
  EXPECT_EQ(check_ecn(good, 400'000),
            "kmax 400KB is not below limit 400KB; a queue that is full before kmax drops packets instead of "
            "marking them");
  EXPECT_EQ(message({5, 5, 0.2, 0}),
            "kmin 5B is not below kmax 5B; marking must begin at kmin and rise until it takes every packet "
            "at kmax");
  EXPECT_EQ(message({1, 2, std::nan(""), 0}),
            "pmax nan is not a number; allowed: a float above 0.0, up to 1.0");
  EXPECT_EQ(message({1, 2, std::numeric_limits<double>::infinity(), 0}),
            "pmax inf is too large; allowed: a float above 0.0, up to 1.0");
  EXPECT_EQ(message({1, 2, 0, 0}), "pmax 0.0 is too small; allowed: a float above 0.0, up to 1.0");
  EXPECT_EQ(message({1, 2, 1.5, 0}), "pmax 1.5 is too large; allowed: a float above 0.0, up to 1.0");
  EXPECT_EQ(message({1, 2, 1, 16}), "ewma 16 is too large; allowed: an integer from 0 to 15");
  EXPECT_EQ(message({4'000'000'000, 1, 1, 0}),
            std::string("kmin \"4GB\" is too large") + allowed(kThreshold));
}

TEST(Nearest, TakesWhatIsLike) {
  const std::vector<std::string_view> known{"kmin", "kmax", "pmax", "ewma"};
  EXPECT_EQ(nearest("kmim", known), "kmin");
  EXPECT_EQ(nearest("mkin", known), "kmin");  // neighbours swapped
  EXPECT_EQ(nearest("max", known), "kmax");
  EXPECT_EQ(nearest("wred", known), std::nullopt);
  EXPECT_EQ(nearest("", known), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'k'), known), std::nullopt);
}

TEST(Printable, IsOneLineOfUtf8) {
  EXPECT_EQ(printable("a\tb\x1b[1m\x7f"), "a?b?[1m?");
  EXPECT_EQ(printable("é€😀"), "é€😀");
  EXPECT_EQ(printable("\xC3"), "?");
  EXPECT_EQ(printable("\xC0\x80\xFFx"), "???x");
  EXPECT_EQ(printable("\xED\xA0\x80"), "???");  // a surrogate
  const std::string wide = shortened(std::string(59, 'a') + "ééé");
  EXPECT_EQ(wide, std::string(59, 'a') + "...") << "not cut inside a character";
}

}  // namespace
}  // namespace lossless
