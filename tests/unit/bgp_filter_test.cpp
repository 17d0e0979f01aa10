// SPDX-License-Identifier: Apache-2.0
// Filters: what rules match, what goes in and out of a session, and that a change takes hold without a flap.
#include "daemon/bgp/filter.h"

#include <gtest/gtest.h>

#include "daemon/bgp/inof_nlri.h"
#include "tests/unit/bgp_sim.h"

namespace lossless::bgp {
namespace {

using std::chrono::seconds;
using test::ip;
using test::Node;
using test::Sim;

Bytes prefix(std::uint8_t length, std::initializer_list<std::uint8_t> bytes) {
  Bytes out;
  out.reserve(1 + bytes.size());
  out.push_back(length);
  for (const std::uint8_t byte : bytes) out.push_back(byte);
  return out;
}

Bytes zone(const std::string& name) { return encode_inof(ZoneRoute{.origin = 1, .name = name}); }

Bytes member(const std::string& name, const std::string& range) {
  return encode_inof(ZoneHostRoute{.origin = 1, .zone = name, .member = *parse_range(range)});
}

Bytes host(const std::string& address) {
  HostRoute out{.origin = 1, .chassis = {}, .port_id = {}, .tlv = {}};
  out.chassis = {.subtype = 4, .value = {1, 2}};
  out.port_id = {.subtype = 7, .value = {3}};
  out.tlv.address = ip(address);
  return encode_inof(out);
}

bool hit(const BgpFilterRule& rule, Family family, const Bytes& nlri) {
  return FilterRule(rule).matches(route_facts(family, nlri));
}

TEST(BgpFilter, Prefixes) {
  const auto is = [](const BgpFilterRule& rule, const Bytes& nlri) {
    return hit(rule, Family::Ipv4Unicast, nlri);
  };
  const Bytes eight = prefix(8, {10});
  const Bytes sixteen = prefix(16, {10, 1});
  const Bytes other = prefix(16, {11, 1});
  EXPECT_TRUE(is({.prefix = "10.0.0.0/8"}, eight));
  EXPECT_FALSE(is({.prefix = "10.0.0.0/8"}, sixteen)) << "of that length alone";
  EXPECT_TRUE(is({.prefix = "10.0.0.0/8", .le = 16}, eight));
  EXPECT_TRUE(is({.prefix = "10.0.0.0/8", .le = 16}, sixteen));
  EXPECT_FALSE(is({.prefix = "10.0.0.0/8", .ge = 9}, eight));
  EXPECT_TRUE(is({.prefix = "10.0.0.0/8", .ge = 9}, sixteen));
  EXPECT_FALSE(is({.prefix = "10.0.0.0/8", .ge = 17, .le = 24}, sixteen));
  EXPECT_FALSE(is({.prefix = "10.0.0.0/8", .le = 32}, other));
  EXPECT_FALSE(is({.prefix = "0.0.0.0/0"}, eight));
  EXPECT_TRUE(is({.prefix = "0.0.0.0/0", .le = 32}, eight));
  EXPECT_TRUE(is({.kind = BgpRouteKind::Prefix}, eight));
  EXPECT_FALSE(is({.kind = BgpRouteKind::Host}, eight));
}

TEST(BgpFilter, RoutesOfInof) {
  const auto is = [](const BgpFilterRule& rule, const Bytes& nlri) { return hit(rule, Family::Inof, nlri); };
  EXPECT_TRUE(is({}, zone("gold")));
  EXPECT_TRUE(is({.kind = BgpRouteKind::Zone}, zone("gold")));
  EXPECT_FALSE(is({.kind = BgpRouteKind::ZoneHost}, zone("gold")));
  EXPECT_TRUE(is({.zone = "gold"}, zone("gold")));
  EXPECT_FALSE(is({.zone = "gold"}, zone("golden")));
  EXPECT_TRUE(is({.zone = "gold*"}, zone("golden")));
  EXPECT_TRUE(is({.zone = "gold"}, member("gold", "10.0.0.1")));
  EXPECT_FALSE(is({.zone = "*"}, host("10.0.0.1"))) << "a host's zones are not in its route";
  EXPECT_TRUE(is({.prefix = "10.0.0.0/8"}, host("10.0.0.1")));
  EXPECT_FALSE(is({.prefix = "10.0.0.0/8"}, host("fd00::1")));
  EXPECT_TRUE(is({.prefix = "fd00::/16"}, host("fd00::1")));
  EXPECT_TRUE(is({.prefix = "10.0.0.0/30"}, member("gold", "10.0.0.1-10.0.0.3")));
  EXPECT_FALSE(is({.prefix = "10.0.0.0/30"}, member("gold", "10.0.0.1-10.0.0.4"))) << "wholly within";
  EXPECT_FALSE(is({.prefix = "10.0.0.0/8"}, zone("gold")));
  EXPECT_TRUE(is({.kind = BgpRouteKind::DefaultZone}, encode_inof(DefaultZoneRoute{.origin = 1})));
  EXPECT_TRUE(is({.kind = BgpRouteKind::HardZone}, encode_inof(HardZoneRoute{.origin = 1})));
  EXPECT_TRUE(is({.kind = BgpRouteKind::Unknown}, {1, 2, 3}));
}

TEST(BgpFilter, TheFirstRuleThatMatchesDecidesAndCounts) {
  Filter filter({.name = "f",
                 .otherwise = BgpAction::Deny,
                 .rules = {{.action = BgpAction::Deny, .zone = "secret"},
                           {.action = BgpAction::Permit, .kind = BgpRouteKind::Zone}}});
  EXPECT_FALSE(filter.check(Way::Import, Family::Inof, zone("secret")));
  EXPECT_TRUE(filter.check(Way::Import, Family::Inof, zone("gold")));
  EXPECT_TRUE(filter.check(Way::Export, Family::Inof, zone("gold")));
  EXPECT_FALSE(filter.check(Way::Import, Family::Inof, member("gold", "10.0.0.1")));
  EXPECT_TRUE(filter.permits(Family::Inof, zone("gold"))) << "does not count";
  ASSERT_EQ(filter.hits().size(), 3U);
  EXPECT_EQ(filter.hits()[0].import, 1U);
  EXPECT_EQ(filter.hits()[1].import, 1U);
  EXPECT_EQ(filter.hits()[1].export_to, 1U);
  EXPECT_EQ(filter.hits()[2].import, 1U);
}

TEST(BgpFilter, RulesInWords) {
  EXPECT_EQ(rule_text({}), "any");
  EXPECT_EQ(rule_text({.kind = BgpRouteKind::ZoneHost, .zone = "gold", .prefix = "10.0.0.0/8"}),
            "kind zone-host, zone gold, in 10.0.0.0/8");
  EXPECT_EQ(rule_text({.prefix = "10.0.0.0/8", .ge = 16, .le = 24}), "in 10.0.0.0/8, ge 16, le 24");
}

// ---- on sessions

const BgpFilterConfig kGoldOnly{
    .name = "gold", .otherwise = BgpAction::Deny, .rules = {{.action = BgpAction::Permit, .zone = "gold"}}};
const BgpFilterConfig kNone{.name = "none", .otherwise = BgpAction::Deny, .rules = {}};

std::string text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }
const std::string kGold = text(zone("gold"));
const std::string kRed = text(zone("red"));

// a and b, both with routes of zones gold and red.
class OnSessions : public testing::Test {
 protected:
  void start(const std::string& import_filter, const std::string& export_filter) {
    a.neighbor(b);
    b.neighbor(a);
    a.config.filters = b.config.filters = {kGoldOnly, kNone};
    set(import_filter, export_filter);
    b.start();
    sim.settle();
    a.announce(kGold);
    a.announce(kRed);
    sim.pass(seconds(20));
  }
  // Filters of b's for what comes from a, and of a's for what goes to b.
  void set(const std::string& import_filter, const std::string& export_filter) {
    b.config.neighbors[0].import_filter = import_filter;
    a.config.neighbors[0].export_filter = export_filter;
    b.start();
    a.start();
    sim.pass(seconds(1));
  }
  std::string b_has() const { return std::string(b.used(kGold) ? "gold" : "") + (b.used(kRed) ? "red" : ""); }
  void expect_one_session() {
    EXPECT_EQ(a.to(b).counters().established, 1U);
    EXPECT_EQ(b.to(a).counters().dropped, 0U);
  }

  Sim sim;
  Node& a = sim.add("10.0.0.1");
  Node& b = sim.add("10.0.0.2");
};

TEST_F(OnSessions, NoFilterTakesAll) {
  start("", "");
  EXPECT_EQ(b_has(), "goldred");
}

TEST_F(OnSessions, ImportDenies) {
  start("gold", "");
  EXPECT_EQ(b_has(), "gold");
  EXPECT_EQ(b.to(a).counters().filtered, 1U);
  a.withdraw(kGold);
  sim.pass(seconds(1));
  EXPECT_EQ(b_has(), "");
}

TEST_F(OnSessions, ImportChangesWithoutAFlap) {
  start("", "");
  set("gold", "");
  EXPECT_EQ(b_has(), "gold") << "what is denied now has gone";
  set("none", "");
  EXPECT_EQ(b_has(), "");
  set("", "");
  EXPECT_EQ(b_has(), "goldred") << "they were asked for anew";
  expect_one_session();
}

TEST_F(OnSessions, ExportChangesWithoutAFlap) {
  start("", "gold");
  EXPECT_EQ(b_has(), "gold");
  EXPECT_EQ(a.speaker.advertised(a.to(b), Family::Inof), 1U);
  set("", "");
  EXPECT_EQ(b_has(), "goldred");
  set("", "gold");
  EXPECT_EQ(b_has(), "gold") << "what is denied now was withdrawn";
  set("", "none");
  EXPECT_EQ(b_has(), "");
  a.withdraw(kRed);
  set("", "");
  EXPECT_EQ(b_has(), "gold");
  expect_one_session();
}

// The rules change, the name stays.
TEST_F(OnSessions, ChangedRulesTakeHoldAndCountAnew) {
  start("gold", "");
  const FilterRef before = b.speaker.filters().at("gold");
  b.start();
  EXPECT_EQ(b.speaker.filters().at("gold"), before) << "as it was: its counts stay";
  b.config.filters[0].rules.front().zone = "red";
  b.start();
  sim.pass(seconds(1));
  EXPECT_EQ(b_has(), "red");
  EXPECT_EQ(b.speaker.filters().at("gold")->hits()[0].import, 1U);
  expect_one_session();
}

TEST_F(OnSessions, SoftClearAppliesAgain) {
  start("gold", "");
  const auto denied = b.to(a).counters().filtered;
  EXPECT_EQ(b.speaker.clear(ip("10.0.0.1"), Speaker::Soft::In, sim.now), std::nullopt);
  sim.pass(seconds(1));
  EXPECT_EQ(b.to(a).counters().filtered, denied + 1);
  EXPECT_EQ(b_has(), "gold");
}

// Neighbours with the same filter are one update group, others are not.
TEST_F(OnSessions, AFilterMakesAGroup) {
  Node& c = sim.add("10.0.0.3");
  a.neighbor(c);
  c.neighbor(a);
  start("", "gold");
  c.start();
  sim.pass(seconds(20));
  EXPECT_EQ(a.speaker.groups(), 2U);
  a.config.neighbors[0].export_filter = "gold";
  a.config.neighbors[1].export_filter = "gold";
  a.start();
  sim.pass(seconds(1));
  EXPECT_EQ(a.speaker.groups(), 1U);
  EXPECT_FALSE(c.used(kRed));
}

}  // namespace
}  // namespace lossless::bgp
