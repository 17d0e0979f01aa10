// SPDX-License-Identifier: Apache-2.0
// RoCEv2 flows without a kernel: PSNs, pairing rules, filters and the first N.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "bpf/stages/roce_pair.h"
#include "daemon/roce/flow_query.h"

namespace lossless {
namespace {

ll_roce packet(std::uint8_t opcode, std::uint32_t psn) {
  ll_roce r{};
  r.opcode = opcode;
  r.psn = psn;
  return r;
}

void follow(ll_roce_flow& f, std::uint8_t opcode, std::uint32_t psn) {
  const ll_roce r = packet(opcode, psn);
  ll_roce_follow_psn(&f, &r);
}

TEST(RoceFlow, PsnWrapsGapsAndRepeats) {
  ll_roce_flow f{};
  for (const std::uint32_t psn : {0xffffffU, 0U, 1U}) follow(f, LL_OP_WRITE_MIDDLE, psn);
  EXPECT_EQ(f.gaps + f.retransmitted, 0U);
  follow(f, LL_OP_WRITE_MIDDLE, 5);
  EXPECT_EQ(f.gaps, 1U);
  for (const std::uint32_t psn : {2U, 3U, 4U, 5U, 6U}) follow(f, LL_OP_WRITE_MIDDLE, psn);
  EXPECT_EQ(f.gaps, 1U);
  EXPECT_EQ(f.retransmitted, 4U);
}

TEST(RoceFlow, AQpThatBeganAnewIsNoGap) {
  ll_roce_flow f{};
  follow(f, LL_OP_SEND_ONLY, 100);
  follow(f, LL_OP_SEND_ONLY, 0x800000);
  follow(f, LL_OP_SEND_ONLY, 100);
  EXPECT_EQ(f.gaps + f.retransmitted, 0U);
}

TEST(RoceFlow, ReadsTakePsnsAndAnswersHaveTheirOwn) {
  ll_roce_flow f{};
  follow(f, LL_OP_READ_REQUEST, 10);
  follow(f, LL_OP_WRITE_ONLY, 74);  // the answer to the READ has 64 packets
  follow(f, LL_OP_ACK, 9999);
  follow(f, LL_OP_READ_FIRST, 500);
  follow(f, LL_OP_READ_MIDDLE, 501);
  follow(f, LL_OP_READ_LAST, 502);
  EXPECT_EQ(f.gaps + f.retransmitted, 0U);
  follow(f, LL_OP_READ_MIDDLE, 510);
  follow(f, LL_OP_WRITE_ONLY, 76);
  EXPECT_EQ(f.gaps, 2U);
}

TEST(RoceFlow, DatagramsHaveNoSequence) {
  ll_roce_flow f{};
  for (const std::uint32_t psn : {9U, 3U, 7U}) follow(f, LL_OP_UD_SEND_ONLY, psn);
  EXPECT_EQ(f.gaps + f.retransmitted, 0U);
}

TEST(RoceFlow, RateOfTheLastTenth) {
  ll_roce_flow f{};
  f.bytes = 100;
  EXPECT_EQ(ll_roce_tick(&f, 1'000'000'000), 1);
  f.bytes += 1'000'000;
  EXPECT_EQ(ll_roce_tick(&f, 1'050'000'000), 0);
  EXPECT_EQ(ll_roce_tick(&f, 1'100'000'000), 1);
  EXPECT_EQ(f.rate_bps, 80'000'000U);
  EXPECT_EQ(roce::rate_of(f, 1'200'000'000), 80'000'000U);
  EXPECT_EQ(roce::rate_of(f, 3'000'000'000), 0U) << "silent";
  EXPECT_EQ(ll_roce_tick(&f, 9'000'000'000), 1);
  EXPECT_EQ(f.rate_bps, 0U) << "a silence is no rate";
}

TEST(RocePair, NotesOfTwoProveNothing) {
  const ll_roce_note one = ll_roce_renote(nullptr, 5, 100);
  EXPECT_EQ(ll_roce_noted_qp(&one, 200), 5U);
  EXPECT_EQ(ll_roce_noted_qp(&one, 100 + LL_ROCE_NOTE_NS), 0U);
  const ll_roce_note two = ll_roce_renote(&one, 6, 200);
  EXPECT_EQ(ll_roce_noted_qp(&two, 200), 0U);
  const ll_roce_note late = ll_roce_renote(&one, 6, 100 + LL_ROCE_NOTE_NS);
  EXPECT_EQ(ll_roce_noted_qp(&late, 100 + LL_ROCE_NOTE_NS), 6U);
}

TEST(RocePair, EvidenceHasToBeInARow) {
  ll_roce_flow f{};
  const std::uint16_t port = ll_roce_sport(0x10, 0x20);
  EXPECT_EQ(ll_roce_gather(&f, 0x10, 0x20, port, 1), 0);
  EXPECT_EQ(ll_roce_gather(&f, 0x10, 0x21, ll_roce_sport(0x10, 0x21), 1), 0);
  EXPECT_EQ(ll_roce_gather(&f, 0x10, 0x20, port, 1), 0);
  EXPECT_EQ(ll_roce_gather(&f, 0x10, 0x20, port, 1), 1);
  EXPECT_EQ(f.checked, 1);
}

TEST(RocePair, WithoutAFittingPortItTakesMore) {
  ll_roce_flow f{};
  unsigned needed = 1;
  while (!ll_roce_gather(&f, 0x10, 0x20, 1234, 1)) ++needed;
  EXPECT_EQ(needed, LL_PAIR_PROOFS_GUESSED);
  EXPECT_EQ(f.checked, 0);
}

TEST(RocePair, ProofsAreAnswersWithTheirRequestsPsn) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const ll_roce r = packet(static_cast<std::uint8_t>(opcode), 0);
    const bool proof = opcode == LL_OP_ACK || opcode == LL_OP_ATOMIC_ACK || opcode == LL_OP_READ_FIRST ||
                       opcode == LL_OP_READ_ONLY;
    EXPECT_EQ(ll_roce_is_proof(&r, LL_ACK_NO_CREDIT) != 0, proof) << opcode;
  }
  const ll_roce nak = packet(LL_OP_ACK, 0);
  EXPECT_EQ(ll_roce_is_proof(&nak, LL_NAK_SEQUENCE), 0);
}

TEST(RocePair, DoubtsEndAPairAfterSomeInARow) {
  ll_roce_flow answers{};
  ll_roce_flow requests{};
  requests.state = LL_ROCE_HAS_PSN;
  requests.next_psn = 1000;
  for (unsigned i = 0; i + 1 < LL_PAIR_MISSES; ++i) EXPECT_EQ(ll_roce_doubts(&answers, &requests, 1001), 0);
  EXPECT_EQ(ll_roce_doubts(&answers, &requests, 999), 0) << "one that fits";
  for (unsigned i = 0; i + 1 < LL_PAIR_MISSES; ++i)
    EXPECT_EQ(ll_roce_doubts(&answers, &requests, 0x800000), 0);
  EXPECT_EQ(ll_roce_doubts(&answers, &requests, 0x800000), 1);
}

roce::Flow flow(std::uint32_t qp, std::uint64_t bytes) {
  roce::Flow f{};
  f.key.src[2] = f.key.dst[2] = LL_V4_MAPPED;
  const std::uint8_t from[4] = {10, 0, 0, 1};
  const std::uint8_t to[4] = {10, 0, 0, 2};
  std::copy_n(from, 4, reinterpret_cast<std::uint8_t*>(&f.key.src[3]));
  std::copy_n(to, 4, reinterpret_cast<std::uint8_t*>(&f.key.dst[3]));
  f.key.qp = qp;
  f.bytes = bytes;
  f.in_ifindex = 3;
  return f;
}

bool matches(const roce::FlowFilter& filter, const roce::Flow& flow) {
  const ll_roce_which which = filter.which();
  return ll_roce_matches(&which, &flow) != 0;
}

TEST(FlowQuery, Filters) {
  roce::Flow f = flow(7, 1);
  EXPECT_EQ(to_string(roce::source_of(f.key)), "10.0.0.1");
  EXPECT_TRUE(matches(roce::FlowFilter{}, f));
  EXPECT_TRUE(matches(roce::FlowFilter{.source = parse_ip("10.0.0.1")}, f));
  EXPECT_FALSE(matches(roce::FlowFilter{.source = parse_ip("10.0.0.2")}, f));
  EXPECT_FALSE(matches(roce::FlowFilter{.destination = parse_ip("::1")}, f));
  EXPECT_TRUE(matches(roce::FlowFilter{.qp = 7}, f));
  EXPECT_FALSE(matches(roce::FlowFilter{.qp = 0}, f)) << "an unknown sender is not QP 0";
  f.how = LL_PAIR_CM;
  f.peer_qpn = 9;
  EXPECT_TRUE(matches(roce::FlowFilter{.qp = 9}, f));
  EXPECT_TRUE(matches(roce::FlowFilter{.ifindex = 3}, f));
  EXPECT_FALSE(matches(roce::FlowFilter{.ifindex = 4}, f));
}

RC_GTEST_PROP(FlowQuery, TopIsWhatASortGives, (const std::vector<std::uint16_t>& sizes, std::uint8_t count)) {
  roce::TopFlows top(roce::FlowOrder::Bytes, count, 0);
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    top.add(flow(static_cast<std::uint32_t>(i), sizes[i]));
    all.push_back(sizes[i]);
  }
  std::ranges::sort(all, std::ranges::greater{});
  all.resize(std::min<std::size_t>(all.size(), count));
  std::vector<std::uint64_t> got;
  for (const roce::Flow& f : top.take()) got.push_back(f.bytes);
  RC_ASSERT(got == all);
}

}  // namespace
}  // namespace lossless
