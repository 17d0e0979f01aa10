// SPDX-License-Identifier: Apache-2.0
// Sessions: the state table, OPEN, timers, collision, errors, graceful restart.
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/bgp/fsm.h"
#include "tests/unit/bgp_sim.h"

namespace lossless::bgp {
namespace {

using std::chrono::seconds;
using test::ip;
using test::Node;
using test::reflect;
using test::Sim;

struct Pair {
  Sim sim;
  Node& a = sim.add("10.0.0.1");
  Node& b = sim.add("10.0.0.2");
  void start() {
    a.neighbor(b);
    b.neighbor(a);
    go();
  }
  void go() {
    a.start();
    b.start();
    sim.settle();
  }
  bool up() const { return a.to(b).established() && b.to(a).established(); }
};

TEST(BgpFsm, TheWayUp) {
  const std::pair<Event, Transition> way[] = {
      {Event::Start, {State::Connect, Action::Connect}},
      {Event::TcpFailed, {State::Active, Action::WaitToConnect}},
      {Event::RetryTimer, {State::Connect, Action::Connect}},
      {Event::TcpUp, {State::OpenSent, Action::SendOpen}},
      {Event::Open, {State::OpenConfirm, Action::Confirm}},
      {Event::KeepaliveTimer, {State::OpenConfirm, Action::SendKeepalive}},
      {Event::Keepalive, {State::Established, Action::Establish}},
      {Event::Update, {State::Established, Action::Heard}},
      {Event::Keepalive, {State::Established, Action::Heard}},
      {Event::HoldTimer, {State::Idle, Action::Notify, ErrorCode::HoldTimer}},
  };
  State state = State::Idle;
  for (const auto& [event, want] : way) {
    const Transition got = transition(state, event);
    EXPECT_EQ(got.next, want.next) << to_string(state);
    EXPECT_EQ(got.action, want.action) << to_string(state);
    EXPECT_EQ(got.code, want.code) << to_string(state);
    state = got.next;
  }
}

TEST(BgpFsm, MessagesOutOfTurnEndTheSession) {
  const std::pair<State, Event> wrong[] = {{State::OpenSent, Event::Keepalive},
                                           {State::OpenSent, Event::Update},
                                           {State::OpenConfirm, Event::Open},
                                           {State::OpenConfirm, Event::Update},
                                           {State::Established, Event::Open}};
  for (const auto& [state, event] : wrong) {
    const Transition got = transition(state, event);
    EXPECT_EQ(got.next, State::Idle);
    EXPECT_EQ(got.action, Action::Notify);
    EXPECT_EQ(got.code, ErrorCode::Fsm);
  }
}

TEST(BgpFsm, NobodyIsEstablishedByChance) {
  for (unsigned s = 0; s < kStates; ++s)
    for (unsigned e = 0; e < kEvents; ++e) {
      const auto state = static_cast<State>(s);
      const Transition got = transition(state, static_cast<Event>(e));
      if (got.next == State::Established && state != State::Established) {
        EXPECT_EQ(state, State::OpenConfirm);
        EXPECT_EQ(static_cast<Event>(e), Event::Keepalive);
      }
    }
}

TEST(BgpSession, ComesUpAndStays) {
  Pair p;
  p.start();
  ASSERT_TRUE(p.up());
  EXPECT_EQ(p.a.to(p.b).agreed().hold_s, 90U);
  EXPECT_TRUE(p.a.to(p.b).agreed().extended_message);
  p.sim.pass(seconds(1000));
  EXPECT_TRUE(p.up());
  EXPECT_EQ(p.a.to(p.b).counters().dropped, 0U);
}

TEST(BgpSession, InPiecesOfOneByte) {
  Pair p;
  p.sim.piece = 1;
  p.a.announce("route");
  p.start();
  ASSERT_TRUE(p.up());
  EXPECT_TRUE(p.b.used("route"));
}

TEST(BgpSession, CollisionLeavesOne) {
  Pair p;
  p.start();
  ASSERT_TRUE(p.up());
  EXPECT_EQ(p.sim.peers.size(), 2U) << "one connection, two ends";
  EXPECT_EQ(p.a.to(p.b).counters().dropped + p.b.to(p.a).counters().dropped, 0U);
}

TEST(BgpSession, OneSideIsPassive) {
  Pair p;
  p.a.neighbor(p.b).passive = true;
  p.b.neighbor(p.a);
  p.go();
  EXPECT_TRUE(p.up());
}

TEST(BgpSession, BothPassiveNeverMeet) {
  Pair p;
  p.a.neighbor(p.b).passive = true;
  p.b.neighbor(p.a).passive = true;
  p.go();
  p.sim.pass(seconds(100));
  EXPECT_EQ(p.a.to(p.b).state(), State::Active);
}

TEST(BgpSession, WrongAs) {
  Pair p;
  p.a.neighbor(p.b).asn = 65099;
  p.b.neighbor(p.a);
  p.go();
  EXPECT_FALSE(p.up());
  EXPECT_EQ(p.a.to(p.b).last_error(), "sent: OPEN, bad peer AS");
  EXPECT_EQ(p.b.to(p.a).last_error(), "received: OPEN, bad peer AS");
}

TEST(BgpSession, SameRouterId) {
  Pair p;
  p.b.config.self.router_id = p.a.config.self.router_id;
  p.start();
  EXPECT_FALSE(p.up());
  EXPECT_EQ(p.a.to(p.b).last_error(), "sent: OPEN, bad BGP identifier");
}

TEST(BgpSession, StrangersAreRefused) {
  Pair p;
  p.start();
  EXPECT_FALSE(p.a.speaker.accepted(p.a.speaker.new_connection(), ip("10.9.9.9"), ip("10.0.0.1"), p.sim.now));
}

TEST(BgpSession, NothingHeardForTheHoldTime) {
  Pair p;
  p.start();
  p.b.announce("far");
  p.b.speaker.flush(p.sim.now);
  p.sim.settle();
  ASSERT_TRUE(p.a.used("far"));
  p.sim.dead = &p.b;
  p.sim.pass(seconds(89));
  EXPECT_TRUE(p.a.to(p.b).established());
  p.sim.pass(seconds(2));
  EXPECT_FALSE(p.a.to(p.b).established());
  EXPECT_EQ(p.a.to(p.b).last_error().substr(0, 24), "sent: hold timer expired");
  EXPECT_FALSE(p.a.used("far")) << "a dead switch is not kept";
}

TEST(BgpSession, RetriesAfterARefusal) {
  Pair p;
  p.sim.refuse = true;
  p.start();
  p.sim.pass(seconds(12));
  EXPECT_FALSE(p.up());
  p.sim.refuse = false;
  p.sim.pass(seconds(6));
  EXPECT_TRUE(p.up());
}

TEST(BgpSession, ShutdownWithItsText) {
  Pair p;
  p.start();
  EXPECT_EQ(p.a.speaker.set_shutdown(ip("10.0.0.2"), true, "maintenance", p.sim.now), std::nullopt);
  p.sim.settle();
  EXPECT_EQ(p.b.to(p.a).last_error(), "received: cease, administrative shutdown: \"maintenance\"");
  p.sim.pass(seconds(60));
  EXPECT_EQ(p.a.to(p.b).state(), State::Idle);
  EXPECT_EQ(p.a.to(p.b).held_down(), "shutdown");
  p.a.speaker.set_shutdown(ip("10.0.0.2"), false, "", p.sim.now);
  p.sim.pass(seconds(6));
  EXPECT_TRUE(p.up());
}

TEST(BgpSession, ClearStartsAnew) {
  Pair p;
  p.start();
  EXPECT_EQ(p.a.speaker.clear(ip("10.0.0.2"), std::nullopt, p.sim.now), std::nullopt);
  p.sim.pass(seconds(6));
  EXPECT_TRUE(p.up());
  EXPECT_EQ(p.b.to(p.a).counters().established, 2U);
  EXPECT_TRUE(p.a.speaker.clear(ip("10.0.0.77"), std::nullopt, p.sim.now));
}

TEST(BgpSession, MaxPrefixesKeepsItDown) {
  Pair p;
  p.a.neighbor(p.b).max_prefixes = 3;
  p.b.neighbor(p.a);
  p.go();
  for (int i = 0; i < 4; ++i) p.b.announce("route" + std::to_string(i));
  p.b.speaker.flush(p.sim.now);
  p.sim.pass(seconds(60));
  EXPECT_EQ(p.a.to(p.b).held_down(), "max-prefix");
  EXPECT_EQ(p.b.to(p.a).last_error(), "received: cease, maximum number of prefixes reached");
  EXPECT_EQ(p.a.speaker.rib(Family::Inof).size(), 0U);
  p.b.withdraw("route0");
  p.a.speaker.clear(ip("10.0.0.2"), std::nullopt, p.sim.now);
  p.sim.pass(seconds(6));
  EXPECT_TRUE(p.up());
}

TEST(BgpSession, WhoStopsReadingIsDropped) {
  Pair p;
  p.start();
  p.a.stuck = kMaxQueued + 1;
  p.a.announce("one more");
  p.a.speaker.flush(p.sim.now);
  p.sim.settle();
  EXPECT_EQ(p.b.to(p.a).last_error(), "received: cease, out of resources");
}

TEST(BgpSession, ConfigurationChangesOnlyWhatChanged) {
  Sim sim;
  Node& a = sim.add("10.0.0.1");
  Node& b = sim.add("10.0.0.2");
  Node& c = sim.add("10.0.0.3");
  a.neighbor(b);
  a.neighbor(c);
  b.neighbor(a);
  c.neighbor(a);
  for (Node* n : {&a, &b, &c}) n->start();
  sim.settle();
  a.config.neighbors[1].hold_s = 30;
  a.start();
  sim.pass(seconds(6));
  EXPECT_EQ(a.to(b).counters().established, 1U);
  EXPECT_EQ(a.to(c).agreed().hold_s, 30U);
  a.config.neighbors.pop_back();
  a.start();
  sim.settle();
  EXPECT_EQ(c.to(a).last_error(), "received: cease, peer de-configured");
  EXPECT_EQ(a.speaker.find(ip("10.0.0.3")), nullptr);
}

TEST(BgpRestart, RoutesStayUntilTheEndOfRib) {
  Pair p;
  p.b.announce("stays");
  p.b.announce("goes");
  p.start();
  ASSERT_TRUE(p.a.used("goes"));
  p.a.told.clear();
  p.sim.refuse = true;
  p.sim.cut(p.a, p.b);
  p.sim.settle();
  EXPECT_TRUE(p.a.used("stays") && p.a.used("stays")->stale);
  p.b.withdraw("goes");
  p.b.speaker.begin_restart();
  p.b.speaker.flush(p.sim.now);
  p.sim.refuse = false;
  p.sim.pass(seconds(6));
  ASSERT_TRUE(p.up());
  EXPECT_TRUE(p.a.used("goes")) << "the End-of-RIB is held";
  EXPECT_FALSE(p.a.used("stays")->stale);
  p.b.speaker.finish_restart();
  p.sim.settle();
  EXPECT_FALSE(p.a.used("goes"));
  EXPECT_EQ(p.a.told, (std::vector<std::pair<std::string, bool>>{{"goes", false}}));
}

TEST(BgpRestart, WhoDoesNotComeBackIsForgotten) {
  Pair p;
  p.b.announce("far");
  p.start();
  p.sim.refuse = true;
  p.sim.cut(p.a, p.b);
  p.sim.pass(seconds(119));
  EXPECT_TRUE(p.a.used("far"));
  p.sim.pass(seconds(2));
  EXPECT_FALSE(p.a.used("far"));
}

TEST(BgpRestart, WhoKeptNothingIsForgottenAtOnce) {
  Pair p;
  p.b.announce("far");
  p.start();
  p.sim.cut(p.a, p.b);
  p.b.withdraw("far");
  p.b.speaker.flush(p.sim.now);
  p.sim.pass(seconds(6));
  ASSERT_TRUE(p.up());
  EXPECT_FALSE(p.a.used("far")) << "no forwarding bit";
}

// Client a of reflectors b and c, where b has died: c's word that a's route is gone holds at d.
TEST(BgpRestart, TheLivingCountMoreThanTheGone) {
  Sim sim;
  Node& a = sim.add("10.0.0.1");
  Node& d = sim.add("10.0.0.4");
  Node& b = sim.add("10.0.0.2");
  Node& c = sim.add("10.0.0.3");
  reflect({&b, &c}, {&a, &d});
  a.announce("x");
  for (Node* n : {&a, &b, &c, &d}) n->start();
  sim.settle();
  sim.cut(d, b);
  sim.dead = &b;
  sim.settle();
  ASSERT_TRUE(d.used("x"));
  a.withdraw("x");
  a.speaker.flush(sim.now);
  sim.settle();
  EXPECT_FALSE(d.used("x"));
  EXPECT_EQ(d.speaker.rib(Family::Inof).size(), 0U);
}

// The same, and a's session to c ends: c has b's copy as a stale one.
TEST(BgpRestart, WhoIsLostIsNotKeptByACopy) {
  Sim sim;
  Node& a = sim.add("10.0.0.1");
  Node& d = sim.add("10.0.0.4");
  Node& b = sim.add("10.0.0.2");
  Node& c = sim.add("10.0.0.3");
  reflect({&b, &c}, {&a, &d});
  b.neighbor(c);
  c.neighbor(b);
  a.announce("x");
  for (Node* n : {&a, &b, &c, &d}) n->start();
  sim.settle();
  sim.cut(d, b);
  sim.cut(c, b);
  sim.dead = &b;
  sim.settle();
  ASSERT_TRUE(c.used("x") && d.used("x"));
  a.speaker.set_shutdown(ip("10.0.0.3"), true, "", sim.now);
  sim.settle();
  EXPECT_FALSE(c.used("x"));
  EXPECT_FALSE(d.used("x"));
}

TEST(BgpRestart, BfdWaitsForNothing) {
  Pair p;
  p.b.announce("far");
  p.start();
  p.sim.refuse = true;
  p.a.speaker.bfd_down(ip("10.0.0.2"), p.sim.now);
  EXPECT_FALSE(p.a.used("far"));
  EXPECT_EQ(p.a.to(p.b).last_error(), "sent: cease, BFD down");
}

TEST(BgpRestart, ANewConnectionTakesTheDeadOnesPlace) {
  Pair p;
  p.b.announce("far");
  p.start();
  // b dies without a word and comes again.
  Node& again = p.b;
  const ConnId old = p.a.to(p.b).connection();
  p.sim.unlink({&p.a, old});
  again.speaker.begin_restart();
  again.speaker.disconnected(again.to(p.a).connection(), "died", p.sim.now);
  p.sim.pass(seconds(6));
  ASSERT_TRUE(p.up());
  EXPECT_NE(p.a.to(p.b).connection(), old);
  EXPECT_TRUE(p.a.used("far"));
}

TEST(BgpRefresh, SoftClearTakesAllAnew) {
  Pair p;
  p.b.announce("one");
  p.start();
  const auto before = p.a.to(p.b).counters().in[2];
  EXPECT_EQ(p.a.speaker.clear(ip("10.0.0.2"), Speaker::Soft::In, p.sim.now), std::nullopt);
  p.sim.settle();
  EXPECT_GT(p.a.to(p.b).counters().in[2], before);
  EXPECT_EQ(p.a.to(p.b).counters().in[5], 4U) << "begin and end of two families";
  EXPECT_TRUE(p.up());
  EXPECT_FALSE(p.a.used("one")->stale);
}

}  // namespace
}  // namespace lossless::bgp
