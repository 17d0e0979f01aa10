// SPDX-License-Identifier: Apache-2.0
// DCQCN of a host: rows from the configuration, times to leave, and what comes of notification and reaction
// point together on one link. The datapath runs the same headers.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <queue>
#include <random>
#include <vector>

#include "bpf/stages/dcqcn_host.h"
#include "bpf/stages/wred.h"
#include "daemon/dcqcn/tables.h"

namespace lossless::dcqcn {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kLine = 25'000'000'000;
constexpr std::uint32_t kPacket = 4096 + 58;

TEST(DcqcnRows, DefaultsAreTheNics) {
  const ll_dcqcn_params ours = make_params(DcqcnConfig{});
  const ll_dcqcn_params nics = ll_dcqcn_defaults();
  EXPECT_EQ(std::memcmp(&ours, &nics, sizeof ours), 0);
  PortConfig port;
  EXPECT_EQ(make_row({}, port).line_bps, kAssumedLine);
  port.rate_bps = kLine;
  const ll_host row = make_row({}, port);
  EXPECT_EQ(row.line_bps, kLine);
  EXPECT_EQ(row.cnp_tos, 0xc2) << "DSCP 48 and ECT(0), as NICs have it";
  EXPECT_EQ(row.cnp_tc, 6);
}

TEST(DcqcnRows, FlagsNeedTheRoleAndForTheReactionPointPacing) {
  Config config;
  config.dcqcn.enabled = true;
  EXPECT_EQ(flags(config, true), 0);
  config.role = SystemRole::Host;
  EXPECT_EQ(flags(config, true), LL_HOST_ON | LL_HOST_NP | LL_HOST_RP | LL_HOST_GUARD);
  EXPECT_EQ(flags(config, false), LL_HOST_ON | LL_HOST_NP | LL_HOST_GUARD);
  config.dcqcn.np = config.dcqcn.guard = config.dcqcn.rp = false;
  EXPECT_EQ(flags(config, true), LL_HOST_ON);
  EXPECT_FALSE(wants_pacing(config));
}

ll_rp_flow fresh() {
  ll_rp_flow flow{};
  ll_dcqcn_rp_init(&flow.rp, kLine, 0);
  return flow;
}

TEST(Departure, AQpAtLineRateIsNotHeld) {
  ll_rp_flow flow = fresh();
  for (std::uint64_t now = 0; now < 1000; now += 10) EXPECT_EQ(ll_rp_departure(&flow, now, kPacket), 0U);
}

TEST(Departure, PacketsAreAsFarApartAsTheRateSays) {
  ll_rp_flow flow = fresh();
  flow.rp.rate_bps = kLine / 10;
  const std::uint64_t gap = std::uint64_t{kPacket} * 8 * kSecond / (kLine / 10);
  EXPECT_EQ(ll_rp_departure(&flow, 1000, kPacket), 0U) << "the first one at once";
  for (std::uint64_t i = 1; i < 20; ++i) EXPECT_EQ(ll_rp_departure(&flow, 1000, kPacket), 1000 + i * gap);
  // What was not used is lost: no burst after a pause.
  EXPECT_EQ(ll_rp_departure(&flow, kSecond, kPacket), 0U);
  EXPECT_EQ(ll_rp_departure(&flow, kSecond, kPacket), kSecond + gap);
}

TEST(Departure, NobodyWaitsBeyondTheHorizon) {
  ll_rp_flow flow = fresh();
  flow.rp.rate_bps = 1000;
  for (unsigned i = 0; i < 100; ++i) EXPECT_LE(ll_rp_departure(&flow, 5, 1U << 16U), 5 + LL_RP_HORIZON_NS);
  flow = fresh();
  flow.rp.rate_bps = 0;
  EXPECT_EQ(ll_rp_departure(&flow, 5, kPacket), 0U);
  EXPECT_EQ(ll_rp_departure(&flow, 5, kPacket), 0U);
}

// fq goes by the times: a packet that were sent at once would be ahead of those that wait.
TEST(Departure, BackAtLineRateNothingIsOvertaken) {
  ll_rp_flow flow = fresh();
  flow.rp.rate_bps = kLine / 10;
  ll_rp_departure(&flow, 1000, kPacket);
  const std::uint64_t waits = ll_rp_departure(&flow, 1000, kPacket);
  ASSERT_GT(waits, 1000U);
  flow.rp.rate_bps = kLine;
  const std::uint64_t next = ll_rp_departure(&flow, 1001, kPacket);
  EXPECT_GE(next, waits);
  EXPECT_EQ(ll_rp_departure(&flow, 1002, kPacket), next) << "no more is added";
  EXPECT_EQ(ll_rp_departure(&flow, next, kPacket), 0U);
}

// QPs that always have something to send, through one link with a marking queue, to one receiver.
class Link {
 public:
  explicit Link(std::size_t qps) : flows_(qps, fresh()), np_(qps), sent_(qps) {
    wred_.kmin = 100'000;
    wred_.kmax = 400'000;
    wred_.pmax = UINT32_MAX / 5;
    for (std::size_t i = 0; i < qps; ++i) events_.push({.at = i * kSecond / 100, .qp = i, .cnp = false});
  }

  void run_until(std::uint64_t end) {
    while (!events_.empty() && events_.top().at < end) {
      const Event event = events_.top();
      events_.pop();
      if (event.cnp)
        ll_dcqcn_rp_cnp(&params_, &flows_[event.qp].rp, event.at);
      else
        send(event.qp, event.at);
    }
  }
  void clear() { sent_.assign(sent_.size(), 0); }
  const std::vector<std::uint64_t>& sent() const { return sent_; }
  std::uint64_t deepest() const { return deepest_; }
  static double jain(const std::vector<std::uint64_t>& shares) {
    double sum = 0;
    double squares = 0;
    for (const std::uint64_t share : shares) {
      const auto s = static_cast<double>(share);
      sum += s;
      squares += s * s;
    }
    return sum * sum / (static_cast<double>(shares.size()) * squares);
  }

 private:
  struct Event {
    std::uint64_t at;
    std::size_t qp;
    bool cnp;
    bool operator<(const Event& other) const { return at > other.at; }
  };
  static constexpr std::uint64_t kDelay = 5'000;  // one way

  // One packet leaves its QP; the next is handed over at once and leaves when it may.
  void send(std::size_t qp, std::uint64_t now) {
    ll_rp_flow& flow = flows_[qp];
    const std::uint64_t wire = std::uint64_t{kPacket} * 8 * kSecond / kLine;
    const std::uint64_t start = std::max(now, free_at_);
    const std::uint64_t depth = (start - now) * kLine / 8 / kSecond;
    deepest_ = std::max(deepest_, depth);
    free_at_ = start + wire;
    sent_[qp] += kPacket;
    if (rng_() < ll_wred_probability(&wred_, static_cast<std::uint32_t>(depth)) &&
        ll_dcqcn_np_ce(&params_, &np_[qp], free_at_ + kDelay))
      events_.push({.at = free_at_ + 2 * kDelay, .qp = qp, .cnp = true});
    ll_dcqcn_rp_advance(&params_, &flow.rp, now);
    ll_dcqcn_rp_sent(&params_, &flow.rp, kPacket);
    const std::uint64_t next = ll_rp_departure(&flow, now, kPacket);
    events_.push({.at = next ? next : now + wire, .qp = qp, .cnp = false});
  }

  ll_dcqcn_params params_ = ll_dcqcn_defaults();
  ll_wred wred_{};
  std::vector<ll_rp_flow> flows_;
  std::vector<ll_dcqcn_np> np_;
  std::vector<std::uint64_t> sent_;
  std::priority_queue<Event> events_;
  std::uint64_t free_at_ = 0;
  std::uint64_t deepest_ = 0;
  std::mt19937 rng_{4791};
};

TEST(DcqcnLink, FourQpsShareItWithinTwoSeconds) {
  Link link(4);
  link.run_until(kSecond);
  link.clear();
  link.run_until(2 * kSecond);
  std::uint64_t total = 0;
  for (const std::uint64_t bytes : link.sent()) total += bytes;
  const double goodput = static_cast<double>(total) * 8 / static_cast<double>(kLine);
  const double jain = Link::jain(link.sent());
  std::printf("Jain's index %.3f, link used %.1f %%, deepest queue %.0f KB\n", jain, goodput * 100,
              static_cast<double>(link.deepest()) / 1000);
  EXPECT_GE(jain, 0.95);
  EXPECT_GE(goodput, 0.9);
  EXPECT_LE(goodput, 1.01);
}

TEST(DcqcnLink, AQpAloneIsBackAfterFourIncreases) {
  const ll_dcqcn_params params = ll_dcqcn_defaults();
  ll_rp_flow flow = fresh();
  ll_dcqcn_rp_cnp(&params, &flow.rp, 0);
  std::uint64_t now = 0;
  while (flow.rp.rate_bps < kLine / 100 * 95) {
    now += 1000;
    ll_dcqcn_rp_advance(&params, &flow.rp, now);
  }
  std::printf("back at 95 %% after %.2f ms\n", static_cast<double>(now) / 1e6);
  EXPECT_EQ(now, 4 * params.rate_interval_ns);
}

}  // namespace
}  // namespace lossless::dcqcn
