// SPDX-License-Identifier: Apache-2.0
// The stage headers in user space: the same code that the kernel runs.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "bpf/stages/classify.h"
#include "bpf/stages/ecn.h"
#include "bpf/stages/parse.h"
#include "bpf/stages/wred.h"

namespace {

ll_wred line(std::uint32_t kmin, std::uint32_t kmax, std::uint32_t pmax) {
  ll_wred w{};
  w.kmin = kmin;
  w.kmax = kmax;
  w.pmax = pmax;
  return w;
}

TEST(Wred, Corners) {
  const ll_wred w = line(1000, 2000, UINT32_MAX / 2);
  EXPECT_EQ(ll_wred_probability(&w, 0), 0U);
  EXPECT_EQ(ll_wred_probability(&w, 1000), 0U);
  EXPECT_EQ(ll_wred_probability(&w, 1500), UINT32_MAX / 4);
  EXPECT_EQ(ll_wred_probability(&w, 2000), UINT32_MAX / 2);
  EXPECT_EQ(ll_wred_probability(&w, 2001), LL_PROBABILITY_ONE);
  EXPECT_EQ(ll_wred_probability(&w, UINT32_MAX), LL_PROBABILITY_ONE);
}

RC_GTEST_PROP(Wred, RisesAndNeverPassesPmaxBelowKmax, ()) {
  const auto kmin = *rc::gen::inRange<std::uint32_t>(0, UINT32_MAX - 1);
  const auto kmax = *rc::gen::inRange<std::uint32_t>(kmin + 1, UINT32_MAX);
  const ll_wred w = line(kmin, kmax, *rc::gen::arbitrary<std::uint32_t>());
  const auto a = *rc::gen::inRange<std::uint32_t>(kmin, kmax);
  const auto b = *rc::gen::inRange<std::uint32_t>(a, kmax);
  RC_ASSERT(ll_wred_probability(&w, a) <= ll_wred_probability(&w, b));
  RC_ASSERT(ll_wred_probability(&w, kmax) == w.pmax);
}

TEST(Wred, WhatSelectionMeans) {
  ll_wred lossy{};
  ll_wred lossless{};
  lossless.flags = LL_WRED_LOSSLESS;
  EXPECT_EQ(ll_wred_act(&lossy, LL_ECN_NOT_ECT), LL_WRED_DROP);
  EXPECT_EQ(ll_wred_act(&lossless, LL_ECN_NOT_ECT), LL_WRED_SPARE);
  for (const ll_wred* w : {&lossy, &lossless}) {
    EXPECT_EQ(ll_wred_act(w, LL_ECN_ECT0), LL_WRED_MARK);
    EXPECT_EQ(ll_wred_act(w, LL_ECN_ECT1), LL_WRED_MARK);
    EXPECT_EQ(ll_wred_act(w, LL_ECN_CE), LL_WRED_ALREADY_CE);
  }
}

TEST(Ewma, ConvergesToASteadyDepth) {
  ll_wred w{};
  w.ewma_shift = 4;
  ll_ewma e{};
  std::uint32_t avg = 0;
  for (int i = 0; i < 200; ++i) avg = ll_ewma_update(&e, &w, 100'000, 0);
  EXPECT_NEAR(avg, 100'000, 10);
  EXPECT_EQ(e.last_ns, 0U);
}

TEST(Ewma, FollowsTheFormula) {
  ll_wred w{};
  w.ewma_shift = 3;
  ll_ewma e{};
  double expected = 0;
  for (const std::uint32_t depth : {1000U, 50'000U, 400'000U, 0U, 0U, 12'345U}) {
    expected += (depth - expected) / 8;
    EXPECT_NEAR(ll_ewma_update(&e, &w, depth, 1), expected, 1.0);
  }
}

TEST(Ewma, IdleTimeAgesTheAverage) {
  ll_wred w{};
  w.ewma_shift = 4;
  w.idle_ns = 1000;
  ll_ewma e{};
  for (int i = 0; i < 200; ++i) ll_ewma_update(&e, &w, 100'000, 0);
  // 100 packets could have left: (15/16)^100 is 0.16 %; whole halvings make that up to twice as much.
  const std::uint32_t aged = ll_ewma_update(&e, &w, 0, 100'000);
  EXPECT_LT(aged, 400U);
  EXPECT_GT(aged, 50U);
  EXPECT_EQ(ll_ewma_update(&e, &w, 0, UINT64_MAX), 0U);
}

RC_GTEST_PROP(Ewma, StaysBetweenOldAverageAndSample,
              (std::uint32_t start, std::uint32_t depth, std::uint64_t now)) {
  ll_wred w{};
  w.ewma_shift = static_cast<std::uint8_t>(*rc::gen::inRange(1, 16));
  ll_ewma e{.avg = static_cast<std::uint64_t>(start) << LL_EWMA_SCALE, .last_ns = 0};
  const std::uint32_t avg = ll_ewma_update(&e, &w, depth, now);
  RC_ASSERT(avg >= std::min(start, depth) && avg <= std::max(start, depth));
}

std::uint16_t full_checksum(const std::vector<std::uint8_t>& header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < header.size(); i += 2)
    sum += static_cast<std::uint32_t>(header[i] << 8 | header[i + 1]);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

RC_GTEST_PROP(Ecn, IncrementalChecksumIsTheFullOne, ()) {
  auto header = *rc::gen::container<std::vector<std::uint8_t>>(20, rc::gen::arbitrary<std::uint8_t>());
  header[0] = 0x45;
  header[10] = header[11] = 0;
  const std::uint16_t check = full_checksum(header);
  header[10] = static_cast<std::uint8_t>(check >> 8);
  header[11] = static_cast<std::uint8_t>(check);
  const auto tos = *rc::gen::arbitrary<std::uint8_t>();
  ll_set_tos_v4(header.data(), tos);
  RC_ASSERT(header[1] == tos);
  RC_ASSERT(full_checksum(header) == 0);
}

RC_GTEST_PROP(Ecn, TrafficClassLeavesVersionAndFlowLabel, (std::uint8_t tos)) {
  auto header = *rc::gen::container<std::vector<std::uint8_t>>(4, rc::gen::arbitrary<std::uint8_t>());
  const auto before = header;
  ll_set_tos_v6(header.data(), tos);
  RC_ASSERT((header[0] >> 4) == (before[0] >> 4));
  RC_ASSERT((header[1] & 0x0f) == (before[1] & 0x0f) && header[2] == before[2] && header[3] == before[3]);
  RC_ASSERT(static_cast<std::uint8_t>((header[0] << 4) | (header[1] >> 4)) == tos);
}

// Sanitizers watch that nothing at or past the end is read.
RC_GTEST_PROP(Parse, SurvivesAnyBytes, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(0, 90);
  std::vector<std::uint8_t> bytes =
      *rc::gen::container<std::vector<std::uint8_t>>(size, rc::gen::arbitrary<std::uint8_t>());
  if (size >= 14 && *rc::gen::arbitrary<bool>()) {
    const auto type = *rc::gen::element<std::uint16_t>(0x0800, 0x86dd, 0x8100, 0x88a8);
    bytes[12] = static_cast<std::uint8_t>(type >> 8);
    bytes[13] = static_cast<std::uint8_t>(type);
  }
  bytes.shrink_to_fit();
  ll_headers h{};
  ll_parse(bytes.data(), bytes.data() + bytes.size(), &h);
  RC_ASSERT(h.ip == 0 || h.bad == LL_BAD_NONE);
  RC_ASSERT(h.ip == 0 || h.l3_off + 20U <= bytes.size());
}

bool same(const ll_headers& a, const ll_headers& b) {
  return a.l3_off == b.l3_off && a.ip == b.ip && a.tos == b.tos && a.pcp == b.pcp && a.bad == b.bad;
}

TEST(Parse, WhatIsPlain) {
  std::vector<std::uint8_t> v4(34);
  v4[12] = 0x08;
  v4[14] = 0x45;
  std::vector<std::uint8_t> v6(54);
  v6[12] = 0x86;
  v6[13] = 0xdd;
  v6[14] = 0x60;
  ll_headers h{};
  for (const auto& frame : {v4, v6}) {
    EXPECT_TRUE(ll_parse_plain(frame.data(), frame.data() + frame.size(), &h));
    EXPECT_FALSE(ll_parse_plain(frame.data(), frame.data() + frame.size() - 1, &h));
  }
  v4[14] = 0x46;  // an option
  v4.resize(60);
  EXPECT_FALSE(ll_parse_plain(v4.data(), v4.data() + v4.size(), &h));
}

RC_GTEST_PROP(Parse, ThePlainWayFindsTheSame, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(15, 90);
  std::vector<std::uint8_t> bytes =
      *rc::gen::container<std::vector<std::uint8_t>>(size, rc::gen::arbitrary<std::uint8_t>());
  const auto type = *rc::gen::element<std::uint16_t>(0x0800, 0x86dd, 0x8100, 0x88cc);
  bytes[12] = static_cast<std::uint8_t>(type >> 8);
  bytes[13] = static_cast<std::uint8_t>(type);
  bytes[14] = *rc::gen::element<std::uint8_t>(0x45, 0x46, 0x44, 0x60, 0x6f);
  bytes.shrink_to_fit();
  ll_headers plain{.l3_off = 1, .ip = 2, .tos = 3, .pcp = 4, .bad = 5};
  const ll_headers before = plain;
  ll_headers any{};
  ll_parse(bytes.data(), bytes.data() + bytes.size(), &any);
  const bool is_plain = ll_parse_plain(bytes.data(), bytes.data() + bytes.size(), &plain);
  RC_ASSERT(same(plain, is_plain ? any : before));
}

TEST(Classify, PrioritiesAndIndicesReadBack) {
  for (std::uint32_t tc = 0; tc < LL_TCS; ++tc) {
    EXPECT_EQ(ll_tc_of_priority(LL_PRIORITY(tc)), tc);
    EXPECT_EQ(ll_tc_of_index(LL_TC_INDEX(tc)), tc);
  }
  for (const std::uint32_t foreign : {0U, 6U, 7U, LL_PRIORITY(0) - 1, LL_PRIORITY(7) + 1, UINT32_MAX})
    EXPECT_EQ(ll_tc_of_priority(foreign), LL_TCS);
  EXPECT_EQ(ll_tc_of_index(0), LL_TCS);
}

}  // namespace
