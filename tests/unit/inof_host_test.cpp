// SPDX-License-Identifier: Apache-2.0
// The iNOF host agent: announcements, ACKs, members and hooks.
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/inof/host_agent.h"
#include "tests/unit/hex.h"

namespace {

using namespace lossless;
using namespace lossless::inof;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::from_hex;

const Mac kHostMac{0x02, 0, 0, 0xaa, 0, 0x02};
const Mac kSwitchMac{0x02, 0, 0, 0xbb, 0, 0x01};
const IpAddress kOurs = *parse_ip("10.77.0.2");
const IpAddress kOurs6 = *parse_ip("fd00::2");
const IpAddress kDisk = *parse_ip("10.77.0.9");
const net::PortRef kPort{.ifindex = 4, .name = "sn0", .mac = kHostMac};
const net::PortRef kPort2{.ifindex = 5, .name = "sn1", .mac = {0x02, 0, 0, 0xaa, 0, 0x03}};
const Bytes kTarget = from_hex("02010000114400");

struct HostTest : testing::Test {
  struct Sent {
    std::string port;
    Bytes frame;
  };
  struct Run {
    std::uint64_t id;
    HookEvent event;
  };

  HostTest() { up({address(kOurs)}); }

  static HostAddress address(const IpAddress& ip, const net::PortRef& port = kPort) {
    return {.port = port, .interface = "sn0.100", .address = ip, .index = 1, .up = true};
  }
  void up(const std::vector<HostAddress>& all) { agent.set_addresses(all, now); }
  static Notify notify(std::uint32_t sequence, State state, const IpAddress& subject = kDisk) {
    return {.subject = subject,
            .notified = kOurs,
            .sequence = sequence,
            .state = state,
            .reason = state == State::Online ? Reason::Normal : Reason::LinkDown,
            .attached = kTarget};
  }
  void hear(const std::vector<Message>& messages, Dialect dialect = Dialect::Odcc,
            int ifindex = kPort.ifindex) {
    agent.receive(ifindex, encode_frame(dialect, kSwitchMac, messages), now);
  }
  void end(std::uint64_t run, int code = 0) { agent.hook_ended(run, {.exit_code = code, .words = "w"}, now); }
  void pass(milliseconds time) {
    const Time until = now + time;
    while (const auto next = agent.next_deadline()) {
      if (*next > until) break;
      now = std::max(now, *next);
      agent.advance(now);
    }
    now = until;
  }
  std::vector<Sent> take_sent() { return std::exchange(sent, {}); }
  std::size_t announcements() {
    std::size_t count = 0;
    for (const Sent& s : sent) count += lldp::decode(s.frame).has_value();
    return count;
  }
  const Member& member(const IpAddress& subject = kDisk) {
    return agent.members().at({.ifindex = kPort.ifindex, .notified = kOurs, .subject = subject});
  }

  Time now{std::chrono::hours(1)};
  InofHostConfig config{
      .role = InofRole::Client, .hook_timeout_s = 10, .hook_retries = 2, .hook_backoff_s = 1};
  std::vector<Sent> sent;
  std::vector<Run> runs;
  std::vector<std::uint64_t> kills;
  HostAgent agent{config,
                  {.send =
                       [this](const net::PortRef& port, ByteView frame) {
                         sent.push_back({port.name, Bytes(frame.begin(), frame.end())});
                         return true;
                       },
                   .start = [this](std::uint64_t id, const HookEvent& event) { runs.push_back({id, event}); },
                   .kill = [this](std::uint64_t id) { kills.push_back(id); }}};
};

// Byte for byte what a host program in use sends for the same values.
TEST_F(HostTest, AnnouncesAndQueriesAsRecorded) {
  const auto frames = take_sent();
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(
      frames[0].frame,
      from_hex("0180c200000e 020000aa0002 88cc 0207 04 020000aa0002 0410 05 736e73645f736e302e3130305f3031"
               "0602 0078 fe1f 001882 65 01 81 0000 0a4d0002 000000000000000000000000 02 01 0101 0000 00"
               "0000"));
  EXPECT_EQ(frames[1].frame,
            from_hex("0180c200000d 020000aa0002 88a7 01 00 000a 00000000 23 0007 02 0004 0a4d0002"
                     "000000000000000000000000"));
}

TEST_F(HostTest, FastStartThenEvery30Seconds) {
  pass(milliseconds(29'000));
  EXPECT_EQ(announcements(), 3U);
  take_sent();
  pass(milliseconds(91'000));
  EXPECT_EQ(announcements(), 3U);
  EXPECT_EQ(agent.statistics().queries, 1U);
}

TEST_F(HostTest, EachAddressOnEachPortHasItsOwnFrame) {
  take_sent();
  auto second = address(kOurs6);
  second.index = 2;
  up({address(kOurs), second, address(kOurs, kPort2)});
  const auto frames = take_sent();
  ASSERT_EQ(frames.size(), 4U);  // two new ones, each announced and queried for
  const auto v6 = lldp::decode(frames[0].frame);
  ASSERT_TRUE(v6);
  EXPECT_EQ(lldp::port_text(v6->packet.port), "snsd_sn0.100_02");
  EXPECT_EQ(decode_host(v6->packet.org[0])->address, kOurs6);
  EXPECT_EQ(frames[2].port, "sn1");
  EXPECT_EQ(lldp::decode(frames[2].frame)->packet.chassis, lldp::chassis_of(kPort2.mac));
}

TEST_F(HostTest, AnAddressThatWentIsWithdrawnAndOneWithoutLinkIsNot) {
  take_sent();
  auto down = address(kOurs);
  down.up = false;
  up({down});
  EXPECT_TRUE(take_sent().empty());
  pass(milliseconds(100'000));
  EXPECT_TRUE(take_sent().empty());
  up({address(kOurs)});
  EXPECT_EQ(take_sent().size(), 2U);
  up({});
  const auto frames = take_sent();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(lldp::decode(frames[0].frame)->packet.ttl_s, 0);
}

TEST_F(HostTest, AcksAsRecordedAndRunsTheHook) {
  take_sent();
  hear({notify(1, State::Online)});
  const auto frames = take_sent();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].frame, from_hex("0180c200000d 020000aa0002 88a7 01 00 0018 00000000 22 0015"
                                      "010004 0a4d0009 020004 0a4d0002 050004 00000001"));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].event.state, State::Online);
  EXPECT_EQ(runs[0].event.subject, kDisk);
  EXPECT_EQ(runs[0].event.notified, kOurs);
  EXPECT_EQ(runs[0].event.service->port, 4420);
  EXPECT_EQ(member().hook, HookState::Running);
  end(runs[0].id);
  EXPECT_EQ(member().hook, HookState::Done);
  EXPECT_EQ(member().hook_result, "exit 0: w");
}

TEST_F(HostTest, SeveralMessagesAreAckedInOneFrame) {
  take_sent();
  hear({notify(7, State::Online), notify(8, State::Online, *parse_ip("10.77.0.10"))});
  const auto frames = take_sent();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(decode_frame(frames[0].frame)->messages.size(), 2U);
  EXPECT_EQ(runs.size(), 2U);
}

TEST_F(HostTest, ARepeatedMessageIsAckedAgainAndNothingMore) {
  hear({notify(1, State::Online)});
  end(1);
  take_sent();
  hear({notify(1, State::Online)});
  EXPECT_EQ(take_sent().size(), 1U);
  EXPECT_EQ(runs.size(), 1U);
  EXPECT_EQ(agent.statistics().duplicates, 1U);
  // Late, after the next one: what holds is the newer state.
  hear({notify(2, State::Offline)});
  hear({notify(1, State::Online)});
  EXPECT_EQ(member().state, State::Offline);
  EXPECT_EQ(runs.size(), 2U);
}

TEST_F(HostTest, ASwitchThatCountsFromOneAgainIsHeard) {
  hear({notify(1, State::Online)});
  end(1);
  hear({notify(2, State::Offline)});
  end(2);
  pass(milliseconds(31'000));
  hear({notify(1, State::Online)});
  EXPECT_EQ(member().state, State::Online);
  EXPECT_EQ(runs.size(), 3U);
}

TEST_F(HostTest, TheSameStateAgainIsNoReasonToRunTheHook) {
  hear({notify(1, State::Online)});
  end(1);
  hear({notify(2, State::Online)});
  EXPECT_EQ(runs.size(), 1U);
  Notify other = notify(3, State::Online);
  other.attached = from_hex("0201000011440161");  // another NQN
  hear({other});
  EXPECT_EQ(runs.size(), 2U);
}

TEST_F(HostTest, WhatIsNotForUsIsNotAcked) {
  take_sent();
  Notify other = notify(1, State::Online);
  other.notified = *parse_ip("10.77.0.3");
  hear({other});
  hear({notify(1, State::Online)}, Dialect::ChinaMobile);
  hear({notify(1, State::Online)}, Dialect::Odcc, kPort2.ifindex);
  hear({QueryZone{kOurs}});
  agent.receive(kPort.ifindex, from_hex("0180c200000d 020000bb0001 88a7 02 00 0030 00000000"), now);
  EXPECT_TRUE(take_sent().empty());
  EXPECT_TRUE(runs.empty());
  EXPECT_EQ(agent.statistics().not_for_us, 2U);
  EXPECT_EQ(agent.statistics().other_dialect, 1U);
  EXPECT_EQ(agent.statistics().malformed, 1U);
}

TEST_F(HostTest, UnknownStateIsAckedAndNotActedOn) {
  take_sent();
  constexpr auto kUnknown = static_cast<State>(2);  // NOLINT(clang-analyzer-optin.core.EnumCastOutOfRange)
  hear({notify(1, kUnknown)});
  EXPECT_EQ(take_sent().size(), 1U);
  EXPECT_TRUE(runs.empty());
  EXPECT_EQ(agent.events().size(), 1U);
}

TEST_F(HostTest, AFailedHookIsTriedAgainWithBackOffAndThenGivenUp) {
  hear({notify(1, State::Online)});
  end(1, 1);
  EXPECT_EQ(member().hook, HookState::Waiting);
  pass(milliseconds(999));
  EXPECT_EQ(runs.size(), 1U);
  pass(milliseconds(1));
  ASSERT_EQ(runs.size(), 2U);
  end(2, 1);
  pass(milliseconds(1999));
  EXPECT_EQ(runs.size(), 2U);
  pass(milliseconds(1));
  ASSERT_EQ(runs.size(), 3U);
  end(3, 1);
  EXPECT_EQ(member().hook, HookState::Failed);
  pass(milliseconds(1'000'000));
  EXPECT_EQ(runs.size(), 3U);
  EXPECT_EQ(agent.statistics().hooks_given_up, 1U);
  hear({notify(2, State::Online)});  // told again: tried again
  EXPECT_EQ(runs.size(), 4U);
}

TEST_F(HostTest, AHookThatHangsIsKilled) {
  hear({notify(1, State::Online)});
  pass(milliseconds(9'999));
  EXPECT_TRUE(kills.empty());
  pass(milliseconds(1));
  ASSERT_EQ(kills, std::vector<std::uint64_t>{1});
  pass(milliseconds(60'000));
  EXPECT_EQ(kills.size(), 1U);  // once
  agent.hook_ended(1, {.signal = 9}, now);
  EXPECT_EQ(member().hook, HookState::Waiting);
  EXPECT_TRUE(member().hook_result.starts_with("killed after 10 s"));
  EXPECT_EQ(agent.statistics().hooks_killed, 1U);
}

TEST_F(HostTest, OfflineDoesNotWaitForAConnectThatHangs) {
  hear({notify(1, State::Online)});
  hear({notify(2, State::Offline)});
  EXPECT_EQ(kills, std::vector<std::uint64_t>{1});
  EXPECT_EQ(runs.size(), 1U);
  agent.hook_ended(1, {.signal = 9}, now);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].event.state, State::Offline);
  EXPECT_EQ(member().attempts, 1U);
}

TEST_F(HostTest, NoMoreThan16HooksAtOnceAndOfflineFirst) {
  std::vector<Message> online;
  online.reserve(20);
  for (unsigned i = 0; i < 20; ++i)
    online.emplace_back(
        notify(i, State::Online,
               IpAddress::v4_of(from_hex("0a4d01" + std::to_string(i / 10) + std::to_string(i % 10)))));
  hear(online);
  EXPECT_EQ(runs.size(), 16U);
  hear({notify(100, State::Offline)});
  EXPECT_EQ(runs.size(), 16U);
  end(runs[0].id);
  ASSERT_EQ(runs.size(), 17U);
  EXPECT_EQ(runs[16].event.state, State::Offline);
}

TEST_F(HostTest, MembersAreBounded) {
  config.max_members = 2;
  config.hook = InofHook::None;
  agent.set_config(config, now);
  take_sent();
  const auto a = *parse_ip("10.77.1.1"), b = *parse_ip("10.77.1.2"), c = *parse_ip("10.77.1.3");
  hear({notify(1, State::Online, a), notify(2, State::Online, b)});
  take_sent();
  hear({notify(3, State::Online, c)});
  EXPECT_TRUE(take_sent().empty());
  EXPECT_EQ(agent.statistics().members_dropped, 1U);
  hear({notify(4, State::Offline, a)});
  hear({notify(5, State::Online, c)});  // takes the place of the one that is gone
  EXPECT_EQ(agent.members().size(), 2U);
  EXPECT_EQ(member(c).state, State::Online);
}

TEST_F(HostTest, AnotherDialectByConfiguration) {
  take_sent();
  config.dialect = Dialect::ChinaMobile;
  agent.set_config(config, now);
  const auto frames = take_sent();
  ASSERT_EQ(frames.size(), 3U);  // the old name is withdrawn
  EXPECT_EQ(lldp::decode(frames[0].frame)->packet.ttl_s, 0);
  EXPECT_EQ(lldp::port_text(lldp::decode(frames[1].frame)->packet.port), "roce-san_sn0.100_01");
  EXPECT_EQ(decode_frame(frames[2].frame)->dialect, Dialect::ChinaMobile);
  hear({notify(1, State::Online)}, Dialect::ChinaMobile);
  EXPECT_EQ(decode_frame(take_sent().at(0).frame)->dialect, Dialect::ChinaMobile);
}

HookEvent event(State state, const std::string& id = "", Role role = Role::Client) {
  return {.state = state,
          .reason = Reason::Normal,
          .subject = kDisk,
          .notified = kOurs,
          .port = "sn0",
          .sequence = 7,
          .service = Service{.role = role, .protocol = Protocol::Roce, .id = id}};
}
using Words = std::vector<std::string>;

TEST(InofHook, ConnectByNqnOrByDiscovery) {
  const InofHostConfig config;
  const auto named = hook_command(config, event(State::Online, "nqn.2024-01.org:disk"), {});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->argv, (Words{"/usr/sbin/nvme", "connect", "--transport=rdma", "--traddr=10.77.0.9",
                                "--trsvcid=4420", "--host-traddr=10.77.0.2", "--nqn=nqn.2024-01.org:disk"}));
  const auto all = hook_command(config, event(State::Online), {});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->argv.at(1), "connect-all");
  EXPECT_EQ(all->argv.size(), 6U);
  auto tcp = event(State::Online);
  tcp.service->protocol = Protocol::Tcp;
  tcp.service->port = 8009;
  EXPECT_EQ(hook_command(config, tcp, {})->argv.at(2), "--transport=tcp");
  EXPECT_EQ(hook_command(config, tcp, {})->argv.at(4), "--trsvcid=8009");
}

TEST(InofHook, WhoOffersNothingIsNotConnectedTo) {
  EXPECT_FALSE(hook_command({}, event(State::Online, "", Role::Server), {}));
  auto iscsi = event(State::Online);
  iscsi.service->protocol = Protocol::Iscsi;
  EXPECT_FALSE(hook_command({}, iscsi, {}));
}

TEST(InofHook, IdsOfStrangersCannotBecomeOptionsOrHoldControls) {
  for (const std::string id : {"-x", "a b", "a\nb", "a\x01"}) {
    const auto command = hook_command({}, event(State::Online, id), {});
    ASSERT_TRUE(command);
    EXPECT_EQ(command->argv.at(1), "connect-all") << id;
  }
}

TEST(InofHook, DisconnectsTheOnePathByItsDevice) {
  const std::vector<NvmeController> controllers{
      {"nvme0", "pcie", "0000:01:00.0"},
      {"nvme1", "rdma", "traddr=10.77.0.9,trsvcid=4420,host_traddr=10.77.0.2,src_addr=10.77.0.2"},
      {"nvme2", "rdma", "traddr=10.77.0.9,trsvcid=4420,host_traddr=10.78.0.2"},  // the other path
      {"nvme3", "tcp", "traddr=10.77.0.9,trsvcid=4420,host_traddr=10.77.0.2"},
      {"nvme4", "rdma", "traddr=10.77.0.99,trsvcid=4420,host_traddr=10.77.0.2"},
      {"nvme5", "rdma", "traddr=10.77.0.9,trsvcid=4420"}};
  const auto command = hook_command({}, event(State::Offline), controllers);
  ASSERT_TRUE(command);
  EXPECT_EQ(command->argv, (Words{"/usr/sbin/nvme", "disconnect", "--device=nvme1,nvme5"}));
  EXPECT_FALSE(hook_command({}, event(State::Offline), {}));
}

TEST(InofHook, ProgramHasTheEventInItsEnvironmentOnly) {
  const InofHostConfig config{.hook = InofHook::Program, .program = "/opt/hook"};
  const auto command = hook_command(config, event(State::Offline, "nqn.x", Role::Server), {});
  ASSERT_TRUE(command);
  EXPECT_EQ(command->argv, Words{"/opt/hook"});
  for (const char* line :
       {"INOF_STATE=offline", "INOF_REASON=normal", "INOF_ADDRESS=10.77.0.9", "INOF_LOCAL_ADDRESS=10.77.0.2",
        "INOF_PORT=sn0", "INOF_SEQUENCE=7", "INOF_ROLE=server", "INOF_PROTOCOL=roce",
        "INOF_SERVICE_PORT=4420", "INOF_ID=nqn.x"})
    EXPECT_NE(std::ranges::find(command->environment, line), command->environment.end()) << line;
  EXPECT_FALSE(hook_command({.hook = InofHook::None}, event(State::Online), {}));
}

TEST(InofHook, WordsAboutARun) {
  EXPECT_EQ(to_string(HookResult{.exit_code = 1, .words = "refused"}), "exit 1: refused");
  EXPECT_EQ(to_string(HookResult{.signal = 9}), "killed by signal 9");
  EXPECT_EQ(to_string(HookResult{.started = false, .words = "no such file"}), "not started: no such file");
}

}  // namespace
