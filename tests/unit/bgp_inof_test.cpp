// SPDX-License-Identifier: Apache-2.0
// Zones and switches of several switches: whose configuration is in force, and what the iNOF switch does of
// it.
#include <gtest/gtest.h>

#include "daemon/bgp/inof_config.h"
#include "daemon/inof/switch.h"

namespace lossless::bgp {
namespace {

AddressRange range(const char* text) { return *parse_range(text); }

constexpr RouterId kB = 0x0a000002;
constexpr RouterId kC = 0x0a000003;

InofConfig ours(std::vector<InofZoneConfig> zones = {}) {
  InofConfig config;
  config.on = true;
  config.zones = std::move(zones);
  return config;
}

using Range = AddressRange;
using Members = std::set<AddressRange>;

TEST(BgpInofConfig, NothingOfOthers) { EXPECT_EQ(resolve({}, ours(), 100), inof::RemoteConfig()); }

TEST(BgpInofConfig, EqualsAreJoined) {
  const std::vector<RemoteFact> facts{{ZoneRoute{kB, "z"}, 100},
                                      {ZoneHostRoute{kB, "z", range("10.0.0.2")}, 100}};
  const auto got = resolve(facts, ours({{"z", {range("10.0.0.1")}}}), 100);
  EXPECT_EQ(got.zones.at("z").members, (Members{range("10.0.0.1"), range("10.0.0.2")}));
  EXPECT_FALSE(got.zones.at("z").overrides);
  EXPECT_EQ(got.disagreements.at("z"), (std::vector<std::string>{"the configuration here lacks 10.0.0.2",
                                                                 "that of 10.0.0.2 lacks 10.0.0.1"}));
}

TEST(BgpInofConfig, TheHigherOneOverrides) {
  const std::vector<RemoteFact> facts{{ZoneRoute{kB, "z"}, 200},
                                      {ZoneHostRoute{kB, "z", range("10.0.0.2")}, 200}};
  const auto got = resolve(facts, ours({{"z", {range("10.0.0.1")}}}), 100);
  EXPECT_EQ(got.zones.at("z").members, Members{range("10.0.0.2")});
  EXPECT_TRUE(got.zones.at("z").overrides);
  EXPECT_EQ(got.disagreements.at("z"),
            (std::vector<std::string>{"the configuration here has 10.0.0.1, which is not in force",
                                      "the configuration here lacks 10.0.0.2"}));
}

TEST(BgpInofConfig, OursOverridesTheLower) {
  const std::vector<RemoteFact> facts{{ZoneHostRoute{kB, "z", range("10.0.0.2")}, 100}};
  const auto got = resolve(facts, ours({{"z", {range("10.0.0.1")}}}), 200);
  EXPECT_EQ(got.zones.at("z").members, Members{range("10.0.0.1")});
  EXPECT_FALSE(got.zones.at("z").overrides);
}

TEST(BgpInofConfig, AnothersZoneIsTaken) {
  const auto got = resolve({{ZoneRoute{kB, "empty"}, 50}}, ours(), 100);
  EXPECT_TRUE(got.zones.contains("empty"));
  EXPECT_TRUE(got.disagreements.empty());
}

TEST(BgpInofConfig, Switches) {
  EXPECT_EQ(resolve({{DefaultZoneRoute{kB, false}, 200}}, ours(), 100).default_zone, false);
  EXPECT_EQ(resolve({{DefaultZoneRoute{kB, false}, 100}}, ours(), 100).default_zone, std::nullopt)
      << "ours stays";
  const std::vector<RemoteFact> two{{HardZoneRoute{kC, false}, 200}, {HardZoneRoute{kB, true}, 200}};
  EXPECT_EQ(resolve(two, ours(), 100).hard_zoning, true) << "the lowest router ID's";
  const auto got = resolve({{DefaultZoneRoute{kB, false}, 100}}, ours(), 100);
  EXPECT_EQ(got.disagreements.at("default"),
            std::vector<std::string>{"the default zone is off at 10.0.0.2, but on is in force here"});
}

// The switch with another's configuration on top of its own.
struct Fixture {
  inof::Switch model;
  Fixture() { model.configure(ours({{"mine", {range("10.0.0.1")}}, {"z", {range("10.0.0.1")}}}), {}); }
  Members members(const char* zone) const {
    const auto id = model.zones().find(zone);
    return id ? model.zones().members(*id) : Members{};
  }
};

TEST(InofRemoteConfig, OursComesBack) {
  Fixture f;
  inof::RemoteConfig remote;
  remote.zones["z"] = {.members = {range("10.0.0.9")}, .overrides = true};
  remote.zones["theirs"] = {.members = {range("10.0.0.8")}};
  remote.default_zone = false;
  f.model.set_remote_config(remote);
  EXPECT_EQ(f.members("z"), Members{range("10.0.0.9")});
  EXPECT_EQ(f.members("theirs"), Members{range("10.0.0.8")});
  EXPECT_FALSE(f.model.config().default_zone);
  EXPECT_EQ(f.model.running().zones.size(), 2U) << "what is kept is ours";
  EXPECT_TRUE(f.model.running().default_zone);
  // Changes of ours while another's is in force.
  EXPECT_TRUE(f.model.add_member("z", range("10.0.0.2"), {}));
  EXPECT_EQ(f.members("z"), Members{range("10.0.0.9")});
  EXPECT_FALSE(f.model.remove_zone("theirs", {})) << "not ours";
  f.model.set_remote_config({});
  EXPECT_EQ(f.members("z"), (Members{range("10.0.0.1"), range("10.0.0.2")}));
  EXPECT_FALSE(f.model.zones().find("theirs"));
  EXPECT_TRUE(f.model.config().default_zone);
}

TEST(InofRemoteConfig, JoinedWithOurs) {
  Fixture f;
  inof::RemoteConfig remote;
  remote.zones["z"] = {.members = {range("10.0.0.9")}};
  f.model.set_remote_config(remote);
  EXPECT_EQ(f.members("z"), (Members{range("10.0.0.1"), range("10.0.0.9")}));
  EXPECT_TRUE(f.model.remove_member("z", range("10.0.0.1"), {}));
  EXPECT_EQ(f.members("z"), Members{range("10.0.0.9")});
  EXPECT_TRUE(f.model.remove_zone("z", {}));
  EXPECT_EQ(f.members("z"), Members{range("10.0.0.9")}) << "theirs is still there";
}

TEST(InofRemoteConfig, RemoteHostsMeetLocalOnes) {
  Fixture f;
  f.model.set_port(1, "p1", true, {});
  const inof::HostTlv local{.address = *parse_ip("10.0.0.50"), .subscribes = true};
  f.model.announced({.port = 1, .chassis = {4, {1}}, .port_id = {5, {1}}, .tlv = local}, {});
  (void)f.model.take({});
  const inof::HostTlv remote{.address = *parse_ip("10.0.0.51")};
  f.model.remote_joined({.origin = kB, .chassis = {4, {2}}, .port_id = {5, {2}}, .tlv = remote}, {});
  EXPECT_EQ(f.model.take({}).frames.size(), 1U) << "the default zone has both";
  f.model.remote_left(kB, {4, {2}}, {5, {2}}, inof::Reason::Bfd, {});
  const auto actions = f.model.take({});
  EXPECT_EQ(actions.changes.size(), 1U);
  EXPECT_EQ(actions.changes.at(0).reason, inof::Reason::Bfd);
}

}  // namespace
}  // namespace lossless::bgp
