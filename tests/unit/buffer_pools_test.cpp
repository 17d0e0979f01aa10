// SPDX-License-Identifier: Apache-2.0
// Pools and dynamic thresholds: the arithmetic, the plan, and the configuration.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "bpf/stages/latency.h"
#include "bpf/stages/mmu.h"
#include "daemon/core/config.h"
#include "daemon/pfc/plan.h"

namespace lossless::pfc {
namespace {

constexpr std::uint64_t kPool = 1'000'000;
constexpr __u8 kHalf = LL_ALPHA_ONE - 1;
const std::string kPort = "[[port]]\nname = \"eth0\"\n";

ll_pfc dynamic(__u8 alpha, std::uint64_t guaranteed = 0, std::uint64_t xon_offset = 0) {
  ll_pfc p{};
  p.alpha = alpha;
  p.guaranteed = guaranteed;
  p.xon_offset = xon_offset;
  return p;
}

TEST(Pools, ALevelIsGuaranteedFirst) {
  EXPECT_EQ(ll_guaranteed_part(500, 1000), 500U);
  EXPECT_EQ(ll_shared_part(500, 1000), 0U);
  EXPECT_EQ(ll_guaranteed_part(1500, 1000), 1000U);
  EXPECT_EQ(ll_shared_part(1500, 1000), 500U);
}

TEST(Pools, TheThresholdFollowsWhatIsFree) {
  EXPECT_EQ(ll_alpha_share(LL_ALPHA_ONE, kPool, 0), kPool);
  EXPECT_EQ(ll_alpha_share(kHalf, kPool, 600'000), 200'000U);
  EXPECT_EQ(ll_alpha_share(LL_ALPHA_MIN, 128'000, 0), 1000U);
  EXPECT_EQ(ll_alpha_share(LL_ALPHA_MAX, kPool, 0), 8 * kPool);
  EXPECT_EQ(ll_alpha_share(LL_ALPHA_ONE, kPool, kPool + 1), 0U) << "more is used than there is";
  const ll_pfc p = dynamic(kHalf, 5000, 20'000);
  EXPECT_EQ(ll_xoff_level(&p, kPool, 600'000), 205'000U);
  EXPECT_EQ(ll_xon_level(&p, kPool, 600'000), 185'000U);
  EXPECT_EQ(ll_xon_level(&p, kPool, kPool), 0U) << "an empty row may always go on";
  ll_pfc fixed{};
  fixed.xoff = 70'000;
  fixed.xon_offset = 10'000;
  EXPECT_EQ(ll_xoff_level(&fixed, kPool, kPool), 70'000U);
  EXPECT_EQ(ll_xon_level(&fixed, kPool, kPool), 60'000U);
}

TEST(Pools, SharesOfALevelAddUp) {
  rc::check([] {
    const auto level = *rc::gen::inRange<std::uint64_t>(0, 1U << 30U);
    const auto guaranteed = *rc::gen::inRange<std::uint64_t>(0, 1U << 30U);
    RC_ASSERT(ll_guaranteed_part(level, guaranteed) + ll_shared_part(level, guaranteed) == level);
  });
}

TEST(Latency, BinsAreExactThenNarrow) {
  for (std::uint64_t us = 0; us < 64; ++us) EXPECT_EQ(ll_latency_us(ll_latency_bin(us)), us);
  std::uint32_t before = 0;
  for (std::uint64_t us = 0; us < 32'768; ++us) {
    const std::uint32_t bin = ll_latency_bin(us);
    ASSERT_TRUE(bin == before || bin == before + 1) << us;
    before = bin;
    ASSERT_LE(ll_latency_us(bin), us);
    ASSERT_LT(us - ll_latency_us(bin), us / 32 + 1);
  }
  EXPECT_EQ(before, LL_LATENCY_BINS - 1);
  EXPECT_EQ(ll_latency_bin(UINT64_MAX), LL_LATENCY_BINS - 1);
}

QueueConfig dynamic_queue(std::uint32_t limit, unsigned alpha = LL_ALPHA_ONE) {
  QueueConfig queue;
  queue.limit_bytes = limit;
  queue.lossless = true;
  queue.pfc = PfcConfig{};
  queue.pfc->alpha = alpha;
  return queue;
}

PortFacts facts(unsigned ports, BufferConfig buffer = {.shared_bytes = kPool}) {
  PortFacts f;
  f.rate_bps = 1'000'000'000;
  f.ports = ports;
  f.buffer = buffer;
  return f;
}

TEST(Pools, APlanWithAlphaKnowsWhereAPortComesToRest) {
  const auto plan = plan_pfc(dynamic_queue(2'000'000), facts(4));
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->alpha, LL_ALPHA_ONE);
  EXPECT_EQ(plan->xoff_bytes, kPool / 2) << "alone: as much as is left";
  const ll_pfc row = make_pfc_row(buffer_terms(dynamic_queue(2'000'000)), &*plan, {}, 1'000'000'000);
  EXPECT_EQ(row.alpha, LL_ALPHA_ONE);
  EXPECT_EQ(row.lossless, 1);
  EXPECT_EQ(row.xon_offset, plan->xoff_bytes - plan->xon_bytes);
  EXPECT_EQ(row.headroom, plan->headroom_bytes);
}

TEST(Pools, TheQueueHoldsWhatThePoolLetsIn) {
  const auto plan = plan_pfc(dynamic_queue(900'000), facts(4));
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().find("limit 900KB does not hold what 3 other ports may send"), std::string::npos)
      << plan.error();
}

// Senders that only stop at their threshold never hold more than the plan reckons with.
TEST(Pools, NoOrderOfSendersHoldsMoreThanThePlanSays) {
  rc::check([] {
    const auto alpha = static_cast<__u8>(*rc::gen::inRange<unsigned>(LL_ALPHA_MIN, LL_ALPHA_MAX + 1));
    const auto senders = *rc::gen::inRange<std::size_t>(1, 12);
    const auto order = *rc::gen::container<std::vector<unsigned>>(400, rc::gen::inRange<unsigned>(0, 1000));
    std::vector<std::uint64_t> held(senders);
    std::uint64_t used = 0;
    const ll_pfc p = dynamic(alpha);
    for (const unsigned who : order) {
      std::uint64_t& mine = held[who % senders];
      while (mine + 1000 <= ll_xoff_level(&p, kPool, used) && *rc::gen::inRange(0, 10) > 0) {
        mine += 1000;
        used += 1000;
      }
    }
    QueueConfig queue = dynamic_queue(1'000'000'000, alpha);
    queue.pfc->headroom_bytes = 100'000;
    for (std::uint32_t limit = static_cast<std::uint32_t>(senders) * 100'000; limit < 4'000'000;
         limit += 50'000) {
      queue.limit_bytes = limit;
      if (!plan_pfc(queue, facts(static_cast<unsigned>(senders) + 1))) continue;
      RC_ASSERT(used <= limit - senders * 100'000);
      break;
    }
  });
}

TEST(Pools, HeadroomOfOneQueueFitsThePool) {
  const auto plan =
      plan_pfc(dynamic_queue(2'000'000), facts(2, {.shared_bytes = kPool, .headroom_bytes = 5000}));
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().find("5KB of [buffer] headroom"), std::string::npos) << plan.error();
}

std::string first_error(const std::string& text) {
  const auto config = parse_config(text + kPort, "x.toml");
  return config ? "no error" : config.error().front().text();
}

TEST(ConfigBuffer, WrittenAndReadAgain) {
  const std::string text =
      "[buffer]\nshared = \"4MB\"\nheadroom = \"1MB\"\n[queue.3]\nlossless = true\nguaranteed = \"3KB\"\n"
      "pfc = { alpha = \"1/4\" }\n[queue.1]\nalpha = \"8\"\n";
  const auto config = parse_config(text + kPort, "x.toml");
  ASSERT_TRUE(config) << config.error().front().text();
  EXPECT_EQ(config->buffer, (BufferConfig{.shared_bytes = 4'000'000, .headroom_bytes = 1'000'000}));
  EXPECT_EQ(config->ports[0].queues[3].guaranteed_bytes, 3000U);
  EXPECT_EQ(config->ports[0].queues[3].pfc->alpha, LL_ALPHA_ONE - 2);
  EXPECT_EQ(config->ports[0].queues[1].alpha, LL_ALPHA_MAX);
  const auto again = parse_config(to_toml(*config), "y.toml");
  ASSERT_TRUE(again) << to_toml(*config);
  EXPECT_EQ(*again, *config);
  auto other = *config;
  other.buffer.shared_bytes = 5'000'000;
  const auto changes = diff_config(*config, other);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0], (ConfigChange{"buffer.shared", "\"4MB\"", "\"5MB\""}));
}

TEST(ConfigBuffer, WhatDoesNotFitIsRefused) {
  const std::string lossless = "[queue.3]\nlossless = true\n";
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {lossless + "pfc = { alpha = \"1\" }\n", "queue.3.pfc.alpha: alpha is a share of the shared pool"},
           {"[queue.1]\nalpha = \"1\"\n", "queue.1.alpha: alpha is a share of the shared pool"},
           {"[queue.1]\nalpha = 1\n", "queue.1.alpha: 1 is an integer"},
           {"[queue.1]\nalpha = \"3\"\n", "\"1/128\""},
           {"[buffer]\nshared = \"1MB\"\n[queue.3]\nlossless = true\nalpha = \"1\"\n",
            "a lossless queue drops nothing"},
           {"[buffer]\nshared = \"1MB\"\n" + lossless + "pfc = { alpha = \"1\", xoff = \"50KB\" }\n",
            "alpha makes xoff dynamic, and xoff 50KB is given too"},
           {"[buffer]\nshared = \"100KB\"\n" + lossless + "pfc = { xoff = \"200KB\" }\n",
            "xoff 200KB is more than guaranteed 0B and [buffer] shared 100KB together"},
           {"[buffer]\nheadroom = \"100KB\"\n" + lossless + "pfc = { headroom = \"200KB\" }\n",
            "headroom 200KB is more than the 100KB of [buffer] headroom"},
           {lossless + "guaranteed = \"60KB\"\npfc = { xoff = \"50KB\" }\n",
            "guaranteed 60KB is not below xoff 50KB"},
           {"[buffer]\nshard = \"1MB\"\n", "did you mean 'shared'?"}})
    EXPECT_NE(first_error(text).find(words), std::string::npos) << text << "->\n" << first_error(text);
}

}  // namespace
}  // namespace lossless::pfc
