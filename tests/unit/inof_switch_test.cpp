// SPDX-License-Identifier: Apache-2.0
// The iNOF switch as its hosts see it: who is told what, when and why.
#include <gtest/gtest.h>

#include "tests/unit/inof_sim.h"

namespace lossless::inof::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using List = std::vector<Seen>;

const std::string kA = "10.0.0.1";
const std::string kB = "10.0.0.2";
const std::string kC = "fd00::3";

AddressRange single(const std::string& address) { return AddressRange::of(ip(address)); }

class InofSwitch : public testing::Test {
 protected:
  void join_three() {
    sim.announce(host(0, kA));
    sim.announce(host(1, kB, Dialect::ChinaMobile));
    sim.announce(host(2, kC));
    for (const std::string& h : {kA, kB, kC}) sim.told(h);
  }
  Sim sim;
};

TEST_F(InofSwitch, AJoinIsToldToMatesAndTheNewHostLearnsThem) {
  sim.announce(host(0, kA));
  EXPECT_EQ(sim.told(kA), List{});
  sim.announce(host(1, kB, Dialect::ChinaMobile));
  EXPECT_EQ(sim.told(kA), List{online(kB)});
  EXPECT_EQ(sim.told(kB), List{online(kA)});
  sim.announce(host(2, kC));
  EXPECT_EQ(sim.told(kC), (List{online(kA), online(kB)}));
  EXPECT_TRUE(sim.sw.notifier().idle());
  EXPECT_EQ(sim.sw.notifier().total().acked, 6U);
}

TEST_F(InofSwitch, ARefreshTellsNobody) {
  join_three();
  sim.announce(host(0, kA));
  EXPECT_EQ(sim.told(kB), List{});
  EXPECT_EQ(sim.told(kA), List{});
}

TEST_F(InofSwitch, AHostThatDoesNotSubscribeIsToldNothing) {
  Announcement quiet = host(0, kA);
  quiet.tlv.subscribes = false;
  sim.announce(quiet);
  sim.announce(host(1, kB));
  EXPECT_EQ(sim.told(kA), List{});
  EXPECT_EQ(sim.told(kB), List{online(kA)});
  quiet.tlv.subscribes = true;
  sim.announce(quiet);
  EXPECT_EQ(sim.told(kA), List{online(kB)});
}

TEST_F(InofSwitch, LeaveCauses) {
  join_three();
  sim.sw.goodbye(0, host(0, kA).chassis, host(0, kA).port_id, Reason::Normal, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kB), List{offline(kA, Reason::Normal)});
  sim.announce(host(0, kA));
  EXPECT_EQ(sim.told(kB), List{online(kA)});
  sim.sw.set_port(0, "p0", false, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kB), List{offline(kA, Reason::LinkDown)});
  sim.announce(host(0, kA));
  EXPECT_EQ(sim.told(kB), List{}) << "a frame that was under way when the link went down";
  sim.sw.set_port(0, "p0", true, sim.now);
  sim.announce(host(0, kA));
  EXPECT_EQ(sim.told(kB), List{online(kA)});
  sim.pass(seconds(100));
  sim.announce(host(1, kB, Dialect::ChinaMobile));
  sim.announce(host(2, kC));
  sim.pass(seconds(21));
  EXPECT_EQ(sim.told(kB), List{offline(kA, Reason::LldpTimeout)});
  EXPECT_EQ(sim.told(kC).back(), offline(kA, Reason::LldpTimeout));
}

TEST_F(InofSwitch, AddressChange) {
  join_three();
  Announcement changed = host(0, kA);
  changed.tlv.address = ip("10.0.0.9");
  sim.announce(changed);
  EXPECT_EQ(sim.told(kB), (List{offline(kA, Reason::AddressChanged), online("10.0.0.9")}));
  EXPECT_EQ(sim.state(kA), HostState::Offline);
  EXPECT_FALSE(sim.sw.row(ip(kA)));
}

TEST_F(InofSwitch, PfcDeadlockTakesThePortsHostsOutUntilItIsOver) {
  join_three();
  sim.sw.pfc_deadlock(0, 3, true, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kB), List{offline(kA, Reason::PfcDeadlock)});
  sim.announce(host(0, kA));
  EXPECT_EQ(sim.state(kA), HostState::Deadlock);
  EXPECT_EQ(sim.told(kB), List{});
  sim.sw.pfc_deadlock(0, 3, false, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kB), List{online(kA)});
}

TEST_F(InofSwitch, RemoteHostsComeAndGoWithTheirSwitch) {
  join_three();
  RemoteHost remote{
      .origin = 7, .chassis = {4, {1, 2, 3, 4, 5, 6}}, .port_id = {5, {'x'}}, .tlv = host(0, "10.9.0.1").tlv};
  sim.sw.remote_joined(remote, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kA), List{online("10.9.0.1")});
  sim.pass(minutes(1));
  for (const auto& h : {host(0, kA), host(1, kB, Dialect::ChinaMobile), host(2, kC)}) sim.announce(h);
  sim.pass(seconds(90));
  EXPECT_EQ(sim.state("10.9.0.1"), HostState::Online) << "its own switch ages it";
  sim.sw.remote_switch_lost(7, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kA), List{offline("10.9.0.1", Reason::Bfd)});
}

TEST_F(InofSwitch, ZonesPartAndJoinTheirMembers) {
  join_three();
  ASSERT_TRUE(sim.sw.add_zone("z1", sim.now));
  ASSERT_TRUE(sim.sw.add_member("z1", single(kA), sim.now));
  sim.settle();
  EXPECT_EQ(sim.told(kB), List{offline(kA, Reason::RemovedFromZone)});
  EXPECT_EQ(sim.told(kA), (List{offline(kB, Reason::RemovedFromZone), offline(kC, Reason::RemovedFromZone)}));
  ASSERT_TRUE(sim.sw.add_member("z1", *parse_range("10.0.0.0/30"), sim.now));
  sim.settle();
  EXPECT_EQ(sim.told(kB), (List{online(kA), offline(kC, Reason::RemovedFromZone)}));
  EXPECT_EQ(sim.told(kA), List{online(kB)});
  ASSERT_TRUE(sim.sw.remove_zone("z1", sim.now));
  sim.settle();
  EXPECT_EQ(sim.told(kC).back(), online(kB)) << "all are back in the default zone";
  EXPECT_EQ(sim.told(kA), List{online(kC)}) << "and those who never lost sight of one another are not told";
}

TEST_F(InofSwitch, AHostInSeveralZonesIsToldOfOnce) {
  for (const char* zone : {"z1", "z2"}) {
    ASSERT_TRUE(sim.sw.add_zone(zone, sim.now));
    for (const std::string& h : {kA, kB}) ASSERT_TRUE(sim.sw.add_member(zone, single(h), sim.now));
  }
  ASSERT_TRUE(sim.sw.add_member("z2", single(kC), sim.now));
  join_three();
  sim.sw.set_port(1, "p1", false, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kA), List{offline(kB, Reason::LinkDown)});
  ASSERT_TRUE(sim.sw.remove_member("z1", single(kA), sim.now));
  sim.settle();
  EXPECT_EQ(sim.told(kC).size(), 1U);
}

TEST_F(InofSwitch, DefaultZoneOff) {
  join_three();
  sim.sw.set_default_zone(false, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kA).size(), 2U);
  EXPECT_TRUE(sim.sw.row(ip(kA))->zones.empty());
  sim.announce(host(3, "10.0.0.4"));
  EXPECT_EQ(sim.told(kA), List{});
  sim.sw.set_default_zone(true, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kA).size(), 3U);
}

TEST_F(InofSwitch, TheFirstOwnerKeepsItsAddress) {
  join_three();
  Announcement copy = host(3, kA);
  sim.announce(copy);
  const auto& both = sim.sw.hosts().with_address(ip(kA));
  ASSERT_EQ(both.size(), 2U);
  const Host& second = sim.sw.hosts().at(both[1]);
  EXPECT_EQ(second.state, HostState::Conflict);
  EXPECT_NE(second.why.find("p0"), std::string::npos) << second.why;
  EXPECT_EQ(sim.told(kB), List{}) << "nobody hears of the second";
  sim.sw.set_port(3, "p3", false, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kB), List{}) << "nor that it left";
  sim.sw.set_port(3, "p3", true, sim.now);
  sim.announce(copy);
  sim.sw.set_port(0, "p0", false, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kB), List{online(kA)}) << "the later state of the two, in one message";
  EXPECT_TRUE(sim.sw.hosts().at(both[1]).online());
}

TEST_F(InofSwitch, WhiteList) {
  InofConfig config;
  config.whitelist = {.on = true,
                      .exceptions = {"p3"},
                      .allow = {{"p0", {single(kA)}}, {"p1", {*parse_range("10.0.0.0/24")}}}};
  sim.sw.configure(config, sim.now);
  sim.announce(host(0, kA));
  sim.announce(host(0, "10.0.0.5"));
  sim.announce(host(1, kB));
  sim.announce(host(2, "10.0.0.6"));
  sim.announce(host(3, "10.0.0.7"));
  EXPECT_EQ(sim.state(kA), HostState::Online);
  EXPECT_EQ(sim.state("10.0.0.5"), HostState::Denied);
  EXPECT_EQ(sim.state(kB), HostState::Online);
  EXPECT_EQ(sim.state("10.0.0.6"), HostState::Denied);
  EXPECT_EQ(sim.state("10.0.0.7"), HostState::Online);
  EXPECT_EQ(sim.told(kA), (List{online(kB), online("10.0.0.7")}));
  EXPECT_EQ(sim.told("10.0.0.5"), List{});
  config.whitelist.on = false;
  sim.sw.configure(config, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kA), (List{online("10.0.0.5"), online("10.0.0.6")}));
}

TEST_F(InofSwitch, ADeniedHostHoldsNoAddress) {
  InofConfig config;
  sim.announce(host(0, kA));
  sim.announce(host(1, kA));
  config.whitelist = {.on = true, .exceptions = {}, .allow = {{"p1", {single(kA)}}}};
  sim.sw.configure(config, sim.now);
  sim.settle();
  const auto& both = sim.sw.hosts().with_address(ip(kA));
  EXPECT_EQ(sim.sw.hosts().at(both[0]).state, HostState::Denied);
  EXPECT_EQ(sim.sw.hosts().at(both[1]).state, HostState::Online);
}

TEST_F(InofSwitch, FlappingIsDamped) {
  join_three();
  const auto flap = [&] {
    sim.sw.set_port(0, "p0", false, sim.now);
    sim.settle();
    sim.pass(milliseconds(50));
    sim.sw.set_port(0, "p0", true, sim.now);
    sim.announce(host(0, kA));
    sim.pass(milliseconds(50));
  };
  for (int i = 0; i < 200; ++i) flap();
  EXPECT_LE(sim.told(kB).size(), 10U) << "five changes each way, not four hundred";
  EXPECT_EQ(sim.state(kA), HostState::Damped);
  sim.pass(seconds(30));
  EXPECT_EQ(sim.told(kB), List{online(kA)});
}

TEST_F(InofSwitch, AChassisFloodIsBoundedToItsPort) {
  InofConfig config;
  config.max_hosts_per_port = 16;
  sim.sw.configure(config, sim.now);
  join_three();
  for (unsigned i = 0; i < 1000; ++i)
    sim.announce(host(0, "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250)));
  EXPECT_EQ(sim.sw.hosts().on_port(0).size(), 16U);
  EXPECT_EQ(sim.sw.counters().refused_full, 985U);
  EXPECT_TRUE(sim.sw.port_full(0));
  EXPECT_FALSE(sim.sw.port_full(1));
  sim.announce(host(1, "10.2.0.1"));
  EXPECT_EQ(sim.state("10.2.0.1"), HostState::Online) << "other ports are not affected";
  EXPECT_EQ(sim.state(kA), HostState::Online);
  sim.pass(seconds(121));
  sim.announce(host(0, "10.2.0.2"));
  EXPECT_EQ(sim.state("10.2.0.2"), HostState::Online) << "those that left make room";
}

TEST_F(InofSwitch, QueryZoneIsAnswered) {
  join_three();
  StatusFrame query{.dialect = Dialect::Odcc, .source = {}, .messages = {QueryZone{ip(kA)}}};
  sim.sw.frame(0, query, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kA), (List{online(kB), online(kC)}));
  sim.sw.frame(1, query, sim.now);
  sim.settle();
  EXPECT_EQ(sim.told(kA), List{}) << "asked on another port than the host's";
  EXPECT_EQ(sim.sw.counters().queries_unknown, 1U);
}

TEST_F(InofSwitch, DialectsThatAreOffAreNotHeard) {
  InofConfig config;
  config.dialects = InofDialects::Odcc;
  sim.sw.configure(config, sim.now);
  sim.announce(host(0, kA));
  sim.announce(host(1, kB, Dialect::ChinaMobile));
  EXPECT_EQ(sim.told(kA), List{});
  EXPECT_EQ(sim.sw.counters().refused_dialect, 1U);
}

TEST_F(InofSwitch, ConfigureTellsOnlyWhatChanged) {
  join_three();
  InofConfig config = sim.sw.running();
  config.zones = {{"z1", {single(kA), single(kB)}}};
  sim.sw.configure(config, sim.now);
  sim.settle();
  for (const std::string& h : {kA, kB, kC}) sim.told(h);
  sim.sw.configure(config, sim.now);
  sim.settle();
  for (const std::string& h : {kA, kB, kC}) EXPECT_EQ(sim.told(h), List{});
  EXPECT_EQ(sim.sw.running(), config);
}

TEST_F(InofSwitch, RowsForTheDatapath) {
  sim.announce(host(0, kA, Dialect::Odcc, Role::Server));
  sim.announce(host(1, kB, Dialect::Odcc, Role::Client));
  EXPECT_EQ(sim.sw.row(ip(kA))->zones, std::vector<ZoneId>{kDefaultZone});
  EXPECT_TRUE(sim.sw.row(ip(kA))->initiator);
  EXPECT_FALSE(sim.sw.row(ip(kB))->initiator);
  EXPECT_FALSE(sim.sw.row(ip(kC)));
  ASSERT_TRUE(sim.sw.add_zone("z1", sim.now));
  ASSERT_TRUE(sim.sw.add_member("z1", single(kC), sim.now));
  EXPECT_EQ(sim.sw.row(ip(kC))->zones, std::vector<ZoneId>{1}) << "named by a zone, though never heard";
  sim.sw.set_port(0, "p0", false, sim.now);
  EXPECT_TRUE(sim.sw.row(ip(kA))) << "a host that left may come back";
}

// Every change comes with the address whose row it concerns: the datapath never goes stale.
TEST_F(InofSwitch, StaleRowsAreNamed) {
  join_three();
  std::map<IpAddress, std::vector<ZoneId>> before;
  const auto rows = [&] {
    std::map<IpAddress, std::vector<ZoneId>> out;
    for (const IpAddress& a : sim.sw.row_addresses()) out[a] = sim.sw.row(a)->zones;
    return out;
  };
  const auto check = [&](const char* what) {
    sim.settle();
    const auto now = rows();
    for (const auto& [address, zones] : now) {
      const auto old = before.find(address);
      if (old == before.end() || old->second != zones) {
        EXPECT_TRUE(sim.rows.contains(address)) << what << " " << to_string(address);
      }
    }
    for (const auto& [address, zones] : before) {
      if (!now.contains(address)) {
        EXPECT_TRUE(sim.rows.contains(address)) << what << " " << to_string(address);
      }
    }
    before = now;
    sim.rows.clear();
  };
  before = rows();
  ASSERT_TRUE(sim.sw.add_zone("z1", sim.now));
  ASSERT_TRUE(sim.sw.add_member("z1", *parse_range("10.0.0.0/24"), sim.now));
  check("range added");
  ASSERT_TRUE(sim.sw.add_member("z1", single("10.7.7.7"), sim.now));
  check("address added");
  sim.sw.set_default_zone(false, sim.now);
  check("default zone off");
  ASSERT_TRUE(sim.sw.remove_zone("z1", sim.now));
  check("zone removed");
  sim.sw.remove_port(0, sim.now);
  check("port removed");
  Announcement changed = host(1, kB, Dialect::ChinaMobile);
  changed.tlv.address = ip("10.0.0.9");
  sim.announce(changed);
  check("address changed");
}

}  // namespace
}  // namespace lossless::inof::test
