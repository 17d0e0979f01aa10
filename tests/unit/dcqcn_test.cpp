// SPDX-License-Identifier: Apache-2.0
#include "bpf/stages/dcqcn.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace {

constexpr __u64 kLine = 25'000'000'000;
constexpr __u64 kUs = 1000;

ll_dcqcn_rp fresh(__u64 now = 0) {
  ll_dcqcn_rp rp;
  ll_dcqcn_rp_init(&rp, kLine, now);
  return rp;
}

TEST(DcqcnNp, OneCnpPerInterval) {
  const ll_dcqcn_params p = ll_dcqcn_defaults();
  ll_dcqcn_np np{};
  EXPECT_EQ(ll_dcqcn_np_ce(&p, &np, 5), 1);
  EXPECT_EQ(ll_dcqcn_np_ce(&p, &np, 5 + 49'999), 0);
  EXPECT_EQ(ll_dcqcn_np_ce(&p, &np, 5 + 50'000), 1);
  EXPECT_EQ(ll_dcqcn_np_ce(&p, &np, 5 + 99'999), 0);
}

TEST(DcqcnRp, FirstCnpHalvesTheRate) {
  const ll_dcqcn_params p = ll_dcqcn_defaults();
  ll_dcqcn_rp rp = fresh();
  EXPECT_EQ(ll_dcqcn_rp_cnp(&p, &rp, 0), 1);
  EXPECT_EQ(rp.rate_bps, kLine / 2);
  EXPECT_EQ(rp.target_bps, kLine);
}

TEST(DcqcnRp, CutsAreApart) {
  const ll_dcqcn_params p = ll_dcqcn_defaults();
  ll_dcqcn_rp rp = fresh();
  EXPECT_EQ(ll_dcqcn_rp_cnp(&p, &rp, 0), 1);
  EXPECT_EQ(ll_dcqcn_rp_cnp(&p, &rp, p.cut_interval_ns - 1), 0);
  EXPECT_EQ(ll_dcqcn_rp_cnp(&p, &rp, p.cut_interval_ns), 1);
  EXPECT_EQ(rp.cuts, 2u);
}

TEST(DcqcnRp, AlphaDecaysWithoutCnp) {
  const ll_dcqcn_params p = ll_dcqcn_defaults();
  for (const __u64 periods : {1, 2, 17, 255, 256, 1000, 4000, 65'535}) {
    const double want = LL_DCQCN_ALPHA_ONE * std::pow(255.0 / 256, static_cast<double>(periods));
    EXPECT_NEAR(ll_dcqcn_decay(LL_DCQCN_ALPHA_ONE, p.g_shift, periods), want, 20 + want * 1e-4) << periods;
  }
  EXPECT_EQ(ll_dcqcn_decay(LL_DCQCN_ALPHA_ONE, p.g_shift, 1ull << 40), 0u);
}

TEST(DcqcnRp, AlphaGrowsWithEachCnp) {
  ll_dcqcn_params p = ll_dcqcn_defaults();
  ll_dcqcn_rp rp = fresh();
  rp.alpha = 0;
  ll_dcqcn_rp_cnp(&p, &rp, 1);
  EXPECT_EQ(rp.alpha, LL_DCQCN_ALPHA_ONE >> 8);
  EXPECT_EQ(rp.rate_bps, kLine);  // the cut uses the alpha before
}

// Fast recovery: the target stays, the rate closes half of the gap each time.
TEST(DcqcnRp, FastRecovery) {
  const ll_dcqcn_params p = ll_dcqcn_defaults();
  ll_dcqcn_rp rp = fresh();
  ll_dcqcn_rp_cnp(&p, &rp, 0);
  ll_dcqcn_rp_cnp(&p, &rp, 50 * kUs);  // now the target is half of line rate
  const __u64 target = rp.target_bps;
  __u64 gap = target - rp.rate_bps;
  for (__u64 step = 1; step < p.fast_recovery; step++) {
    ll_dcqcn_rp_advance(&p, &rp, 50 * kUs + step * p.rate_interval_ns);
    EXPECT_EQ(rp.target_bps, target);
    EXPECT_NEAR(static_cast<double>(target - rp.rate_bps), static_cast<double>(gap) / 2, 1);
    gap = target - rp.rate_bps;
  }
}

TEST(DcqcnRp, AdditiveThenHyperIncrease) {
  const ll_dcqcn_params p = ll_dcqcn_defaults();
  ll_dcqcn_rp rp = fresh();
  ll_dcqcn_rp_cnp(&p, &rp, 0);
  ll_dcqcn_rp_cnp(&p, &rp, 50 * kUs);
  const __u64 target = rp.target_bps;
  __u64 now = 50 * kUs + (p.fast_recovery - 1) * p.rate_interval_ns;
  ll_dcqcn_rp_advance(&p, &rp, now);
  ASSERT_EQ(rp.target_bps, target);
  now += p.rate_interval_ns;
  ll_dcqcn_rp_advance(&p, &rp, now);  // F timer events, no byte-counter event
  EXPECT_EQ(rp.target_bps, target + p.ai_bps);
  now += p.rate_interval_ns;
  ll_dcqcn_rp_advance(&p, &rp, now);
  EXPECT_EQ(rp.target_bps, target + 2 * p.ai_bps);
  for (__u64 i = 1; i <= p.fast_recovery; i++) ll_dcqcn_rp_sent(&p, &rp, static_cast<__u32>(p.byte_counter));
  EXPECT_EQ(rp.target_bps, target + (2 + p.fast_recovery) * p.ai_bps);
  ll_dcqcn_rp_sent(&p, &rp, static_cast<__u32>(p.byte_counter));  // both stages are beyond F
  EXPECT_EQ(rp.target_bps, target + (2 + p.fast_recovery) * p.ai_bps + p.hai_bps);
}

TEST(DcqcnRp, RecoversToLineRateExactlyAndStops) {
  const ll_dcqcn_params p = ll_dcqcn_defaults();
  ll_dcqcn_rp rp = fresh();
  ll_dcqcn_rp_cnp(&p, &rp, 0);
  __u64 now = 0;
  for (int i = 0; i < 2000 && ll_dcqcn_rp_limited(&rp); i++)
    ll_dcqcn_rp_advance(&p, &rp, now += p.rate_interval_ns);
  EXPECT_EQ(rp.rate_bps, kLine);
  EXPECT_EQ(rp.target_bps, kLine);
}

// One call does a bounded amount of work, the next ones the rest: the outcome does not depend on who calls
// when.
TEST(DcqcnRp, LateCallsCatchUp) {
  const ll_dcqcn_params p = ll_dcqcn_defaults();
  ll_dcqcn_rp often = fresh();
  ll_dcqcn_rp_cnp(&p, &often, 0);
  for (int i = 1; i < 40; i++) ll_dcqcn_rp_cnp(&p, &often, static_cast<__u64>(i) * p.cut_interval_ns);
  ll_dcqcn_rp late = often;
  const __u64 end = often.timer_ns + 200 * p.rate_interval_ns;
  for (__u64 t = often.timer_ns; t <= end; t += p.rate_interval_ns / 3) ll_dcqcn_rp_advance(&p, &often, t);
  ll_dcqcn_rp_advance(&p, &often, end);
  for (int i = 0; i < 5; i++) ll_dcqcn_rp_advance(&p, &late, end);
  EXPECT_EQ(often.rate_bps, late.rate_bps);
  EXPECT_EQ(often.timer_stage, late.timer_stage);
}

TEST(DcqcnRp, RateStaysBetweenMinimumAndLine) {
  rc::check("any sequence of events", [](const std::vector<std::pair<std::uint8_t, std::uint32_t>>& events) {
    ll_dcqcn_params p = ll_dcqcn_defaults();
    p.byte_counter = 100'000;
    ll_dcqcn_rp rp = fresh(7);
    __u64 now = 7;
    for (const auto& [what, amount] : events) {
      now += amount % 5'000'000;
      if (what % 3 == 0) ll_dcqcn_rp_cnp(&p, &rp, now);
      if (what % 3 == 1) ll_dcqcn_rp_advance(&p, &rp, now);
      if (what % 3 == 2) ll_dcqcn_rp_sent(&p, &rp, amount % 5000);
      RC_ASSERT(rp.rate_bps >= p.min_bps && rp.rate_bps <= rp.target_bps + 1 && rp.target_bps <= kLine);
      RC_ASSERT(rp.alpha <= LL_DCQCN_ALPHA_ONE);
    }
  });
}

TEST(DcqcnRp, MinimumAboveLineIsLine) {
  ll_dcqcn_params p = ll_dcqcn_defaults();
  p.min_bps = 2 * kLine;
  ll_dcqcn_rp rp = fresh();
  ll_dcqcn_rp_cnp(&p, &rp, 0);
  EXPECT_EQ(rp.rate_bps, kLine);
}

// Four flows into one link as a fluid: marks while there is a queue, CNPs once per interval. The rates must
// come close to each other, whatever they started from, and use the link.
TEST(DcqcnRp, FourFlowsConverge) {
  const ll_dcqcn_params p = ll_dcqcn_defaults();
  std::array<ll_dcqcn_rp, 4> flows;
  std::array<ll_dcqcn_np, 4> points{};
  for (std::size_t i = 0; i < flows.size(); i++) {
    ll_dcqcn_rp_init(&flows[i], kLine, 0);
    flows[i].rate_bps = kLine / (1 + 3 * i);
    flows[i].target_bps = flows[i].rate_bps;
  }
  constexpr __u64 kStep = 5 * kUs;
  double queue = 0;
  double served = 0;
  double offered_after = 0;
  std::array<double, 4> share{};
  __u32 lcg = 1;
  for (__u64 now = kStep; now < 400'000 * kUs; now += kStep) {
    double arriving = 0;
    for (std::size_t i = 0; i < flows.size(); i++) {
      ll_dcqcn_rp& rp = flows[i];
      ll_dcqcn_rp_advance(&p, &rp, now);
      const double bytes = static_cast<double>(rp.rate_bps) * kStep / 8e9;
      ll_dcqcn_rp_sent(&p, &rp, static_cast<__u32>(bytes));
      arriving += bytes;
      if (now > 200'000 * kUs) share[i] += bytes;
      // A flow's chance to have one of its packets marked in this step, Kmin 100 KB, Kmax 400 KB, Pmax 0.2.
      lcg = lcg * 1664525 + 1013904223;
      const double packets = bytes / 1082;
      const double mark = std::clamp((queue - 100e3) / 300e3, 0.0, 1.0) * 0.2;
      const double chance = queue > 400e3 ? 1 : 1 - std::pow(1 - mark, packets);
      if (lcg / 4294967296.0 < chance && ll_dcqcn_np_ce(&p, &points[i], now) != 0)
        ll_dcqcn_rp_cnp(&p, &rp, now);
    }
    const double drained = std::min(queue + arriving, static_cast<double>(kLine) * kStep / 8e9);
    queue += arriving - drained;
    if (now > 200'000 * kUs) {
      served += drained;
      offered_after += static_cast<double>(kLine) * kStep / 8e9;
    }
  }
  double sum = 0;
  double squares = 0;
  for (const double s : share) sum += s, squares += s * s;
  EXPECT_GT(sum * sum / (4 * squares), 0.95);  // Jain's index
  EXPECT_GT(served / offered_after, 0.9);
}

}  // namespace
