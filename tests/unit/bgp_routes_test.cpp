// SPDX-License-Identifier: Apache-2.0
// Routes: which path is used, what is reflected to whom, and that each change is told once.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/unit/bgp_sim.h"

namespace lossless::bgp {
namespace {

using std::chrono::seconds;
using test::ip;
using test::Node;
using test::reflect;
using test::Sim;

// One test for each numbered step: of two paths, the first is better by it and worse by all that follow.
struct StepCase {
  Step step;
  PathAttributes better;
  PathAttributes worse;
  Candidate better_from;
  Candidate worse_from;
};

AsPath path(std::vector<std::uint32_t> as) { return {{AsSegment::Sequence, std::move(as)}}; }

std::vector<StepCase> step_cases() {
  const Candidate low{.router = 1, .address = ip("10.0.0.1")};
  const Candidate high{.router = 9, .address = ip("10.0.0.9")};
  const PathAttributes base{.origin = Origin::Igp, .as_path = AsPath{}, .local_pref = 100};
  std::vector<StepCase> out;
  const auto add = [&](Step step, const auto& change) {
    StepCase c{step, base, base, high, low};
    change(c);
    out.push_back(std::move(c));
  };
  add(Step::LocalPref, [](StepCase& c) {
    c.better.local_pref = 200;
    c.better.as_path = path({1});
  });
  add(Step::Local, [](StepCase& c) {
    c.better_from.local = true;
    c.better.as_path = path({1});
  });
  add(Step::PathLength, [](StepCase& c) {
    c.worse.as_path = path({1});
    c.better.origin = Origin::Egp;
  });
  add(Step::Origin, [](StepCase& c) {
    c.worse.origin = Origin::Incomplete;
    c.better.med = 5;
  });
  add(Step::Med, [](StepCase& c) {
    c.worse.med = 5;
    c.worse_from.external = true;
  });
  add(Step::External, [](StepCase& c) { c.better_from.external = true; });
  add(Step::Router, [](StepCase& c) {
    c.better.originator = 0;
    c.better.clusters = {1, 2};
  });
  add(Step::ClusterList, [](StepCase& c) {
    c.worse_from.router = 9;
    c.worse.clusters = {1};
  });
  add(Step::Address, [](StepCase& c) {
    std::swap(c.better_from, c.worse_from);
    c.worse_from.router = 1;
  });
  return out;
}

TEST(BgpBestPath, EachStepInItsTurn) {
  unsigned number = 1;
  for (StepCase& c : step_cases()) {
    EXPECT_EQ(static_cast<unsigned>(c.step), number++);
    c.better_from.attributes = &c.better;
    c.worse_from.attributes = &c.worse;
    const Candidate one[] = {c.better_from, c.worse_from};
    const Candidate two[] = {c.worse_from, c.better_from};
    EXPECT_EQ(choose(one).index, 0U) << to_string(c.step);
    EXPECT_EQ(choose(two).index, 1U) << to_string(c.step);
    EXPECT_EQ(choose(one).step, c.step) << to_string(choose(one).step);
  }
}

TEST(BgpBestPath, MedCountsInsideOneAsOnly) {
  const PathAttributes a{.origin = Origin::Igp, .as_path = path({1}), .med = 50};
  const PathAttributes b{.origin = Origin::Igp, .as_path = path({2}), .med = 5};
  const Candidate both[] = {{.attributes = &a, .router = 1}, {.attributes = &b, .router = 2}};
  EXPECT_EQ(choose(both).index, 0U);
  EXPECT_EQ(choose(both).step, Step::Router);
}

// Reflector r, clients c1 to c3, and a neighbour n that is none.
struct Cluster {
  Sim sim;
  Node& r = sim.add("10.0.0.10");
  Node& c1 = sim.add("10.0.0.1");
  Node& c2 = sim.add("10.0.0.2");
  Node& c3 = sim.add("10.0.0.3");
  Node& n = sim.add("10.0.0.4");
  Cluster() {
    reflect({&r}, {&c1, &c2, &c3});
    r.neighbor(n);
    n.neighbor(r);
    for (Node* x : {&r, &c1, &c2, &c3, &n}) x->start();
    sim.settle();
  }
  void flush() {
    for (Node* x : {&r, &c1, &c2, &c3, &n}) x->speaker.flush(sim.now);
    sim.settle();
  }
};

TEST(BgpReflection, ToClientsAndOthers) {
  Cluster k;
  k.c1.announce("of c1");
  k.n.announce("of n");
  k.r.announce("of r");
  k.flush();
  for (Node* x : {&k.c2, &k.c3, &k.n}) {
    ASSERT_TRUE(x->used("of c1"));
    EXPECT_EQ(x->used("of c1")->attributes->originator, id_of(ip("10.0.0.1")));
    EXPECT_EQ(x->used("of c1")->attributes->clusters, std::vector<RouterId>{id_of(ip("10.0.0.10"))});
  }
  EXPECT_TRUE(k.c1.used("of n"));
  EXPECT_FALSE(k.c1.used("of r")->attributes->originator) << "its own routes are not reflected";
  EXPECT_TRUE(k.n.used("of r"));
}

TEST(BgpReflection, NotBetweenThoseThatAreNoClients) {
  Sim sim;
  Node& r = sim.add("10.0.0.10");
  Node& a = sim.add("10.0.0.1");
  Node& b = sim.add("10.0.0.2");
  r.neighbor(a);
  r.neighbor(b);
  a.neighbor(r);
  b.neighbor(r);
  a.announce("of a");
  for (Node* x : {&r, &a, &b}) x->start();
  sim.settle();
  EXPECT_TRUE(r.used("of a"));
  EXPECT_FALSE(b.used("of a"));
}

TEST(BgpReflection, NobodyHearsOfItself) {
  Cluster k;
  const auto before = k.c1.to(k.r).counters().in[2];
  k.c1.announce("mine");
  k.flush();
  EXPECT_EQ(k.c1.to(k.r).counters().in[2], before);
}

TEST(BgpReflection, OneEncodingForAllClients) {
  Cluster k;
  k.r.kept.clear();
  k.c1.announce("one");
  k.flush();
  ASSERT_EQ(k.r.kept.size(), 3U) << "c2, c3, n";
  EXPECT_TRUE(k.r.kept[0] == k.r.kept[1] || k.r.kept[1] == k.r.kept[2]) << "the same bytes for both clients";
  EXPECT_EQ(k.r.speaker.groups(), 2U);
}

TEST(BgpReflection, ChangesAndTheEnd) {
  Cluster k;
  k.c1.announce("x");
  k.flush();
  k.c1.announce("x", 150);
  k.flush();
  EXPECT_EQ(k.c2.used("x")->attributes->local_pref, 150U);
  k.c1.withdraw("x");
  k.flush();
  for (Node* x : {&k.r, &k.c1, &k.c2, &k.c3, &k.n}) EXPECT_FALSE(x->used("x"));
  EXPECT_EQ(k.c2.told.size(), 3U);
}

TEST(BgpReflection, AnotherSourceTakesOver) {
  Cluster k;
  k.c1.announce("shared", 100);
  k.c2.announce("shared", 200);
  k.flush();
  // c2's is the better: c2 hears nothing of it, c1 and c3 get c2's.
  EXPECT_EQ(k.c3.used("shared")->attributes->originator, id_of(ip("10.0.0.2")));
  EXPECT_EQ(k.c1.used("shared")->attributes->local_pref, 200U);
  EXPECT_EQ(k.c2.speaker.rib(Family::Inof).paths_of(k.c2.to(k.r).id()), 0U);
  k.c2.withdraw("shared");
  k.flush();
  EXPECT_EQ(k.c2.used("shared")->attributes->local_pref, 100U);
  EXPECT_EQ(k.c3.used("shared")->attributes->originator, id_of(ip("10.0.0.1")));
  k.c2.announce("shared", 300);
  k.flush();
  EXPECT_EQ(k.c2.speaker.rib(Family::Inof).paths_of(k.c2.to(k.r).id()), 0U) << "told of before, so withdrawn";
}

TEST(BgpReflection, ClustersDoNotLoop) {
  Sim sim;
  Node& b = sim.add("10.0.0.11");
  Node& c = sim.add("10.0.0.12");
  Node& a = sim.add("10.0.0.1");
  Node& d = sim.add("10.0.0.2");
  // Two reflectors, clients of each other too, and clients of both.
  reflect({&b, &c}, {&a, &d});
  b.neighbor(c).client = true;
  c.neighbor(b).client = true;
  a.announce("x");
  for (Node* x : {&a, &b, &c, &d}) x->start();
  sim.settle();
  ASSERT_TRUE(d.used("x"));
  EXPECT_EQ(d.used("x")->attributes->clusters.size(), 1U);
  a.withdraw("x");
  a.speaker.flush(sim.now);
  sim.settle();
  for (Node* x : {&a, &b, &c, &d}) EXPECT_FALSE(x->used("x"));
}

// Three reflectors in a ring, each the others' client: what goes round comes to an end.
TEST(BgpReflection, ARingOfReflectors) {
  Sim sim;
  Node* ring[] = {&sim.add("10.0.0.11"), &sim.add("10.0.0.12"), &sim.add("10.0.0.13")};
  Node& a = sim.add("10.0.0.1");
  for (Node* x : ring)
    for (Node* y : ring)
      if (x != y) x->neighbor(*y).client = true;
  ring[0]->neighbor(a).client = true;
  a.neighbor(*ring[0]);
  a.announce("x");
  for (Node* x : {ring[0], ring[1], ring[2], &a}) x->start();
  sim.settle();
  EXPECT_TRUE(ring[1]->used("x") && ring[2]->used("x"));
  a.withdraw("x");
  a.speaker.flush(sim.now);
  sim.settle();
  for (Node* x : ring) EXPECT_EQ(x->speaker.rib(Family::Inof).size(), 0U);
}

TEST(BgpReflection, WhatWasHereIsNotTakenAgain) {
  const Self self{.asn = 65001, .router_id = 1, .cluster_id = 7};
  EXPECT_EQ(loop_of(self, false, {.originator = 2, .clusters = {8}}), "");
  EXPECT_NE(loop_of(self, false, {.originator = 1}), "");
  EXPECT_NE(loop_of(self, false, {.clusters = {8, 7}}), "");
  EXPECT_NE(loop_of(self, true, {.as_path = path({65002, 65001})}), "");
  EXPECT_EQ(loop_of(self, false, {.as_path = path({65001})}), "") << "ours to see for iBGP";
}

TEST(BgpReflection, ASessionThatFallsTakesItsRoutes) {
  Cluster k;
  k.c1.announce("x");
  k.flush();
  k.c1.speaker.set_shutdown(ip("10.0.0.10"), true, "", k.sim.now);
  k.sim.settle();
  EXPECT_FALSE(k.c2.used("x"));
  EXPECT_FALSE(k.n.used("x"));
}

TEST(BgpReflection, WhoComesLaterGetsAll) {
  Cluster k;
  for (int i = 0; i < 5000; ++i) k.c1.announce("route " + std::to_string(i));
  k.flush();
  Node& late = k.sim.add("10.0.0.5");
  reflect({&k.r}, {&late});
  k.r.start();
  late.start();
  k.sim.settle();
  EXPECT_EQ(late.speaker.rib(Family::Inof).size(), 5000U);
  EXPECT_EQ(k.r.speaker.advertised(k.r.to(late), Family::Inof), 5000U);
}

TEST(BgpExternal, AsPathAndNextHop) {
  Sim sim;
  Node& a = sim.add("10.0.0.1", 65001);
  Node& b = sim.add("10.0.0.2", 65002);
  Node& c = sim.add("10.0.0.3", 65003);
  a.neighbor(b);
  b.neighbor(a);
  b.neighbor(c);
  c.neighbor(b);
  a.announce("x");
  for (Node* x : {&a, &b, &c}) x->start();
  sim.settle();
  ASSERT_TRUE(c.used("x"));
  EXPECT_EQ(as_path_text(*c.used("x")->attributes->as_path), "65002 65001");
  EXPECT_EQ(to_string(*c.used("x")->attributes->next_hop), "10.0.0.2");
  EXPECT_FALSE(c.used("x")->attributes->local_pref);
}

TEST(BgpCommunities, NoAdvertise) {
  Cluster k;
  PathAttributes quiet{.origin = Origin::Igp, .as_path = AsPath{}, .communities = {kNoAdvertise}};
  const std::string nlri = "quiet";
  k.r.speaker.originate(Family::Inof,
                        ByteView(reinterpret_cast<const std::uint8_t*>(nlri.data()), nlri.size()), quiet);
  k.flush();
  EXPECT_FALSE(k.c1.used("quiet"));
}

TEST(BgpAttributes, EqualOnesAreKeptOnce) {
  Cluster k;
  for (int i = 0; i < 100; ++i) k.c1.announce("route " + std::to_string(i));
  k.flush();
  EXPECT_LE(k.r.speaker.attribute_sets(), 2U);
}

// Whatever happens in whatever order, all agree in the end on what those who announce have.
RC_GTEST_PROP(BgpReflection, AllAgreeInTheEnd, (const std::vector<std::uint8_t>& steps)) {
  Cluster k;
  Node* sources[] = {&k.c1, &k.c2, &k.n};
  for (const std::uint8_t step : steps) {
    Node& source = *sources[step % 3];
    const std::string nlri = "r" + std::to_string(step / 3 % 4);
    if (step & 0x80U) {
      source.withdraw(nlri);
    } else {
      source.announce(nlri, 100 + step % 7);
    }
    if (step % 5 != 0) k.flush();
    if (step == 255) k.sim.cut(k.r, k.c1);
  }
  k.flush();
  k.sim.pass(seconds(10));
  for (int i = 0; i < 4; ++i) {
    const std::string nlri = "r" + std::to_string(i);
    std::optional<std::uint32_t> best;
    for (Node* s : sources)
      for (const Net* net :
           {s->speaker.rib(Family::Inof)
                .find(ByteView(reinterpret_cast<const std::uint8_t*>(nlri.data()), nlri.size()))})
        for (const Path& p : net ? net->paths : std::vector<Path>{})
          if (p.peer == kLocal) best = std::max(best.value_or(0), *p.attributes->local_pref);
    for (Node* x : {&k.r, &k.c1, &k.c2, &k.c3, &k.n}) {
      RC_ASSERT((x->used(nlri) != nullptr) == best.has_value());
      if (best) RC_ASSERT(*x->used(nlri)->attributes->local_pref == *best);
    }
  }
}

}  // namespace
}  // namespace lossless::bgp
