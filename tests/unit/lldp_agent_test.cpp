// SPDX-License-Identifier: Apache-2.0
// The LLDP agent: what it sends when, and what it says about neighbours.
#include <gtest/gtest.h>

#include "daemon/lldp/agent.h"

namespace {

using namespace lossless;
using namespace lossless::lldp;
using std::chrono::milliseconds;

const net::PortRef kPort{.ifindex = 3, .name = "swp1", .mac = {2, 0, 0, 0, 0, 3}};

struct AgentTest : testing::Test {
  AgentTest() {
    agent.subscribe([this](const Event& e) {
      events.emplace_back(to_string(e.kind));
      last_port = e.port.name;
      last_name = e.neighbour.packet.system_name.value_or("");
      last_before = e.before ? e.before->system_name.value_or("") : "";
    });
    agent.on_limit([this](const net::PortRef&, bool full) { limits.push_back(full); });
    agent.on_wake([this] { wakes++; });
  }

  void up(Mode mode = Mode::Both) {
    agent.port_up(kPort, mode, {.description = "uplink", .management = {}}, now);
  }
  static Packet peer(const std::string& name, std::uint16_t ttl = 120, std::uint8_t id = 1) {
    Packet packet{.chassis = chassis_of({2, 0, 0, 0, 1, id}), .port = port_of("eth0"), .ttl_s = ttl};
    packet.system_name = name;
    return packet;
  }
  void hear(const Packet& packet) { agent.receive(kPort.ifindex, encode(packet, {2, 9}), now); }
  // Runs the agent by its own deadlines.
  void pass(milliseconds time) {
    const Time end = now + time;
    while (const auto next = agent.next_deadline()) {
      if (*next > end) break;
      now = std::max(now, *next);
      agent.advance(now);
    }
    now = end;
  }
  const Agent::PortState& port() { return agent.ports().at(kPort.ifindex); }
  std::vector<std::string> take_events() { return std::exchange(events, {}); }
  std::size_t take_sent() { return std::exchange(sent, {}).size(); }

  Time now{std::chrono::hours(1)};
  bool device_takes = true;
  std::vector<Packet> sent;
  std::vector<std::string> events;
  std::vector<bool> limits;
  int wakes = 0;
  std::string last_port, last_name, last_before;
  Agent agent{{.chassis = {2, 0, 0, 0, 0, 1}, .name = "sw1", .description = "d", .capabilities = {}},
              [this](const net::PortRef&, ByteView frame) {
                if (const auto read = decode(frame)) sent.push_back(read->packet);
                return device_takes;
              }};
};

using Names = std::vector<std::string>;

TEST_F(AgentTest, FastStartThenTheInterval) {
  up();
  pass(milliseconds(0));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].ttl_s, 121);
  EXPECT_EQ(sent[0].system_name, "sw1");
  EXPECT_EQ(sent[0].port_description, "uplink");
  EXPECT_EQ(port_text(sent[0].port), "swp1");
  pass(milliseconds(3000));
  EXPECT_EQ(take_sent(), 4U);
  pass(milliseconds(29'999));
  EXPECT_EQ(take_sent(), 0U);
  pass(milliseconds(1));
  EXPECT_EQ(take_sent(), 1U);
  pass(milliseconds(300'000));
  EXPECT_EQ(take_sent(), 10U);
  EXPECT_EQ(port().statistics.frames_out, 15U);
}

TEST_F(AgentTest, ANewNeighbourIsAnsweredAtOnceAndFast) {
  up();
  pass(milliseconds(60'000));
  take_sent();
  hear(peer("h1"));
  pass(milliseconds(0));
  EXPECT_EQ(take_sent(), 1U);
  pass(milliseconds(3500));
  EXPECT_EQ(take_sent(), 3U);
}

// txCredit: however much changes, five frames at once and then one a second.
TEST_F(AgentTest, ManyChangesAreSentNoFasterThanCreditAllows) {
  up();
  pass(milliseconds(60'000));
  take_sent();
  for (std::uint8_t i = 0; i < 100; ++i) {
    agent.set_org_tlvs("swp1", "inof", {{.oui = 1, .subtype = i, .value = {}}});
    pass(milliseconds(0));
  }
  EXPECT_EQ(sent.size(), 5U);
  pass(milliseconds(2000));
  ASSERT_EQ(sent.size(), 6U);  // the last state, and then nothing more to say
  EXPECT_EQ(sent.back().org.at(0).subtype, 99);
}

TEST_F(AgentTest, OrgTlvsOfSeveralOwnersInTheOrderOfTheirNames) {
  agent.set_org_tlvs("swp1", "inof", {{.oui = 2, .subtype = 1, .value = {}}});
  agent.set_org_tlvs("swp1", "dcbx",
                     {{.oui = 1, .subtype = 1, .value = {}}, {.oui = 1, .subtype = 2, .value = {}}});
  up();  // kept while the port was not there
  pass(milliseconds(60'000));
  ASSERT_EQ(sent.back().org.size(), 3U);
  EXPECT_EQ(sent.back().org[0].oui, 1U);
  EXPECT_EQ(sent.back().org[2].oui, 2U);
  take_sent();
  wakes = 0;
  agent.set_org_tlvs("swp1", "inof", {{.oui = 2, .subtype = 1, .value = {}}});  // the same
  EXPECT_EQ(wakes, 0);
  pass(milliseconds(0));
  EXPECT_EQ(take_sent(), 0U);
  agent.set_org_tlvs("swp1", "dcbx", {});
  EXPECT_EQ(wakes, 1);
  pass(milliseconds(0));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].org.size(), 1U);
}

TEST_F(AgentTest, NewRefreshedChangedAged) {
  up();
  hear(peer("h1"));
  EXPECT_EQ(take_events(), Names{"new"});
  EXPECT_EQ(last_port, "swp1");
  pass(milliseconds(100'000));
  hear(peer("h1"));
  EXPECT_EQ(take_events(), Names{"refreshed"});
  hear(peer("h1", 60));  // another lifetime is no change
  EXPECT_EQ(take_events(), Names{"refreshed"});
  hear(peer("h2"));
  EXPECT_EQ(take_events(), Names{"changed"});
  EXPECT_EQ(last_name, "h2");
  EXPECT_EQ(last_before, "h1");
  EXPECT_EQ(port().neighbours.size(), 1U);
  pass(milliseconds(119'999));
  EXPECT_EQ(take_events(), Names{});
  pass(milliseconds(1));
  EXPECT_EQ(take_events(), Names{"aged"});
  EXPECT_TRUE(port().neighbours.empty());
  const Statistics& count = port().statistics;
  EXPECT_EQ(count.frames_in, 4U);
  EXPECT_EQ(count.inserts, 1U);
  EXPECT_EQ(count.changes, 1U);
  EXPECT_EQ(count.ageouts, 1U);
  EXPECT_EQ(count.deletes, 1U);
}

TEST_F(AgentTest, SeveralNeighboursAgeEachOnItsOwn) {
  up();
  hear(peer("a", 10, 1));
  hear(peer("b", 30, 2));
  hear(peer("c", 20, 3));
  EXPECT_EQ(take_events().size(), 3U);
  pass(milliseconds(15'000));
  EXPECT_EQ(last_name, "a");
  EXPECT_EQ(port().neighbours.size(), 2U);
  pass(milliseconds(10'000));
  EXPECT_EQ(last_name, "c");
  EXPECT_EQ(port().neighbours.size(), 1U);
}

TEST_F(AgentTest, Ttl0TakesTheNeighbourAway) {
  up();
  hear(peer("h1"));
  hear(peer("h2", 120, 2));
  take_events();
  hear(peer("h1", 0));
  EXPECT_EQ(take_events(), Names{"shutdown"});
  EXPECT_EQ(port().neighbours.size(), 1U);
  hear(peer("h1", 0));  // nobody we know
  EXPECT_EQ(take_events(), Names{});
}

TEST_F(AgentTest, NoRoomTurnsNewcomersAwayAndKeepsTheKnown) {
  agent.set_timing({.max_neighbours = 3});
  up();
  for (std::uint8_t id = 1; id <= 200; ++id) hear(peer("x", 120, id));
  EXPECT_EQ(port().neighbours.size(), 3U);
  EXPECT_EQ(port().statistics.drops, 197U);
  EXPECT_EQ(port().statistics.frames_discarded, 197U);
  EXPECT_EQ(limits, std::vector<bool>{true});  // once
  take_events();
  hear(peer("x", 120, 1));
  EXPECT_EQ(take_events(), Names{"refreshed"});
  hear(peer("x", 0, 2));
  EXPECT_EQ(limits, (std::vector<bool>{true, false}));
  take_events();
  hear(peer("x", 120, 100));
  EXPECT_EQ(take_events(), Names{"new"});
}

TEST_F(AgentTest, LinkDownTakesAllAwayAndSaysNothing) {
  up();
  pass(milliseconds(10'000));
  hear(peer("h1"));
  hear(peer("h2", 120, 2));
  take_sent();
  take_events();
  agent.port_down(kPort.ifindex, now);
  EXPECT_EQ(take_events(), (Names{"link-down", "link-down"}));
  hear(peer("h1"));
  pass(milliseconds(100'000));
  EXPECT_EQ(take_sent(), 0U);
  EXPECT_EQ(take_events(), Names{});
  EXPECT_FALSE(agent.next_deadline());
  up();
  pass(milliseconds(0));
  EXPECT_EQ(take_sent(), 1U);
  hear(peer("h1"));
  EXPECT_EQ(take_events(), Names{"new"});
  EXPECT_EQ(port().statistics.inserts, 3U);  // counters went on
}

TEST_F(AgentTest, APortThatIsTakenOffSaysGoodbye) {
  up();
  pass(milliseconds(10'000));
  hear(peer("h1"));
  take_sent();
  agent.remove_port(kPort.ifindex, now);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].ttl_s, 0);
  EXPECT_EQ(events.back(), "link-down");
  EXPECT_TRUE(agent.ports().empty());
}

TEST_F(AgentTest, ModesSendAndListenAsTheySay) {
  up(Mode::Rx);
  pass(milliseconds(60'000));
  EXPECT_EQ(take_sent(), 0U);
  hear(peer("h1"));
  EXPECT_EQ(take_events(), Names{"new"});
  up(Mode::Tx);
  EXPECT_EQ(take_events(), Names{"link-down"});
  pass(milliseconds(0));
  EXPECT_EQ(take_sent(), 1U);
  hear(peer("h1"));
  EXPECT_EQ(take_events(), Names{});
  up(Mode::Off);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].ttl_s, 0);
  take_sent();
  up(Mode::Both);  // reinitDelay
  pass(milliseconds(1999));
  EXPECT_EQ(take_sent(), 0U);
  pass(milliseconds(1));
  EXPECT_EQ(take_sent(), 1U);
}

TEST_F(AgentTest, NothingNewAboutAPortIsNoReasonToSend) {
  up();
  pass(milliseconds(10'000));
  take_sent();
  up();
  pass(milliseconds(100));
  EXPECT_EQ(take_sent(), 0U);
  auto other = kPort;
  other.mac[5] = 9;
  agent.port_up(other, Mode::Both, {.description = "uplink", .management = {}}, now);
  pass(milliseconds(0));
  EXPECT_EQ(take_sent(), 1U);
}

TEST_F(AgentTest, AnInterfaceThatCameBackUnderItsNameHasOneEntry) {
  up();
  hear(peer("h1"));
  auto again = kPort;
  again.ifindex = 9;
  agent.port_up(again, Mode::Both, {}, now);
  EXPECT_EQ(agent.ports().size(), 1U);
  EXPECT_EQ(events.back(), "link-down");
  pass(milliseconds(1'000'000));  // nothing of the old one is left to age
  EXPECT_EQ(events.back(), "link-down");
}

TEST_F(AgentTest, FaultyFramesAreCounted) {
  up();
  Bytes frame = encode(peer("h1"), {2});
  frame[15] = 200;  // chassis ID beyond the frame
  agent.receive(kPort.ifindex, frame, now);
  EXPECT_EQ(take_events(), Names{});
  EXPECT_EQ(port().statistics.frames_in, 1U);
  EXPECT_EQ(port().statistics.frames_discarded, 1U);
  EXPECT_EQ(port().statistics.frames_in_errors, 1U);
  device_takes = false;
  pass(milliseconds(0));
  EXPECT_EQ(port().statistics.frames_out, 0U);
  EXPECT_EQ(port().statistics.frames_out_failed, 1U);
}

}  // namespace
