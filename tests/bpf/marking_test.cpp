// SPDX-License-Identifier: Apache-2.0
// The egress program on real queues: which packets it selects, what it writes, what it counts.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "bpf/stages/ecn.h"
#include "daemon/port/tables.h"
#include "tests/bpf/golden.h"
#include "tests/bpf/scratch_io.h"

namespace lossless::test {
namespace {

constexpr unsigned kTc = 3;
constexpr int kNext = -1;
constexpr int kDrop = 2;

ll_wred thresholds(std::uint32_t kmin, std::uint32_t kmax, double pmax, bool lossless = false) {
  QueueConfig queue;
  queue.lossless = lossless;
  queue.ecn = EcnConfig{.kmin_bytes = kmin, .kmax_bytes = kmax, .pmax = pmax, .ewma_shift = 0};
  return port::make_wred_row(queue, 0, 1500);
}

std::uint64_t accounted(const ll_ecn_stats& s) {
  return s.marked + s.dropped + s.already_ce + s.spared + s.failed;
}

class Marking : public testing::Test {
 protected:
  // A queue that holds `bytes`, with every packet beyond it selected.
  void congest(bool lossless) {
    port_.close_gate(kTc);
    const std::uint32_t depth = port_.fill(kTc, 20'000);
    port_.set_wred(kTc, thresholds(1000, depth - 1, 1.0, lossless));
    port_.clear_counters();
  }
  ScratchPort port_;
};

TEST_F(Marking, GoldensInALossyTc) {
  congest(false);
  ll_ecn_stats expected{};
  for (const Row& row : read_golden("ecn.tsv")) {
    SCOPED_TRACE(row[0]);
    const Bytes in = from_hex(row[1]);
    const RunResult out = port_.egress(in, kTc);
    if (row[3] == "not_ect" || row[3] == "not_ip") {
      EXPECT_EQ(out.verdict, kDrop);
      expected.dropped++;
      continue;
    }
    EXPECT_EQ(out.verdict, kNext);
    EXPECT_EQ(to_hex(out.packet), row[2] == "-" ? row[1] : row[2]);
    row[3] == "ce" ? expected.already_ce++ : expected.marked++;
  }
  const ll_ecn_stats got = port_.ecn(kTc);
  EXPECT_GT(expected.marked, 100U);
  EXPECT_EQ(got.marked, expected.marked);
  EXPECT_EQ(got.dropped, expected.dropped);
  EXPECT_EQ(got.already_ce, expected.already_ce);
  EXPECT_EQ(got.failed + got.spared + got.no_depth, 0U);
  EXPECT_EQ(got.selected, accounted(got));
}

TEST_F(Marking, LosslessTcNeverDropsNotEct) {
  congest(true);
  std::uint64_t spared = 0;
  for (const Row& row : read_golden("ecn.tsv")) {
    SCOPED_TRACE(row[0]);
    const RunResult out = port_.egress(from_hex(row[1]), kTc);
    EXPECT_EQ(out.verdict, kNext);
    EXPECT_EQ(to_hex(out.packet), row[2] == "-" ? row[1] : row[2]);
    if (row[3] == "not_ect" || row[3] == "not_ip") spared++;
  }
  EXPECT_GT(spared, 10U);
  EXPECT_EQ(port_.ecn(kTc).spared, spared);
  EXPECT_EQ(port_.ecn(kTc).dropped, 0U);
}

TEST_F(Marking, AnEmptyQueueMarksNothing) {
  port_.set_wred(kTc, thresholds(0, 1, 1.0));
  for (const Row& row : read_golden("ecn.tsv")) {
    const RunResult out = port_.egress(from_hex(row[1]), kTc);
    EXPECT_EQ(out.verdict, kNext) << row[0];
    EXPECT_EQ(to_hex(out.packet), row[1]) << row[0];
  }
  EXPECT_EQ(port_.ecn(kTc).selected, 0U);
}

TEST_F(Marking, OnlyTheQueueOfThePacketsOwnTcCounts) {
  congest(false);
  port_.set_wred(kTc + 1, thresholds(0, 1, 1.0));
  const Bytes in = from_hex(read_golden("ecn.tsv")[2][1]);  // ECT(0)
  EXPECT_EQ(to_hex(port_.egress(in, kTc + 1).packet), to_hex(in));
  EXPECT_EQ(port_.ecn(kTc + 1).seen[LL_ECN_ECT0], 1U);
  EXPECT_NE(to_hex(port_.egress(in, kTc).packet), to_hex(in));
}

TEST_F(Marking, SegmentsOfAGsoPacketCountOneEach) {
  congest(false);
  Bytes in = from_hex(read_golden("ecn.tsv")[2][1]);
  in.resize(1500);
  const auto out = run_program(port_.datapath().program(Hook::Egress), in,
                               {.ifindex = port_.ifindex(), .priority = LL_PRIORITY(kTc), .gso_segs = 7});
  ASSERT_TRUE(out);
  EXPECT_EQ(port_.ecn(kTc).marked, 7U);
  EXPECT_EQ(port_.ecn(kTc).seen[LL_ECN_ECT0], 7U);
}

TEST_F(Marking, ThresholdsChangeAtRunTime) {
  congest(false);
  const Bytes in = from_hex(read_golden("ecn.tsv")[2][1]);
  EXPECT_NE(to_hex(port_.egress(in, kTc).packet), to_hex(in));
  port_.set_wred(kTc, thresholds(3'000'000, 3'500'000, 1.0));
  EXPECT_EQ(to_hex(port_.egress(in, kTc).packet), to_hex(in));
  port_.set_wred(kTc, ll_wred{});
  EXPECT_EQ(to_hex(port_.egress(in, kTc).packet), to_hex(in));
}

TEST_F(Marking, AnAveragedDepthLagsBehindTheQueue) {
  port_.close_gate(kTc);
  const std::uint32_t depth = port_.fill(kTc, 100'000);
  ll_wred row = thresholds(depth / 2 - 1, depth / 2, 1.0);
  row.flags |= LL_WRED_EWMA;
  row.ewma_shift = 4;
  port_.set_wred(kTc, row);
  const Bytes in = from_hex(read_golden("ecn.tsv")[2][1]);
  // avg(n) = depth · (1 − (15/16)^n) passes depth / 2 at n = 10.7: the 11th packet is the first marked.
  unsigned first = 0;
  for (unsigned n = 1; n <= 20 && !first; ++n)
    if (to_hex(port_.egress(in, kTc).packet) != to_hex(in)) first = n;
  EXPECT_EQ(first, 11U);
}

void write_pcap(const std::string& path, const std::vector<Bytes>& packets) {
  std::ofstream file(path, std::ios::binary);
  auto put = [&](std::uint32_t v) { file.write(reinterpret_cast<const char*>(&v), 4); };
  for (const std::uint32_t v : {0xa1b2c3d4U, 0x00040002U, 0U, 0U, 65535U, 1U}) put(v);
  for (const Bytes& packet : packets) {
    for (const std::size_t v : {std::size_t{0}, std::size_t{0}, packet.size(), packet.size()})
      put(static_cast<std::uint32_t>(v));
    file.write(reinterpret_cast<const char*>(packet.data()), static_cast<std::streamsize>(packet.size()));
  }
}

// All packets of the goldens that can be marked: IPv4 and IPv6, tagged and not, RoCEv2 and other.
std::vector<Bytes> markable() {
  std::vector<Bytes> packets;
  for (const Row& row : read_golden("ecn.tsv"))
    if (row[3] == "ect0" || row[3] == "ect1") packets.push_back(from_hex(row[1]));
  return packets;
}

// Share of `count` packets that leave with CE, the marked ones appended to `out`.
double marked_share(ScratchPort& port, const std::vector<Bytes>& in, unsigned count,
                    std::vector<Bytes>& out) {
  unsigned marked = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Bytes& packet = in[i % in.size()];
    RunResult run = port.egress(packet, kTc);
    if (run.packet == packet) continue;
    marked++;
    out.push_back(std::move(run.packet));
  }
  return static_cast<double>(marked) / count;
}

TEST_F(Marking, TheShareFollowsTheLine) {
  constexpr unsigned kPackets = 20'000;
  constexpr double kPmax = 0.8;
  port_.close_gate(kTc);
  const std::vector<Bytes> in = markable();
  ASSERT_GT(in.size(), 100U);
  const std::uint32_t kmin = 100'000;
  const std::uint32_t kmax = 400'000;
  // Lossless, so that the Not-ECT frames that fill the queue get in.
  port_.set_wred(kTc, thresholds(kmin, kmax, kPmax, true));
  std::vector<Bytes> marked;

  port_.fill(kTc, kmin - 10'000);
  EXPECT_EQ(marked_share(port_, in, kPackets, marked), 0.0) << "below Kmin";
  for (const std::uint32_t target : {130'000U, 180'000U, 250'000U, 310'000U, 380'000U}) {
    const std::uint32_t depth = port_.fill(kTc, target);
    const double wanted = kPmax * (depth - kmin) / (kmax - kmin);
    const double got = marked_share(port_, in, kPackets, marked);
    std::printf("  depth %u bytes: marked %.2f %%, on the line %.2f %%\n", depth, 100 * got, 100 * wanted);
    EXPECT_NEAR(got, wanted, 0.02) << "at " << depth << " bytes";
  }
  port_.fill(kTc, kmax + 1000);
  EXPECT_EQ(marked_share(port_, in, kPackets, marked), 1.0) << "above Kmax";
  if (const char* path = std::getenv("LL_MARKED_PCAP")) write_pcap(path, marked);
}

TEST_F(Marking, MalformedPacketsPassUntouched) {
  congest(true);
  for (const Row& row : read_golden("malformed.tsv")) {
    SCOPED_TRACE(row[0]);
    const Bytes in = from_hex(row[1]);
    const auto out = run_program(port_.datapath().program(Hook::Egress), in,
                                 {.ifindex = port_.ifindex(), .priority = LL_PRIORITY(kTc)});
    if (!out) continue;
    EXPECT_EQ(out->verdict, kNext);
    if (row[2] != "none") {
      EXPECT_EQ(to_hex(out->packet), row[1]);
    }
  }
  EXPECT_EQ(port_.ecn(kTc).failed, 0U);
}

}  // namespace
}  // namespace lossless::test
