// SPDX-License-Identifier: Apache-2.0
// Every command of losslessctl from its words to its output, against a server of the API.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/unit/cli_fake_server.h"

namespace lossless::cli {
namespace {

testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in:\n" << text;
}

class CliCommands : public testing::Test {
 protected:
  void SetUp() override { bench_.serve(); }
  Bench bench_;
};

TEST_F(CliCommands, ShowPorts) {
  const auto r = bench_.run({"show", "ports"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(r.out,
            "                                                       priority --  packets ----------------\n"
            "PORT  STATE     LINK       RATE   MTU  DRIVER  XDP     TRUST  PRIO  UNTRUSTED  REMARKED  BAD  "
            "REASON\n"
            "eth0  ATTACHED  up    100Mbit/s  1500  veth    native  dscp      0  1,234,567         0    3\n"
            "eth1  REFUSED   down          -     -  -       -       dot1p     0          0         0    0  a "
            "foreign root qdisc (fq_codel 8001:) is in place\n");
}

TEST_F(CliCommands, ShowOnePortHasEveryDetail) {
  const auto r = bench_.run({"show", "ports", "eth0"});
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(contains(r.out, "rate                   100Mbit/s\n"));
  EXPECT_TRUE(contains(r.out, "xdp                    native\n"));
  EXPECT_TRUE(contains(r.out, "took port priority     1,234,567\n"));
  EXPECT_TRUE(contains(r.out, "bad: short IP header   2\n"));
}

TEST_F(CliCommands, ShowPortsJsonHasProtoNamesAndDefaults) {
  const auto r = bench_.run({"show", "ports", "--json"});
  EXPECT_EQ(r.code, 0);
  v1::ListPortsReply reply;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(r.out, &reply).ok());
  EXPECT_EQ(reply.ports_size(), 2);
  EXPECT_TRUE(contains(r.out, "\"rate_bps\": \"100000000\""));
  EXPECT_TRUE(contains(r.out, "\"bad_l2_short\": \"0\""));
  EXPECT_TRUE(contains(r.out, "\"xdp\": \"native\""));
  EXPECT_TRUE(contains(r.out, "\"state\": \"REFUSED\""));
}

TEST_F(CliCommands, UnknownPortIsTheServersMessage) {
  const auto r = bench_.run({"show", "queues", "eth9"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "losslessctl: no port eth9; ports are eth0, eth1\n");
}

TEST_F(CliCommands, ErrorsAreJsonOnStdoutWithJson) {
  const auto r = bench_.run({"--json", "show", "ports", "eth9"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(r.out,
            "{\"error\": {\"code\": \"NOT_FOUND\", \"message\": \"no port eth9; ports are eth0, eth1\"}}\n");
}

TEST_F(CliCommands, ShowQueues) {
  const auto r = bench_.run({"show", "queues"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(
      r.out,
      "                    queue ---------  waiting now --  sent ----------  dropped  received -----\n"
      "PORT  TC  TYPE      SCHED     LIMIT  BYTES  PACKETS  PACKETS   BYTES  PACKETS  PACKETS  BYTES\n"
      "eth0   0  lossy     strict    100KB     0B        0        0      0B        0        0     0B\n"
      "eth0   3  lossless  wrr 1:40    1MB  250KB      250    1,000  1.25MB        7        0     0B\n");
}

TEST_F(CliCommands, WatchShowsRates) {
  const auto r = bench_.run({"show", "queues", "--watch=0.5", "eth0", "--count", "2"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(bench_.service.queue_polls, 2U);
  const auto second = r.out.find("PORT", r.out.find("PORT") + 1);
  ASSERT_NE(second, std::string::npos) << r.out;
  // 1,250,000 bytes and 1,000 packets more after half a second.
  EXPECT_TRUE(contains(r.out.substr(second), "20.0Mbit/s"));
  EXPECT_TRUE(contains(r.out.substr(second), "2,000"));
  EXPECT_TRUE(contains(r.out.substr(second), "25%"));
}

TEST_F(CliCommands, WatchDoesNotTakeThePortForItsInterval) {
  const auto r = bench_.run({"show", "queues", "--watch", "eth0", "--count", "1", "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 1) << r.out;
}

TEST_F(CliCommands, WatchRefusesBadIntervals) {
  for (const char* bad : {"--watch=0", "--watch=nan", "--watch=-1", "--watch=1x", "--watch=1e9"}) {
    const auto r = bench_.run({"show", "queues", bad});
    EXPECT_EQ(r.code, 2) << bad;
    EXPECT_TRUE(contains(r.err, "0.1 to 3600 seconds")) << bad;
  }
}

TEST_F(CliCommands, ShowEcn) {
  const auto r = bench_.run({"show", "ecn"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out,
            "                    thresholds --------------------------------  packets seen "
            "-----------------------------------  selected by WRED -----------------------------\n"
            "PORT  TC  TYPE      ECN   KMIN   KMAX  PMAX  DEPTH      POINT    NOT-ECT     ECT(0)  ECT(1)  CE "
            " NOT-IP  NO-DEPTH    ALL  MARKED  DROPPED  WAS-CE  SPARED  FAILED\n"
            "eth0   3  lossless  on   100KB  400KB   20%  ewma 2^-4  enqueue        0  9,000,000       0   0 "
            "      0         0  1,000     990        0       0       0      10\n");
}

TEST_F(CliCommands, ShowPriorityMapOnceForEqualPorts) {
  const auto r = bench_.run({"show", "priority-map"});
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(r.out.starts_with("eth0, eth1: trust dscp, port priority 0\n")) << r.out;
  EXPECT_EQ(r.out.find("trust", 20), std::string::npos) << "shown twice:\n" << r.out;
  EXPECT_TRUE(contains(r.out, "dot1p  0  1  2  3  4  5  6  7\nTC     0  1  2  3  4  5  6  7\n"));
  // DSCP 10 is rewritten to 26, and 26 has priority 5.
  EXPECT_TRUE(contains(r.out,
                       "DSCP -> TC  +0  +1  +2  +3  +4  +5  +6  +7\n"
                       "         0   0   0   0   0   0   0   0   0\n"
                       "         8   1   1   5   1   1   1   1   1\n"));
  EXPECT_TRUE(contains(r.out, "\nDSCP -> DSCP: 10->26\n"));
}

TEST_F(CliCommands, ShowCapabilitiesAndVersion) {
  const auto capabilities = bench_.run({"show", "capabilities"});
  EXPECT_EQ(capabilities.code, 0);
  EXPECT_TRUE(contains(capabilities.out, "eth0    dcb         no     the driver veth has no DCB\n"));
  const auto version = bench_.run({"show", "version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(contains(version.out, "uptime         1d 02:03:04\n"));
}

TEST_F(CliCommands, SetEcn) {
  const auto r = bench_.run({"set", "ecn", "eth0", "3", "kmin=50KB", "pmax=0.1"});
  EXPECT_EQ(r.code, 0) << r.err;
  ASSERT_TRUE(bench_.service.last_set);
  EXPECT_EQ(bench_.service.last_set->kmin_bytes(), 50'000U);
  EXPECT_FALSE(bench_.service.last_set->has_kmax_bytes());
  EXPECT_TRUE(contains(r.out, "KMIN"));
}

TEST_F(CliCommands, SetEcnRefusedByTheServer) {
  const auto r = bench_.run({"set", "ecn", "eth0", "3", "kmin=500KB"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "losslessctl: kmin 500KB is not below kmax 400KB\n");
}

TEST_F(CliCommands, SetEcnWithAWrongClassAsksNobody) {
  EXPECT_EQ(bench_.run({"set", "ecn", "eth0", "8", "kmin=1KB"}).code, 2);
  EXPECT_EQ(bench_.run({"set", "ecn", "eth0", "3"}).code, 2);
  EXPECT_FALSE(bench_.service.last_set);
}

TEST_F(CliCommands, DiffAndReload) {
  EXPECT_EQ(bench_.run({"config", "diff"}).out, "no difference: what runs is what the file says\n");
  EXPECT_EQ(bench_.run({"reload"}).out, "nothing to change\n");
  v1::ConfigChange change;
  change.set_path("port.eth0.queue.3.ecn.kmin");
  change.set_running("100KB");
  change.set_file("120KB");
  v1::ConfigChange added;
  added.set_path("port.eth7");
  added.set_file("present");
  bench_.service.changes = {change, added};
  const std::string text = "~ port.eth0.queue.3.ecn.kmin = 100KB -> 120KB\n+ port.eth7 = present\n";
  const auto diff = bench_.run({"config", "diff"});
  EXPECT_EQ(diff.code, 0);
  EXPECT_EQ(diff.out, text);
  EXPECT_EQ(bench_.run({"config", "diff", "--exit-code"}).code, 1);
  EXPECT_EQ(bench_.run({"reload"}).out, text);
}

TEST_F(CliCommands, ReloadOfABadFile) {
  bench_.service.bad_file = true;
  const auto r = bench_.run({"reload"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "losslessctl: x.toml:3:1: unknown key 'prots'; did you mean 'port'?\n");
}

TEST_F(CliCommands, Detach) {
  EXPECT_EQ(bench_.run({"detach", "eth0", "eth1"}).out, "detached eth0, eth1\n");
  EXPECT_EQ(bench_.run({"detach", "--all"}).out, "detached eth0\n");
  EXPECT_TRUE(bench_.service.last_detach->all());
  EXPECT_EQ(bench_.run({"detach"}).code, 2);
  EXPECT_EQ(bench_.run({"detach", "--all", "eth0"}).code, 2);
  EXPECT_EQ(bench_.run({"detach", "eth9"}).code, 1);
}

TEST_F(CliCommands, CompletionAsksTheDaemonForPorts) {
  EXPECT_EQ(bench_.run({"__complete", "show", "ports", ""}).out, "eth0\t\neth1\t\n");
  EXPECT_EQ(bench_.run({"__complete", "--instance", ""}).out, "default\t\n");
  bench_.stop();
  const auto r = bench_.run({"__complete", "show", "ports", ""});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out + r.err, "");
}

TEST_F(CliCommands, ColourFollowsTerminalOptionAndVariable) {
  const auto colored = [this](const std::vector<std::string>& args) {
    return bench_.run(args).out.find('\x1b') != std::string::npos;
  };
  bench_.variables["TERM"] = "xterm";
  EXPECT_FALSE(colored({"show", "ports"}));
  EXPECT_TRUE(colored({"show", "ports", "--color", "always"}));
  bench_.terminal = true;
  EXPECT_TRUE(colored({"show", "ports"}));
  EXPECT_FALSE(colored({"show", "ports", "--color=never"}));
  EXPECT_FALSE(colored({"show", "ports", "--json"}));
  bench_.variables["NO_COLOR"] = "1";
  EXPECT_FALSE(colored({"show", "ports"}));
}

TEST_F(CliCommands, InstanceFromTheEnvironment) {
  bench_.variables["LOSSLESS_INSTANCE"] = "lab";
  const auto r = bench_.run({"show", "ports"});
  EXPECT_EQ(r.code, 3);
  EXPECT_TRUE(contains(r.err, "not running for instance 'lab' (no socket " + bench_.socket("lab") + ")"));
  EXPECT_TRUE(contains(r.err, "instances with a socket: default"));
  EXPECT_EQ(bench_.run({"show", "ports", "--instance", "default"}).code, 0);
  EXPECT_EQ(bench_.run({"show", "ports", "--socket", bench_.socket()}).code, 0);
}

TEST(CliErrors, NoDaemon) {
  Bench bench;
  const auto r = bench.run({"show", "ports"});
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.err, "losslessctl: losslessd is not running for instance 'default' (no socket " +
                       bench.socket() + "); start it with `losslessd --config FILE`\n");
  EXPECT_EQ(bench.run({"show", "ports", "--json"}).out.substr(0, 33),
            "{\"error\": {\"code\": \"NOT_RUNNING\",");
}

TEST(CliErrors, NobodyWithoutADaemonDetachesSinglePorts) {
  Bench bench;
  const auto r = bench.run({"detach", "eth0"});
  EXPECT_EQ(r.code, 3);
  EXPECT_TRUE(contains(r.err, "; without it only `losslessctl detach --all` works"));
}

TEST(CliErrors, NetnsOfDetachMustExist) {
  Bench bench;
  const auto r = bench.run({"detach", "--all", "--netns", "nowhere"});
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(contains(r.err, "detaching its ports directly in namespace 'nowhere'"));
  EXPECT_TRUE(
      contains(r.err, "cannot enter network namespace " + (bench.folder.path() / "netns/nowhere").string()));
  EXPECT_TRUE(
      contains(bench.run({"detach", "--all", "--netns", "/no/where"}).err, "network namespace /no/where:"));
}

// A unix socket that is bound but not served, as a crash leaves it, or one that takes connections and is
// silent.
class PlainSocket {
 public:
  PlainSocket(const std::string& path, bool listening) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (fd_ < 0) std::abort();
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    if (listening) {
      EXPECT_EQ(listen(fd_, 1), 0);
    }
  }
  ~PlainSocket() { close(fd_); }
  PlainSocket(const PlainSocket&) = delete;
  PlainSocket& operator=(const PlainSocket&) = delete;

 private:
  int fd_;
};

TEST(CliErrors, SocketLeftBehind) {
  Bench bench;
  const PlainSocket left(bench.socket(), false);
  const auto r = bench.run({"show", "ports"});
  EXPECT_EQ(r.code, 3);
  EXPECT_TRUE(contains(r.err, "(nobody listens on " + bench.socket() + ")"));
  EXPECT_EQ(r.err.find("instances with a socket"), std::string::npos)
      << "its own is none to go to: " << r.err;
}

TEST(CliErrors, SilentDaemon) {
  Bench bench;
  const PlainSocket silent(bench.socket(), true);
  const auto r = bench.run({"show", "ports", "--timeout", "0.05"});
  EXPECT_EQ(r.code, 3);
  EXPECT_TRUE(contains(r.err, "did not answer on " + bench.socket() + " within 50 ms (--timeout)"));
}

TEST(CliErrors, SocketPathTooLong) {
  Bench bench;
  const auto r = bench.run({"show", "ports", "--socket", "/" + std::string(107, 'x')});
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(contains(r.err, "has 108 bytes; at most 107 are allowed"));
}

TEST(CliErrors, CommandLine) {
  Bench bench;
  const auto error = [&bench](const std::vector<std::string>& args) {
    const auto r = bench.run(args);
    EXPECT_EQ(r.code, 2);
    return r.err;
  };
  EXPECT_TRUE(contains(error({"shwo"}), "unknown command 'shwo'; did you mean 'show'?"));
  EXPECT_TRUE(contains(error({"show", "prots"}),
                       "unknown command 'prots'; did you mean 'ports'? (losslessctl show: ports,"));
  EXPECT_TRUE(contains(error({"show"}), "losslessctl show: which command? ports, queues"));
  EXPECT_TRUE(contains(error({"show", "ports", "--jsno"}), "did you mean '--json'?"));
  EXPECT_TRUE(contains(error({"--instance", "../etc", "show", "ports"}), "instance '../etc'"));
  EXPECT_TRUE(contains(error({"--color", "red", "show", "ports"}), "--color"));
  EXPECT_TRUE(contains(error({"show", "ports", "a", "b"}), "b"));
  const auto json = bench.run({"--json", "show", "prots"});
  EXPECT_EQ(json.code, 2);
  EXPECT_TRUE(contains(json.out, "{\"error\": {\"code\": \"USAGE\""));
}

TEST(CliErrors, HelpAndVersionNeedNoDaemon) {
  Bench bench;
  for (const auto& args :
       std::vector<std::vector<std::string>>{{"--help"}, {"show", "--help"}, {"set", "ecn", "-h"}}) {
    const auto r = bench.run(args);
    EXPECT_EQ(r.code, 0);
    EXPECT_TRUE(contains(r.out, "Usage: losslessctl"));
  }
  EXPECT_EQ(bench.run({"--version"}).out, "losslessctl " LL_VERSION "\n");
}

TEST(CliCompletionScript, NamesTheHiddenCommand) {
  Bench bench;
  for (const char* shell : {"bash", "zsh"}) {
    const auto r = bench.run({"completion", shell});
    EXPECT_EQ(r.code, 0);
    EXPECT_TRUE(contains(r.out, "__complete"));
  }
  EXPECT_EQ(bench.run({"completion", "fish"}).code, 2);
}

}  // namespace
}  // namespace lossless::cli
