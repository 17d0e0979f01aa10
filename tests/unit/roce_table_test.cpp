// SPDX-License-Identifier: Apache-2.0
// Where a flow is in the flow table: hash, tags, and who makes room.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <vector>

#include "bpf/stages/roce_table.h"

namespace lossless {
namespace {

constexpr std::uint32_t kAll = (1U << LL_ROCE_WAYS) - 1;

ll_roce_set set_of(const std::vector<std::uint16_t>& tags) {
  ll_roce_set set{};
  for (std::uint32_t way = 0; way < LL_ROCE_WAYS && way < tags.size(); ++way)
    ll_roce_set_tag(&set, way, tags[way]);
  return set;
}

RC_GTEST_PROP(RoceTable, TagsAreKept, (const std::vector<std::uint16_t>& tags)) {
  const ll_roce_set set = set_of(tags);
  for (std::uint32_t way = 0; way < LL_ROCE_WAYS; ++way)
    RC_ASSERT(ll_roce_tag(&set, way) == (way < tags.size() ? tags[way] : 0));
}

RC_GTEST_PROP(RoceTable, NoEqualTagIsOverlooked,
              (std::uint64_t word, std::uint16_t tag, std::uint8_t lanes)) {
  for (unsigned lane = 0; lane < 4; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    word &= ~(0xffffULL << lane * 16);
    word |= std::uint64_t{tag} << lane * 16;
  }
  const std::uint64_t found = ll_roce_lanes(word, tag);
  RC_ASSERT((found & ~(LL_ROCE_LANES << 15)) == 0U);
  for (unsigned lane = 0; lane < 4; ++lane)
    if ((word >> lane * 16 & 0xffff) == tag) RC_ASSERT(found >> lane * 16 & 0x8000);
  if (found) RC_ASSERT((word >> std::countr_zero(found) / 16 * 16 & 0xffff) == tag);
}

RC_GTEST_PROP(RoceTable, ANewFlowGetsAFreeRowOrOneThatIsSilent,
              (const std::vector<std::uint16_t>& tags, std::uint32_t seen, std::uint32_t hand)) {
  ll_roce_set set = set_of(tags);
  set.seen = seen & kAll;
  set.hand = hand;
  const std::uint32_t home = hand >> 8 & 15;
  std::uint32_t passed = 0;
  const std::uint32_t way = ll_roce_choose(&set, home, &passed);
  RC_ASSERT(way < LL_ROCE_WAYS);
  RC_ASSERT((passed & ~set.seen) == 0U);
  bool any_free = false;
  for (std::uint32_t i = 0; i < LL_ROCE_WAYS; ++i) any_free = any_free || !ll_roce_tag(&set, i);
  if (any_free) {
    RC_ASSERT(!ll_roce_tag(&set, way));
    RC_ASSERT(passed == 0U);
    if (!ll_roce_tag(&set, home)) RC_ASSERT(way == home);
  } else {
    RC_ASSERT(!(set.seen >> way & 1) || (set.seen == kAll && passed == kAll));
  }
}

TEST(RoceTable, TheHandGoesRoundBeforeARowIsTakenAgain) {
  ll_roce_set set = set_of(std::vector<std::uint16_t>(LL_ROCE_WAYS, 7));
  std::uint32_t taken = 0;
  for (std::uint32_t i = 0; i < LL_ROCE_WAYS; ++i) {
    std::uint32_t passed = 0;
    const std::uint32_t way = ll_roce_choose(&set, 0, &passed);
    EXPECT_EQ(taken >> way & 1, 0U) << way;
    taken |= 1U << way;
    set.hand = way + 1;
  }
  EXPECT_EQ(taken, kAll);
}

// Addresses and QPs as they are given out, one after the other. A good hash fills sets as chance does: of
// flows as many as the table is made for, 1 in 10,000 finds its set full.
TEST(RoceTable, FlowsInSequenceAreSpread) {
  constexpr std::uint32_t kFlows = 200'000;
  const std::uint32_t sets = LL_ROCE_SETS_FOR(kFlows);
  for (const std::uint64_t seed : {0ULL, 1ULL, 0xdeadbeefcafef00dULL}) {
    std::vector<std::uint32_t> used(sets);
    std::vector<std::uint32_t> homes(LL_ROCE_WAYS);
    std::uint32_t crowded = 0;
    for (std::uint32_t i = 0; i < kFlows; ++i) {
      ll_roce_key key{};
      key.src[2] = key.dst[2] = LL_V4_MAPPED;
      key.src[3] = __builtin_bswap32(0x0a000000U + i % 100);
      key.dst[3] = __builtin_bswap32(0x0a000100U + i / 100 % 20);
      key.qp = 0x100 + i / 2000;
      const std::uint64_t hash = ll_roce_hash(&key, seed);
      const std::uint32_t set = ll_roce_set_of(hash, sets);
      ASSERT_LT(set, sets);
      ASSERT_NE(ll_roce_tag_of(hash), 0U);
      ASSERT_LT(ll_roce_home_of(hash), LL_ROCE_WAYS);
      ++homes[ll_roce_home_of(hash)];
      crowded += ++used[set] > LL_ROCE_WAYS ? 1 : 0;
    }
    EXPECT_LT(crowded, kFlows / 5000) << seed;
    constexpr double kEach = double{kFlows} / LL_ROCE_WAYS;
    for (const std::uint32_t flows : homes) EXPECT_NEAR(flows, kEach, kEach / 10) << seed;
  }
}

}  // namespace
}  // namespace lossless
