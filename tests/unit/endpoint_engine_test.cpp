// SPDX-License-Identifier: Apache-2.0
// Whole runs of the engine over a switch in memory, in virtual time.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/endpoint_sim.h"

namespace lossless::endpoint {
namespace {

constexpr std::uint64_t kRate = 100'000'000;
constexpr Nanos kDelay = 20 * kMicrosecond;

std::uint64_t sum_flows(const Results& r, std::uint64_t FlowStats::* what) {
  return std::accumulate(r.flows.begin(), r.flows.end(), std::uint64_t{0},
                         [&](std::uint64_t a, const FlowStats& f) { return a + f.*what; });
}

std::uint64_t frames(const Results& r, std::uint64_t HostStats::* what) {
  return std::accumulate(r.hosts.begin(), r.hosts.end(), std::uint64_t{0},
                         [&](std::uint64_t a, const HostStats& h) { return a + h.*what; });
}

TEST(Engine, OneFlowFillsTheLinkWithoutLoss) {
  SimNetwork net(incast_config(1, kRate, kSecond), {.bps = kRate}, kDelay);
  ASSERT_TRUE(net.run());
  const Results r = net.engine().results();
  EXPECT_GT(r.goodput_mbps, 0.99 * r.goodput_limit_mbps);
  EXPECT_LE(r.goodput_mbps, 1.001 * r.goodput_limit_mbps);
  EXPECT_NEAR(r.goodput_limit_mbps, 100.0 * 1024 / 1082, 0.01);
  EXPECT_EQ(net.drops, 0u);
  EXPECT_EQ(sum_flows(r, &FlowStats::retransmitted), 0u);
  EXPECT_EQ(sum_flows(r, &FlowStats::reordered), 0u);
  EXPECT_EQ(frames(r, &HostStats::tx_frames), frames(r, &HostStats::rx_frames));
  EXPECT_GT(r.flows[0].messages, 8u);
  EXPECT_EQ(r.flows[0].unfinished, 0u);
}

TEST(Engine, PacesAtTheLinkRate) {
  // The switch is ten times faster than the hosts: what arrives there is what the hosts' links let out.
  SimNetwork net(incast_config(2, kRate, kSecond), {.bps = 10 * kRate}, kDelay);
  ASSERT_TRUE(net.run());
  EXPECT_LT(net.depth_quantile(1), 6000u);
  EXPECT_NEAR(net.engine().results().goodput_mbps, 2 * 100.0 * 1024 / 1082, 2);
}

TEST(Engine, OverflowIsRepairedAndCountedExactly) {
  Config c = incast_config(4, kRate, 600 * kSecond);
  for (FlowConfig& f : c.flows) f.messages = 3;
  SimNetwork net(c, {.bps = kRate, .limit_bytes = 100'000}, kDelay);
  ASSERT_TRUE(net.run());
  const Results r = net.engine().results();
  EXPECT_GT(net.drops, 0u);
  EXPECT_EQ(frames(r, &HostStats::tx_frames) - frames(r, &HostStats::rx_frames), net.drops);
  EXPECT_GT(sum_flows(r, &FlowStats::retransmitted), 0u);
  for (const FlowStats& f : r.flows) {
    EXPECT_EQ(f.messages, 3u);
    EXPECT_EQ(f.goodput_bytes, 3u << 20);
    EXPECT_FALSE(f.failed);
  }
}

TEST(Engine, IncastFillsAMegabyteWithoutCongestionControl) {
  SimNetwork net(incast_config(8, kRate, 2 * kSecond), {.bps = kRate}, kDelay);
  net.sample_from = 2 * kSecond;
  ASSERT_TRUE(net.run());
  EXPECT_GT(net.drops, 0u);
  EXPECT_GT(net.depth_quantile(0.5), 900'000u);
}

TEST(Engine, DcqcnKeepsTheQueueShortAndTheLinkBusy) {
  SimNetwork plain(incast_config(8, kRate, 4 * kSecond), {.bps = kRate}, kDelay);
  const SimPort marking = {.bps = kRate, .kmin_bytes = 50'000, .kmax_bytes = 200'000};
  SimNetwork ecn(incast_config(8, kRate, 4 * kSecond), marking, kDelay);
  plain.sample_from = ecn.sample_from = 2 * kSecond;
  ASSERT_TRUE(plain.run());
  ASSERT_TRUE(ecn.run());
  const Results r = ecn.engine().results();
  EXPECT_LT(ecn.depth_quantile(0.99) * 4, plain.depth_quantile(0.99));
  EXPECT_GT(r.goodput_mbps, 0.95 * r.goodput_limit_mbps);
  EXPECT_EQ(frames(r, &HostStats::rx_ce), ecn.marks);
  EXPECT_GT(sum_flows(r, &FlowStats::rate_cuts), 0u);
  EXPECT_GT(r.hosts.back().tx[static_cast<std::size_t>(FrameKind::Cnp)], 0u);
}

TEST(Engine, NotificationAndReactionCanBeSwitchedOff) {
  const SimPort marking = {.bps = kRate, .kmin_bytes = 50'000, .kmax_bytes = 200'000};
  Config no_np = incast_config(4, kRate, kSecond);
  no_np.dcqcn.np = false;
  SimNetwork first(no_np, marking, kDelay);
  ASSERT_TRUE(first.run());
  const Results a = first.engine().results();
  EXPECT_GT(frames(a, &HostStats::rx_ce), 0u);
  EXPECT_EQ(sum_flows(a, &FlowStats::cnp_received), 0u);

  Config no_rp = incast_config(4, kRate, kSecond);
  no_rp.dcqcn.rp = false;
  SimNetwork second(no_rp, marking, kDelay);
  ASSERT_TRUE(second.run());
  const Results b = second.engine().results();
  EXPECT_GT(sum_flows(b, &FlowStats::cnp_received), 0u);
  EXPECT_EQ(sum_flows(b, &FlowStats::rate_cuts), 0u);
  EXPECT_EQ(b.flows[0].rate_mbps_end, 100);
}

TEST(Engine, ConnectionsStandAlthoughFramesAreLost) {
  Config c = incast_config(3, kRate, kSecond / 10);
  SimNetwork net(c, {.bps = kRate}, kDelay);
  std::mt19937 random(1);
  unsigned lost = 0;
  net.tap = [&](std::vector<std::uint8_t>& f) {
    const bool lose = f[42] == LL_OP_UD_SEND_ONLY && random() % 2 == 0;
    lost += lose ? 1 : 0;
    return !lose;
  };
  ASSERT_TRUE(net.run());
  const Results r = net.engine().results();
  EXPECT_GT(lost, 3u);
  EXPECT_EQ(r.error, "");
  EXPECT_GT(sum_flows(r, &FlowStats::goodput_bytes), 0u);
}

TEST(Engine, SaysSoWhenAHostDoesNotAnswer) {
  SimNetwork net(incast_config(2, kRate, kSecond), {.bps = kRate}, kDelay);
  net.tap = [](std::vector<std::uint8_t>& f) { return f[5] != 3; };
  ASSERT_TRUE(net.run());
  const Results r = net.engine().results();
  EXPECT_EQ(r.error, "2 of 2 connections could not be set up");
  EXPECT_EQ(sum_flows(r, &FlowStats::goodput_bytes), 0u);
}

TEST(Engine, DamagedFramesAreCountedByKind) {
  SimNetwork net(incast_config(1, kRate, kSecond / 5), {.bps = kRate}, kDelay);
  unsigned count = 0;
  net.tap = [&](std::vector<std::uint8_t>& f) {
    if (f[42] == LL_OP_WRITE_MIDDLE && ++count % 100 == 0) f[80] ^= 0x10;
    return true;
  };
  ASSERT_TRUE(net.run());
  const Results r = net.engine().results();
  EXPECT_GT(count, 100u);
  EXPECT_EQ(r.hosts[1].bad[LL_ROCE_ICRC], count / 100);
  EXPECT_EQ(r.flows[0].unfinished, 0u);
}

TEST(Engine, SameSeedSameMessages) {
  Config c = incast_config(3, kRate, kSecond);
  for (FlowConfig& f : c.flows) {
    const auto points = web_search_sizes();
    f.size = SizeDistribution({points.begin(), points.end()});
    f.load = 0.2;
    f.write = false;
  }
  const auto run = [](const Config& config) {
    SimNetwork net(config, {.bps = kRate}, kDelay);
    EXPECT_TRUE(net.run());
    return net.engine().results();
  };
  const Results a = run(c);
  const Results b = run(c);
  c.seed = 2;
  const Results d = run(c);
  ASSERT_GT(a.fct.size(), 3u);
  ASSERT_EQ(a.fct.size(), b.fct.size());
  for (std::size_t i = 0; i < a.fct.size(); i++) EXPECT_EQ(a.fct[i].bytes, b.fct[i].bytes);
  EXPECT_EQ(a.flows[0].qpn, b.flows[0].qpn);
  EXPECT_NE(a.flows[0].qpn, d.flows[0].qpn);
}

TEST(Engine, TagsAndIpv6) {
  Config c = incast_config(2, kRate, kSecond / 2);
  c.flows[0].pcp = 3;
  for (HostConfig& h : c.hosts) {
    h.address.v6 = true;
    h.address.ip[15] = h.address.mac[5];
  }
  SimNetwork net(c, {.bps = 2 * kRate}, kDelay);
  unsigned tagged = 0;
  net.tap = [&](std::vector<std::uint8_t>& f) {
    if (f[12] == 0x81 && f[13] == 0 && f[14] >> 5 == 3) tagged++;
    return true;
  };
  ASSERT_TRUE(net.run());
  const Results r = net.engine().results();
  EXPECT_GT(tagged, r.hosts[0].tx[0]);
  EXPECT_EQ(r.flows[0].unfinished + r.flows[1].unfinished, 0u);
  EXPECT_EQ(sum_flows(r, &FlowStats::retransmitted), 0u);
  EXPECT_GT(r.goodput_mbps, 0.95 * r.goodput_limit_mbps);
}

TEST(Engine, QueuePairsOfAHostTakeTurns) {
  Config c = incast_config(1, kRate, kSecond);
  c.flows[0].qps = 8;
  SimNetwork net(c, {.bps = kRate}, kDelay);
  ASSERT_TRUE(net.run());
  const Results r = net.engine().results();
  ASSERT_EQ(r.flows.size(), 8u);
  const auto [low, high] = std::ranges::minmax_element(r.flows, {}, &FlowStats::goodput_bytes);
  EXPECT_LE(high->goodput_bytes - low->goodput_bytes, 1u << 20);  // one message at most
}

TEST(Engine, InterruptEndsTheRunWithResults) {
  Config c = incast_config(1, kRate, 100 * kSecond);
  SimNetwork net(c, {.bps = kRate}, kDelay);
  bool once = true;
  net.tap = [&](std::vector<std::uint8_t>&) {
    if (net.now() > 2 * kSecond && once) once = false, net.engine().interrupt(net.now());
    return true;
  };
  ASSERT_TRUE(net.run());
  EXPECT_LT(net.now(), 10 * kSecond);
  const Results r = net.engine().results();
  EXPECT_TRUE(r.interrupted);
  EXPECT_GT(r.goodput_mbps, 90);
  EXPECT_EQ(frames(r, &HostStats::tx_frames), frames(r, &HostStats::rx_frames));
}

TEST(Engine, SeriesAddsUpToTheGoodput) {
  SimNetwork net(incast_config(1, kRate, kSecond), {.bps = kRate}, kDelay);
  ASSERT_TRUE(net.run());
  const Results r = net.engine().results();
  ASSERT_NEAR(static_cast<double>(r.series.size()), 20, 1);
  for (std::size_t i = 1; i < r.series.size(); i++)
    EXPECT_NEAR(r.series[i].goodput_mbps, r.goodput_limit_mbps, 3);
}

}  // namespace
}  // namespace lossless::endpoint
