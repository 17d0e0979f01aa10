// SPDX-License-Identifier: Apache-2.0
// What a good file means: defaults, merge order, files on disk, the examples, the manual page.
#include "daemon/core/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "daemon/core/config_keys.h"
#include "tests/unit/temporary_folder.h"

namespace lossless {
namespace {

Config parse(const std::string& text) {
  const auto config = parse_config(text, "c.toml");
  if (!config) {
    for (const ConfigError& e : config.error()) ADD_FAILURE() << e.text();
    return {};
  }
  return *config;
}

PortConfig only_port(const std::string& text) {
  const Config config = parse(text);
  if (config.ports.size() != 1) {
    ADD_FAILURE() << config.ports.size() << " ports in " << text;
    return {};
  }
  return config.ports.front();
}

TEST(Config, DefaultsOfTheLeastFile) {
  const Config config = parse("[[port]]\nname = \"eth0\"\n");
  EXPECT_EQ(config.instance, "default");
  EXPECT_EQ(config.api.socket, "/run/lossless/default/api.sock");
  EXPECT_EQ(config.api.owner, "root");
  EXPECT_EQ(config.api.group, "root");
  EXPECT_EQ(config.api.mode, 0660U);
  ASSERT_EQ(config.ports.size(), 1U);
  const PortConfig& port = config.ports.front();
  EXPECT_EQ(port.name, "eth0");
  EXPECT_EQ(port.rate_bps, 0U);
  EXPECT_EQ(port.trust, Trust::Dscp);
  EXPECT_EQ(port.priority, 0U);
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const QueueConfig& queue = port.queues[tc];
    const bool strict = tc >= 6;
    EXPECT_EQ(queue.schedule, strict ? Schedule::Strict : Schedule::Wrr) << tc;
    EXPECT_EQ(queue.group, strict ? 0U : 1U) << tc;
    EXPECT_EQ(queue.weight, strict ? 0U : 10U) << tc;
    EXPECT_EQ(queue.limit_bytes, 1'000'000U) << tc;
    EXPECT_FALSE(queue.lossless) << tc;
    EXPECT_FALSE(queue.ecn) << tc;
    EXPECT_EQ(port.maps.dot1p_tc[tc], tc);
  }
  for (unsigned dscp = 0; dscp < kDscps; ++dscp) {
    EXPECT_EQ(port.maps.dscp_dot1p[dscp], dscp / 8);
    EXPECT_EQ(port.maps.dscp_dscp[dscp], dscp);
  }
}

TEST(Config, EveryKeyArrives) {
  const Config config = parse(R"(
instance = "lab-1_x"
[api]
socket = "/tmp/a b.sock"
owner = "lossless"
group = "1000"
mode = "0600"
[[port]]
name = "eth0.100"
rate = "2.5Gbit"
trust = "dot1p"
priority = 5
[port.maps]
dot1p_tc = [7, 6, 5, 4, 3, 2, 1, 0]
dscp_dot1p = { 26 = 4 }
dscp_dscp = { 63 = 0 }
[port.queue.2]
lossless = true
schedule = "wrr"
group = 2
weight = 100
limit = 0xffff
ecn = { kmin = 0, kmax = "1.5KiB", pmax = 1.0, ewma = 15 }
)");
  EXPECT_EQ(config.instance, "lab-1_x");
  EXPECT_EQ(config.api, (ApiConfig{"/tmp/a b.sock", "lossless", "1000", 0600}));
  ASSERT_EQ(config.ports.size(), 1U);
  const PortConfig& port = config.ports.front();
  EXPECT_EQ(port.name, "eth0.100");
  EXPECT_EQ(port.rate_bps, 2'500'000'000U);
  EXPECT_EQ(port.trust, Trust::Dot1p);
  EXPECT_EQ(port.priority, 5U);
  EXPECT_EQ(port.maps.dot1p_tc, (std::array<std::uint8_t, 8>{7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(port.maps.dscp_dot1p[26], 4);
  EXPECT_EQ(port.maps.dscp_dscp[63], 0);
  QueueConfig queue{.schedule = Schedule::Wrr,
                    .group = 2,
                    .weight = 100,
                    .limit_bytes = 65535,
                    .lossless = true,
                    .ecn = EcnConfig{.kmin_bytes = 0, .kmax_bytes = 1536, .pmax = 1.0, .ewma_shift = 15}};
  EXPECT_EQ(port.queues[2], queue);
  EXPECT_EQ(port.queues[1], default_queue(1)) << "only TC 2 was named";
}

TEST(Config, LimitsOfTheRangesAreAllowed) {
  const PortConfig port = only_port(R"(
[[port]]
name = "fifteen-letters"
rate = 800_000_000_000
[port.queue]
0 = { weight = 1, group = 1, limit = "3KB", ecn = { kmin = "2998B", kmax = "2999B", pmax = 1e-9 } }
1 = { weight = 100, group = 2, limit = "1GB" }
)");
  EXPECT_EQ(port.rate_bps, 800'000'000'000U);
  EXPECT_EQ(port.queues[0].ecn, (EcnConfig{2998, 2999, 1e-9, 0}));
  EXPECT_EQ(port.queues[1].limit_bytes, 1'000'000'000U);
  EXPECT_EQ(only_port("[[port]]\nname=\"a\"\nrate=\"1mbit\"").rate_bps, 1'000'000U);
  EXPECT_EQ(only_port("[[port]]\nname=\"a\"\nrate=0").rate_bps, 0U);
  EXPECT_EQ(parse("api.socket = \"/" + std::string(106, 's') + "\"\n[[port]]\nname=\"a\"").api.socket.size(),
            107U);
}

TEST(Config, SocketFollowsTheInstance) {
  EXPECT_EQ(parse("instance = \"b\"\n[[port]]\nname=\"a\"").api.socket, "/run/lossless/b/api.sock");
}

TEST(Config, PortsKeepTheirOrderAndMayBe256) {
  std::string text;
  for (unsigned i = 0; i < 256; ++i) text += "[[port]]\nname = \"p" + std::to_string(i) + "\"\n";
  const Config config = parse(text);
  ASSERT_EQ(config.ports.size(), 256U);
  EXPECT_EQ(config.ports[255].name, "p255");
}

// Built-in default, then [queue.N], then [port.queue.N]; key by key, ECN too.
TEST(ConfigMerge, QueueKeyByKey) {
  const Config config = parse(R"(
[queue.3]
lossless = true
weight = 50
limit = "2MB"
ecn = { kmin = "100KB", kmax = "400KB", pmax = 0.2, ewma = 4 }
[[port]]
name = "own"
[port.queue.3]
weight = 20
ecn = { kmin = "50KB" }
[[port]]
name = "plain"
[[port]]
name = "off"
queue.3.ecn = false
)");
  ASSERT_EQ(config.ports.size(), 3U);
  QueueConfig expected{.schedule = Schedule::Wrr,
                       .group = 1,
                       .weight = 50,
                       .limit_bytes = 2'000'000,
                       .lossless = true,
                       .ecn = EcnConfig{100'000, 400'000, 0.2, 4}};
  EXPECT_EQ(config.ports[1].queues[3], expected);
  expected.weight = 20;
  expected.ecn = EcnConfig{50'000, 400'000, 0.2, 4};
  EXPECT_EQ(config.ports[0].queues[3], expected);
  expected.weight = 50;
  expected.ecn.reset();
  EXPECT_EQ(config.ports[2].queues[3], expected);
}

TEST(ConfigMerge, EcnMayBeCompletedByThePort) {
  const PortConfig port = only_port(R"(
[queue.3]
ecn = { pmax = 0.5 }
[[port]]
name = "a"
queue.3.ecn.kmin = 10
queue.3.ecn.kmax = 20
)");
  EXPECT_EQ(port.queues[3].ecn, (EcnConfig{10, 20, 0.5, 0}));
}

// What counts is the merged value: the defaults alone would be out of order here.
TEST(ConfigMerge, OrderIsCheckedAfterTheMerge) {
  const PortConfig port = only_port(R"(
[queue.3]
ecn = { kmin = 1, kmax = "2MB", pmax = 0.5 }
[[port]]
name = "a"
queue.3.limit = "4MB"
)");
  EXPECT_EQ(port.queues[3].ecn, (EcnConfig{1, 2'000'000, 0.5, 0}));
}

TEST(ConfigMerge, ScheduleChangesCarryShares) {
  const Config config = parse(R"(
[queue.3]
weight = 50
group = 2
[queue.6]
schedule = "wrr"
[[port]]
name = "a"
queue.3.schedule = "strict"
[[port]]
name = "b"
)");
  ASSERT_EQ(config.ports.size(), 2U);
  const QueueConfig& strict = config.ports[0].queues[3];
  EXPECT_EQ(strict.schedule, Schedule::Strict);
  EXPECT_EQ(strict.group, 0U);
  EXPECT_EQ(strict.weight, 0U);
  const QueueConfig& wrr = config.ports[1].queues[6];
  EXPECT_EQ(wrr.schedule, Schedule::Wrr);
  EXPECT_EQ(wrr.group, 1U);
  EXPECT_EQ(wrr.weight, 10U);
  EXPECT_EQ(config.ports[1].queues[3].weight, 50U);
}

TEST(ConfigMerge, MapsEntryByEntry) {
  const PortConfig port = only_port(R"(
[maps]
dot1p_tc = [1, 1, 1, 1, 1, 1, 1, 1]
dscp_dot1p = { 26 = 4, 48 = 7 }
[[port]]
name = "a"
[port.maps]
dscp_dot1p = { 26 = 5 }
)");
  EXPECT_EQ(port.maps.dot1p_tc[7], 1);
  EXPECT_EQ(port.maps.dscp_dot1p[26], 5);
  EXPECT_EQ(port.maps.dscp_dot1p[48], 7);
  EXPECT_EQ(port.maps.dscp_dot1p[8], 1);
}

TEST(Config, ByteOrderMarkAndCrLf) {
  EXPECT_EQ(only_port("\xEF\xBB\xBF[[port]]\r\nname = \"a\"\r\n").name, "a");
}

// A folder of its own, gone again in any case.
class ConfigFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  static std::string error(const std::string& path) {
    const auto config = load_config(path);
    if (config) return "no error";
    return config.error().front().text();
  }

  TemporaryFolder folder_;
};

TEST_F(ConfigFile, Loads) {
  const auto config = load_config(write("good.toml", "[[port]]\nname = \"a\"\n"));
  ASSERT_TRUE(config);
  EXPECT_EQ(config->ports.front().name, "a");
}

TEST_F(ConfigFile, NamesTheFileInErrors) {
  const std::string file = write("bad.toml", "foo = 1\n[[port]]\nname = \"a\"\n");
  EXPECT_TRUE(error(file).starts_with(file + ":1:1: unknown key 'foo' at the top level; known keys: "))
      << error(file);
}

TEST_F(ConfigFile, CannotBeRead) {
  EXPECT_EQ(error(path("none")), path("none") + ": cannot read: No such file or directory");
  EXPECT_EQ(error(folder_.path().string()),
            folder_.path().string() + ": is a directory; must be a regular file");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(error(path("pipe")), path("pipe") + ": is a pipe; must be a regular file");
  EXPECT_EQ(error("/dev/zero"), "/dev/zero: is a device; must be a regular file");
  ASSERT_EQ(::symlink("loop", path("loop").c_str()), 0);
  EXPECT_EQ(error(path("loop")), path("loop") + ": cannot read: Too many levels of symbolic links");
  EXPECT_EQ(error(std::string("a\0b", 3)),
            std::string("a\0b: cannot read: the path has a NUL byte in it", 47));
  const std::string secret = write("secret", "[[port]]\nname = \"a\"\n");
  ASSERT_EQ(::chmod(secret.c_str(), 0), 0);
  const bool root = ::geteuid() == 0;  // who may read everything
  EXPECT_EQ(error(secret), root ? "no error" : secret + ": cannot read: Permission denied");
}

TEST_F(ConfigFile, MayHave4MiBAndNoMore) {
  const std::string port = "[[port]]\nname = \"a\"\n";
  const std::string full = port + std::string(kMaxConfigBytes - port.size(), '\n');
  EXPECT_TRUE(load_config(write("full", full)));
  EXPECT_EQ(error(write("over", full + "\n")), path("over") + ": is too large; allowed: up to 4 MiB");
}

TEST(ConfigExamples, AreAllGood) {
  unsigned count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LL_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    const auto config = load_config(entry.path().string());
    if (config) continue;
    for (const ConfigError& e : config.error()) ADD_FAILURE() << e.text();
  }
  EXPECT_GE(count, 2U);
}

// The manual page names every key with the very words an error uses for what is allowed.
TEST(ConfigManual, HasEveryKeyAndWhatIsAllowed) {
  std::ifstream file(LL_SOURCE_DIR "/docs/man/lossless.toml.5.scd");
  ASSERT_TRUE(file);
  std::string manual{std::istreambuf_iterator<char>(file), {}};
  std::erase(manual, '\\');
  for (char& c : manual) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  const std::vector<KeyInfo> keys = known_keys();
  EXPECT_GT(keys.size(), 15U);
  for (const KeyInfo& key : keys) {
    const std::string name = key.path.substr(key.path.rfind('.') + 1);
    EXPECT_NE(manual.find("*" + name + "* = " + key.allowed), std::string::npos)
        << "lossless.toml(5) lacks: *" << name << "* = " << key.allowed;
  }
}

}  // namespace
}  // namespace lossless
