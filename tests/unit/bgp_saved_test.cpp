// SPDX-License-Identifier: Apache-2.0
// A speaker goes on in another process: neighbours do not notice, and what is lost is lost as a connection
// is.
#include <gtest/gtest.h>

#include "daemon/bgp/saved.h"
#include "tests/unit/bgp_sim.h"

namespace lossless::bgp {
namespace {

using std::chrono::seconds;
using test::Node;
using test::reflect;
using test::Sim;

// Reflector r with clients c1 and c2; c1 has announced "one", r "own".
struct Line {
  Sim sim;
  Node& r = sim.add("10.0.0.10");
  Node& c1 = sim.add("10.0.0.1");
  Node& c2 = sim.add("10.0.0.2");
  Node* next = nullptr;

  Line() {
    reflect({&r}, {&c1, &c2});
    for (Node* x : {&r, &c1, &c2}) x->start();
    sim.settle();
    c1.announce("one");
    r.announce("own");
    flush();
  }
  void flush() {
    for (Node* x : {&r, &c1, &c2}) x->speaker.flush(sim.now);
    if (next) next->speaker.flush(sim.now);
    sim.settle();
  }
  SavedSpeaker save() {
    const SavedSpeaker saved = r.speaker.save();
    const auto back = decode_saved(encode_saved(saved));
    EXPECT_TRUE(back) << (back ? "" : back.error());
    EXPECT_TRUE(*back == saved);
    return *back;
  }
  // r goes on as another speaker, without its connections to `lost`.
  void hand_over(const SavedSpeaker& saved, const Node* lost = nullptr) {
    next = &sim.add("10.0.0.10");
    next->config = r.config;
    const auto conn_of = [&](std::size_t i, const NeighborSettings&) -> ConnId {
      const IpAddress& whom = saved.neighbors[i].peer.address;
      if (lost && whom == lost->address_) return 0;
      const Sim::End old{&r, r.speaker.find(whom)->connection()};
      const Sim::End far = sim.peers.at(old);
      const ConnId conn = next->speaker.new_connection();
      sim.peers.erase(old);
      sim.peers[{next, conn}] = far;
      sim.peers[far] = {next, conn};
      return conn;
    };
    sim.dead = &r;
    if (lost) sim.unlink({&r, r.to(*lost).connection()});
    next->speaker.restore(next->config, saved, conn_of, sim.now);
    next->speaker.configure(next->config, sim.now);
  }
};

TEST(BgpSaved, NobodyNoticesAndRoutesGoOn) {
  Line l;
  const auto sent = l.c2.told.size();
  const auto since = l.r.to(l.c1).since();
  l.sim.pass(seconds(20));
  l.hand_over(l.save());
  l.sim.settle();
  EXPECT_EQ(l.next->chunks, 0U) << "nothing is told again";
  EXPECT_EQ(l.c2.told.size(), sent);
  EXPECT_EQ(l.next->to(l.c1).since(), since);
  EXPECT_EQ(l.next->to(l.c1).handed_over(), 1U);
  EXPECT_EQ(l.next->to(l.c1).counters().in, l.r.to(l.c1).counters().in);
  // The sink of the new one was told of all there is.
  EXPECT_EQ(l.next->told.size(), 2U);
  l.c1.announce("two");
  l.flush();
  EXPECT_TRUE(l.c2.used("two"));
  l.next->withdraw("own");
  l.flush();
  EXPECT_FALSE(l.c1.used("own"));
  l.sim.pass(seconds(300));
  EXPECT_TRUE(l.c1.to(l.r).established() && l.c2.to(l.r).established());
  EXPECT_EQ(l.c1.to(l.r).counters().established, 1U);
}

TEST(BgpSaved, HandedOverAgainAndAgain) {
  Line l;
  const SavedSpeaker once = l.save();
  l.hand_over(once);
  const SavedSpeaker twice = l.next->speaker.save();
  ASSERT_EQ(twice.neighbors.size(), once.neighbors.size());
  EXPECT_EQ(twice.neighbors[0].handed_over, once.neighbors[0].handed_over + 1);
  EXPECT_EQ(twice.routes.size(), once.routes.size());
}

TEST(BgpSaved, APartOfAMessageIsKept) {
  Line l;
  l.sim.piece = 1;
  const ConnId conn = l.r.to(l.c1).connection();
  const Bytes keepalive = encode_keepalive();
  l.r.speaker.received(conn, ByteView(keepalive).first(5), l.sim.now);
  const SavedSpeaker saved = l.save();
  l.hand_over(saved);
  const ConnId now = l.next->to(l.c1).connection();
  const auto before = l.next->to(l.c1).counters().in;
  l.next->speaker.received(now, ByteView(keepalive).subspan(5), l.sim.now);
  EXPECT_TRUE(l.next->to(l.c1).established());
  EXPECT_NE(l.next->to(l.c1).counters().in, before);
}

TEST(BgpSaved, ALostConnectionKeepsRoutesAsStale) {
  Line l;
  const auto told = l.c2.told.size();
  l.hand_over(l.save(), &l.c1);
  l.sim.settle();
  EXPECT_FALSE(l.next->to(l.c1).established());
  ASSERT_TRUE(l.next->used("one"));
  EXPECT_TRUE(l.next->used("one")->stale);
  EXPECT_EQ(l.c2.told.size(), told) << "nobody is told";
  EXPECT_TRUE(l.next->to(l.c2).established());
  // Nobody comes back: the routes go.
  l.sim.pass(seconds(400));
  EXPECT_TRUE(l.c2.to(l.r).established());
}

TEST(BgpSaved, OthersOfTheNewConfigurationBeginAnew) {
  Line l;
  const SavedSpeaker saved = l.save();
  l.hand_over(saved);
  SpeakerConfig other = l.next->config;
  std::erase_if(other.neighbors, [&](const NeighborSettings& n) { return n.address == l.c1.address_; });
  l.next->speaker.configure(other, l.sim.now);
  l.sim.settle();
  EXPECT_FALSE(l.c1.to(l.r).established());
  EXPECT_TRUE(l.c2.to(l.r).established());
  EXPECT_FALSE(l.c2.used("one"));
}

TEST(BgpSaved, AnUnfinishedTableIsSentWhole) {
  Line l;
  l.r.stuck = SIZE_MAX / 2;  // nothing of a table goes out
  Node& late = l.sim.add("10.0.0.3");
  reflect({&l.r}, {&late});
  l.r.start();
  late.start();
  l.sim.settle();
  ASSERT_TRUE(late.to(l.r).established());
  EXPECT_FALSE(late.used("one"));
  l.hand_over(l.save());
  l.sim.settle();
  EXPECT_TRUE(late.used("one") && late.used("own"));
}

TEST(BgpSaved, WhatCannotBeIsRefused) {
  Line l;
  SavedSpeaker saved = l.save();
  const Bytes whole = encode_saved(saved);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode_saved(ByteView(whole).first(size))) << size;
  saved.routes[0].attributes = 99;
  EXPECT_FALSE(decode_saved(encode_saved(saved)));
}

}  // namespace
}  // namespace lossless::bgp
