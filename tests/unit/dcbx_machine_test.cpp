// SPDX-License-Identifier: Apache-2.0
// DCBX machines: alone, against TLVs made by hand, and two of them with a wire between.
#include <gtest/gtest.h>

#include <numeric>

#include "daemon/dcbx/machine.h"

namespace lossless::dcbx {
namespace {

constexpr Mac kLow{2, 0, 0, 0, 0, 1};
constexpr Mac kHigh{2, 0, 0, 0, 0, 9};

lldp::NeighbourKey key(std::uint8_t n = 1) {
  return {.chassis = {.subtype = 4, .value = {n}}, .port = {.subtype = 5, .value = {'p'}}};
}

PortConfig port(std::uint8_t pfc_tcs = 1U << 3U) {
  PortConfig out;
  out.name = "p";
  out.maps = default_maps();
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    out.queues[tc] = default_queue(tc);
    if ((pfc_tcs >> tc & 1U) == 0) continue;
    out.queues[tc].lossless = true;
    out.queues[tc].pfc = PfcConfig{};
  }
  return out;
}
const std::vector<App> kApps{{3, 3, 4791}};
Params params(std::uint8_t pfc_tcs = 1U << 3U) { return local_params(port(pfc_tcs), kApps); }

DcbxConfig on(DcbxVersion version = DcbxVersion::Auto, bool willing = false) {
  return {
      .on = true, .version = version, .ets_willing = willing, .pfc_willing = willing, .app_willing = willing};
}

struct End {
  Machine machine;
  Mac mac;
  End(const DcbxConfig& config, const Params& local, const Mac& address) : mac(address) {
    machine.configure(config, local, mac);
  }
};

// Both hear one another until neither says anything new.
void talk(End& a, End& b) {
  std::vector<lldp::OrgTlv> last_a;
  std::vector<lldp::OrgTlv> last_b;
  for (int round = 0; round < 20; ++round) {
    const auto from_a = a.machine.tlvs();
    b.machine.heard(key(1), decode(from_a), a.mac);
    const auto from_b = b.machine.tlvs();
    a.machine.heard(key(2), decode(from_b), b.mac);
    if (from_a == last_a && from_b == last_b) return;
    last_a = from_a;
    last_b = from_b;
  }
  ADD_FAILURE() << "they never agree";
}

TEST(DcbxParams, OfAPort) {
  PortConfig p = port(1U << 3U | 1U << 5U);
  p.maps.dot1p_tc = {0, 1, 2, 3, 3, 5, 6, 7};
  const Params out = local_params(p, kApps);
  EXPECT_EQ(out.pfc, 0b111000) << "every priority of a TC with PFC";
  EXPECT_EQ(out.ets.priority_tc, p.maps.dot1p_tc);
  EXPECT_EQ(out.ets.tsa, (PerPriority<std::uint8_t>{2, 2, 2, 2, 2, 2, 0, 0}));
  EXPECT_EQ(out.ets.share, (PerPriority<std::uint8_t>{17, 17, 17, 17, 16, 16, 0, 0})) << "100 in all";
  for (const unsigned weight : {1U, 7U, 100U}) {
    p.queues[2].weight = weight;
    const auto shares = local_params(p, {}).ets.share;
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0U), 100U);
  }
  for (QueueConfig& queue : p.queues) queue.schedule = Schedule::Strict;
  EXPECT_EQ(local_params(p, {}).ets.share, (PerPriority<std::uint8_t>{}));
}

TEST(DcbxParams, OfWhatHolds) {
  const PortConfig p = port();
  Operational same{.params = params()};
  EXPECT_EQ(operational_config(p, same), p) << "nothing of the neighbour";
  Operational other = same;
  other.pfc = Source::Peer;
  other.params.pfc = 1U << 4U;
  const PortConfig moved = operational_config(p, other);
  EXPECT_FALSE(moved.queues[3].pfc);
  ASSERT_TRUE(moved.queues[4].pfc);
  EXPECT_TRUE(moved.queues[4].lossless);
  other.ets = Source::Peer;
  other.params.ets.priority_tc = {0, 0, 0, 0, 1, 1, 1, 2};
  other.params.ets.tsa = {kEtsTsa, kEtsTsa, kStrict};
  other.params.ets.share = {40, 60};
  const PortConfig shared = operational_config(p, other);
  EXPECT_EQ(shared.maps.dot1p_tc[4], 1);
  EXPECT_EQ(shared.queues[0].weight, 40U);
  EXPECT_EQ(shared.queues[1].weight, 60U);
  EXPECT_EQ(shared.queues[2].schedule, Schedule::Strict);
  EXPECT_EQ(shared.queues[2].weight, 0U);
  EXPECT_TRUE(shared.queues[1].pfc) << "the TC of priority 4 now";
  EXPECT_FALSE(shared.queues[3].pfc);
}

class DcbxBoth : public testing::TestWithParam<DcbxVersion> {};

TEST_P(DcbxBoth, AWillingEndTakesWhatTheOtherHas) {
  const Params theirs = [] {
    PortConfig p = port(1U << 5U);
    p.queues[0].weight = 50;
    return local_params(p, {{5, 1, 0x8906}});
  }();
  End willing(on(GetParam(), true), params(), kLow);
  End sure(on(GetParam()), theirs, kHigh);
  talk(willing, sure);
  const Operational& here = willing.machine.operational();
  EXPECT_EQ(here.params.pfc, 1U << 5U);
  EXPECT_EQ(here.params.ets.share, theirs.ets.share);
  EXPECT_EQ(here.params.ets.tsa, theirs.ets.tsa);
  EXPECT_EQ(here.params.ets.priority_tc, theirs.ets.priority_tc);
  EXPECT_EQ(here.params.apps.front(), theirs.apps.front());
  ASSERT_EQ(here.params.apps.size(), 2U) << "and ours, for a protocol of which the other says nothing";
  EXPECT_TRUE(here.ets == Source::Peer && here.pfc == Source::Peer && here.apps == Source::Peer);
  EXPECT_EQ(sure.machine.operational(), (Operational{.params = theirs}));
  EXPECT_TRUE(willing.machine.alarms().empty() && sure.machine.alarms().empty());

  // It falls silent: what the configuration says holds again.
  willing.machine.gone(key(2));
  EXPECT_EQ(willing.machine.operational(), (Operational{.params = params()}));

  // And says something else.
  sure.machine.configure(on(GetParam()), params(1U << 2U), kHigh);
  talk(willing, sure);
  EXPECT_EQ(willing.machine.operational().params.pfc, 1U << 2U);
}

TEST_P(DcbxBoth, NeitherWillingAndNotTheSame) {
  End a(on(GetParam()), params(1U << 3U), kLow);
  End b(on(GetParam()), params(1U << 4U), kHigh);
  talk(a, b);
  for (const End* end : {&a, &b}) {
    ASSERT_TRUE(end->machine.alarms().contains(Alarm::PfcMismatch));
    EXPECT_EQ(end->machine.operational().pfc, Source::Local);
  }
  EXPECT_EQ(a.machine.alarms().at(Alarm::PfcMismatch),
            "neither end is willing: PFC on priorities 3 here, 4 there");
  b.machine.configure(on(GetParam()), params(1U << 3U), kHigh);
  talk(a, b);
  EXPECT_TRUE(a.machine.alarms().empty() && b.machine.alarms().empty());
}

TEST_P(DcbxBoth, ApplicationsThatDiffer) {
  End a(on(GetParam()), params(), kLow);
  Params other = params();
  other.apps[0].priority = 4;
  End b(on(GetParam()), other, kHigh);
  talk(a, b);
  EXPECT_TRUE(a.machine.alarms().contains(Alarm::AppMismatch));
  EXPECT_TRUE(b.machine.alarms().contains(Alarm::AppMismatch));
}

TEST_P(DcbxBoth, AWillingEndTakesApplications) {
  End willing(on(GetParam(), true), params(), kLow);
  Params theirs = params();
  theirs.apps = {{5, 3, 4791}, {4, 2, 3260}};
  End sure(on(GetParam()), theirs, kHigh);
  talk(willing, sure);
  const PortConfig then = operational_config(port(), willing.machine.operational());
  ASSERT_TRUE(then.applications);
  const bool ieee = GetParam() == DcbxVersion::Ieee;  // CEE has TCP and UDP in one
  EXPECT_EQ(*then.applications, (std::vector<Application>{{ieee ? AppField::Tcp : AppField::Port, 3260, 4},
                                                          {ieee ? AppField::Udp : AppField::Port, 4791, 5}}));
  EXPECT_TRUE(sure.machine.alarms().empty()) << "the willing one follows";
  willing.machine.gone(key(2));
  EXPECT_FALSE(operational_config(port(), willing.machine.operational()).applications);
}

// lldpad says what it took from us beside what is its own.
TEST(DcbxIeee, OurOwnEntriesSaidBackDoNotCount) {
  End willing(on(DcbxVersion::Ieee, true), params(), kLow);
  ASSERT_EQ(params().apps, (std::vector<App>{{3, 3, 4791}}));
  const auto hears = [&](std::vector<App> apps) {
    willing.machine.heard(key(2), decode(encode(Ieee{.apps = std::move(apps)})), kHigh);
    return willing.machine.operational().params.apps;
  };
  EXPECT_EQ(hears({{3, 3, 4791}, {2, 3, 4791}}), (std::vector<App>{{2, 3, 4791}}));
  EXPECT_EQ(hears({{2, 3, 4791}, {3, 3, 4791}}), (std::vector<App>{{2, 3, 4791}}));
  EXPECT_EQ(hears({{3, 3, 4791}}), (std::vector<App>{{3, 3, 4791}}));
  EXPECT_EQ(hears({{1, 3, 4791}, {2, 3, 4791}}), (std::vector<App>{{2, 3, 4791}}));
  EXPECT_FALSE(decode(willing.machine.tlvs()).ieee->apps)
      << "neither what does not hold, nor what is not ours";
  EXPECT_EQ(hears({{6, 5, 26}}), (std::vector<App>{{3, 3, 4791}, {6, 5, 26}}));
  EXPECT_EQ(operational_config(port(), willing.machine.operational()).maps.dscp_dot1p[26], 6) << "by DSCP";
}

TEST_P(DcbxBoth, SeveralPeersCountForNothing) {
  End a(on(GetParam(), true), params(), kLow);
  End b(on(GetParam()), params(1U << 5U), kHigh);
  talk(a, b);
  ASSERT_EQ(a.machine.operational().pfc, Source::Peer);
  a.machine.heard(key(7), decode(b.machine.tlvs()), kHigh);
  EXPECT_EQ(a.machine.peers(), 2U);
  EXPECT_EQ(a.machine.operational(), (Operational{.params = params()}));
  EXPECT_TRUE(a.machine.alarms().contains(Alarm::MultiplePeers));
  a.machine.heard(key(7), {}, kHigh);  // it stops speaking DCBX
  talk(a, b);
  EXPECT_EQ(a.machine.operational().pfc, Source::Peer);
  EXPECT_TRUE(a.machine.alarms().empty());
}

TEST_P(DcbxBoth, WhatIsNotAdvertised) {
  DcbxConfig quiet = on(GetParam());
  quiet.advertise_ets = quiet.advertise_pfc = quiet.advertise_app = false;
  End a(quiet, params(), kLow);
  End b(on(GetParam(), true), params(1U << 5U), kHigh);
  talk(a, b);
  EXPECT_EQ(b.machine.operational(), (Operational{.params = params(1U << 5U)}));
}

INSTANTIATE_TEST_SUITE_P(Dialects, DcbxBoth, testing::Values(DcbxVersion::Ieee, DcbxVersion::Cee));

TEST(DcbxIeee, OfTwoWillingEndsTheLowerAddressDecides) {
  End low(on(DcbxVersion::Ieee, true), params(1U << 3U), kLow);
  End high(on(DcbxVersion::Ieee, true), params(1U << 4U), kHigh);
  talk(low, high);
  EXPECT_EQ(low.machine.operational().pfc, Source::Local);
  EXPECT_EQ(high.machine.operational().pfc, Source::Peer);
  EXPECT_EQ(high.machine.operational().params.pfc, 1U << 3U);
  EXPECT_TRUE(low.machine.alarms().empty() && high.machine.alarms().empty());
}

TEST(DcbxIeee, MorePfcThanTheNeighbourCan) {
  End a(on(DcbxVersion::Ieee), params(0b1110), kLow);
  Ieee said;
  said.pfc = Pfc{.willing = true, .cap = 2, .enabled = 0b0110};
  a.machine.heard(key(), decode(encode(said)), kHigh);
  EXPECT_EQ(a.machine.alarms().at(Alarm::PfcMismatch), "PFC on 3 priorities, the neighbour can have it on 2");
}

TEST(DcbxIeee, WithoutARecommendationOwnEtsHolds) {
  End a(on(DcbxVersion::Ieee, true), params(), kLow);
  Ieee said;
  said.ets = Ets{.table = params(0).ets};
  said.ets->table.share = {50, 50, 0, 0, 0, 0, 0, 0};
  a.machine.heard(key(), decode(encode(said)), kHigh);
  EXPECT_EQ(a.machine.operational().ets, Source::Local);
}

TEST(DcbxCee, NothingIsTakenBeforeTheNeighbourHasSeenThatWeWill) {
  End a(on(DcbxVersion::Cee, true), params(), kLow);
  Cee said{.control = {.sequence = 7, .ack = 0}};
  said.pfc = CeePfc{.feature = {.enable = true}, .enabled = 1U << 5U};
  a.machine.heard(key(), decode(std::array{encode(said)}), kHigh);
  EXPECT_EQ(a.machine.operational().pfc, Source::Local);
  EXPECT_EQ(decode(a.machine.tlvs()).cee->control.ack, 7U) << "its own number is acknowledged";
  said.control.ack = a.machine.sequence();
  a.machine.heard(key(), decode(std::array{encode(said)}), kHigh);
  EXPECT_EQ(a.machine.operational().pfc, Source::Peer);
  const std::uint32_t before = a.machine.sequence();
  a.machine.configure(on(DcbxVersion::Cee, true), params(1U << 2U), kLow);
  EXPECT_EQ(a.machine.sequence(), before + 1) << "something new";
  a.machine.configure(on(DcbxVersion::Cee, true), params(1U << 2U), kLow);
  EXPECT_EQ(a.machine.sequence(), before + 1) << "the same again";
}

TEST(DcbxCee, FeaturesThatAreOffOrInErrorAreNotTaken) {
  for (const bool error : {false, true}) {
    End a(on(DcbxVersion::Cee, true), params(), kLow);
    Cee said{.control = {.sequence = 7, .ack = a.machine.sequence()}};
    said.pfc = CeePfc{.feature = {.enable = error, .error = error}, .enabled = 1U << 5U};
    said.apps = CeeApps{.feature = said.pfc->feature,
                        .entries = {{.protocol = 3260, .selector = 1, .priorities = 1}}};
    a.machine.heard(key(), decode(std::array{encode(said)}), kHigh);
    EXPECT_EQ(a.machine.operational(), Operational{.params = params()});
    ASSERT_EQ(a.machine.alarms().contains(Alarm::PeerError), error);
    if (!error) continue;
    EXPECT_EQ(a.machine.alarms().at(Alarm::PeerError),
              "it reports an error, so this is not taken over: PFC, applications");
    EXPECT_FALSE(decode(a.machine.tlvs()).cee->pfc->feature.error) << "ours would keep it from ending";
    said.pfc->feature.error = said.apps->feature.error = false;
    a.machine.heard(key(), decode(std::array{encode(said)}), kHigh);
    EXPECT_EQ(a.machine.operational().pfc, Source::Peer);
    EXPECT_TRUE(a.machine.alarms().empty());
  }
}

TEST(DcbxCee, ErrorIsSaidOfWhatDoesNotMatch) {
  End a(on(DcbxVersion::Cee), params(1U << 3U), kLow);
  End b(on(DcbxVersion::Cee), params(1U << 4U), kHigh);
  talk(a, b);
  const Said said = decode(a.machine.tlvs());
  EXPECT_TRUE(said.cee->pfc->feature.error);
  EXPECT_FALSE(said.cee->apps->feature.error);
}

TEST(DcbxCee, AnotherVersion) {
  End a(on(DcbxVersion::Cee, true), params(), kLow);
  Cee said{.control = {.oper_version = 1, .max_version = 1, .sequence = 7, .ack = a.machine.sequence()}};
  said.pfc = CeePfc{.feature = {.enable = true}, .enabled = 1U << 5U};
  a.machine.heard(key(), decode(std::array{encode(said)}), kHigh);
  EXPECT_TRUE(a.machine.alarms().contains(Alarm::VersionMismatch));
  EXPECT_EQ(a.machine.operational().pfc, Source::Local);
}

TEST(DcbxAuto, FollowsTheNeighbour) {
  End any(on(DcbxVersion::Auto, true), params(), kLow);
  EXPECT_EQ(any.machine.dialect(), Dialect::Ieee);
  End old(on(DcbxVersion::Cee), params(1U << 5U), kHigh);
  talk(any, old);
  EXPECT_EQ(any.machine.dialect(), Dialect::Cee);
  EXPECT_EQ(any.machine.operational().params.pfc, 1U << 5U);
  EXPECT_TRUE(any.machine.alarms().empty() && old.machine.alarms().empty());
  any.machine.gone(key(2));
  EXPECT_EQ(any.machine.dialect(), Dialect::Ieee);
  End both(on(DcbxVersion::Auto), params(), kHigh);
  End other(on(DcbxVersion::Auto), params(), kLow);
  talk(both, other);
  EXPECT_EQ(both.machine.dialect(), Dialect::Ieee);
}

TEST(DcbxAuto, ForcedDialectsThatDifferAreAnAlarm) {
  End a(on(DcbxVersion::Ieee, true), params(), kLow);
  End b(on(DcbxVersion::Cee), params(1U << 5U), kHigh);
  talk(a, b);
  EXPECT_EQ(a.machine.alarms().at(Alarm::VersionMismatch), "the neighbour speaks cee, this port ieee");
  EXPECT_EQ(b.machine.alarms().at(Alarm::VersionMismatch), "the neighbour speaks ieee, this port cee");
  EXPECT_EQ(a.machine.operational().pfc, Source::Local);
  a.machine.configure(on(DcbxVersion::Auto, true), params(), kLow);
  talk(a, b);
  EXPECT_TRUE(a.machine.alarms().empty() && b.machine.alarms().empty());
  a.machine.heard(key(2), {.cee100 = true}, kHigh);
  EXPECT_EQ(a.machine.alarms().at(Alarm::VersionMismatch), "the neighbour speaks CEE 1.00, this port ieee");
}

TEST(DcbxIeee, MalformedIsAnAlarm) {
  End a(on(DcbxVersion::Ieee), params(), kLow);
  a.machine.heard(key(), decode(std::array{lldp::OrgTlv{.oui = kIeeeOui, .subtype = kIeeePfc, .value = {1}}}),
                  kHigh);
  EXPECT_EQ(a.machine.alarms().at(Alarm::Malformed), "PFC: wrong length");
}

TEST(DcbxCee, StrictGroupsKeepTheirTcs) {
  End a(on(DcbxVersion::Cee, true), params(), kLow);
  Cee said{.control = {.sequence = 7, .ack = a.machine.sequence()}};
  said.groups =
      CeeGroups{.feature = {.enable = true}, .group = {0, 0, 0, 1, 0, 0, 15, 15}, .share = {40, 60}};
  a.machine.heard(key(), decode(std::array{encode(said)}), kHigh);
  const Table& ets = a.machine.operational().params.ets;
  EXPECT_EQ(ets.priority_tc, (PerPriority<std::uint8_t>{0, 0, 0, 1, 0, 0, 6, 7}));
  EXPECT_EQ(ets.share, (PerPriority<std::uint8_t>{40, 60}));
  EXPECT_EQ(ets.tsa[6], kStrict);
}

}  // namespace
}  // namespace lossless::dcbx
