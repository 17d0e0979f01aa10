// SPDX-License-Identifier: Apache-2.0
// Hook flows in the egress program: found by port groups, rewritten, moved, counted, listed.
#include <gtest/gtest.h>

#include "bpf/stages/hook_flow.h"
#include "daemon/port/tables.h"
#include "tests/bpf/golden.h"
#include "tests/bpf/scratch_io.h"

namespace lossless::test {
namespace {

constexpr unsigned kTc = 3;
constexpr unsigned kNewTc = 4;
constexpr std::uint32_t kOtherPort = 4711;  // an interface index: the program looks it up and nothing more
constexpr std::uint8_t kGroup = 7;
constexpr int kNext = -1;

class Hooks : public testing::Test {
 protected:
  Hooks() { set_groups(kGroup, kGroup); }

  // Groups of the port that packets come in by, and of the one they leave by.
  void set_groups(std::uint8_t in, std::uint8_t out) {
    ll_port row = default_port_row();
    row.group = out;
    port_.set_port(row);
    row.slot = 1;
    row.group = in;
    ASSERT_TRUE(maps().ports.set(kOtherPort, row));
  }
  void set_rule(unsigned dscp, unsigned to, unsigned pcp) {
    ll_hook row{};
    row.by_dscp[dscp] = {
        .on = 1, .dscp = static_cast<__u8>(to), .dot1p = static_cast<__u8>(pcp), .tc = kNewTc};
    ASSERT_TRUE(maps().hooks.set(kGroup, row));
  }
  RunResult pass(const Bytes& packet, std::uint32_t from = kOtherPort, std::uint32_t segments = 0) {
    return run_program(port_.datapath().program(Hook::Egress), packet,
                       {.ifindex = port_.ifindex(),
                        .ingress_ifindex = from,
                        .priority = LL_PRIORITY(kTc),
                        .gso_segs = segments})
        .value();
  }
  ll_hook_stats stats() { return maps().hook_stats.sum(0); }
  const Maps& maps() { return port_.datapath().maps(); }

  ScratchPort port_;
};

Bytes plain() { return from_hex(read_golden("hook.tsv")[0][4]); }  // IPv4, DSCP 26

TEST_F(Hooks, Goldens) {
  std::uint64_t moved = 0;
  for (const Row& row : read_golden("hook.tsv")) {
    SCOPED_TRACE(row[0]);
    set_rule(static_cast<unsigned>(std::stoul(row[1])), static_cast<unsigned>(std::stoul(row[2])),
             static_cast<unsigned>(std::stoul(row[3])));
    const RunResult out = pass(from_hex(row[4]));
    EXPECT_EQ(out.verdict, kNext);
    EXPECT_EQ(to_hex(out.packet), row[5]);
    EXPECT_EQ(out.priority, LL_PRIORITY(kNewTc));
    moved++;
  }
  EXPECT_GT(moved, 100U);
  EXPECT_EQ(stats().moved, moved);
  EXPECT_EQ(stats().failed + stats().other, 0U);
}

TEST_F(Hooks, OnlyBetweenPortsOfOneGroup) {
  set_rule(26, 34, 4);
  struct Groups {
    std::uint8_t in, out;
  };
  for (const auto& [in, out] :
       {Groups{0, 0}, Groups{kGroup, 0}, Groups{0, kGroup}, Groups{kGroup - 1, kGroup}}) {
    set_groups(in, out);
    const RunResult run = pass(plain());
    EXPECT_EQ(run.packet, plain());
    EXPECT_EQ(run.priority, LL_PRIORITY(kTc));
  }
  set_groups(kGroup, kGroup);
  EXPECT_EQ(pass(plain(), 0).packet, plain()) << "sent by this machine itself";
  EXPECT_EQ(pass(plain(), kOtherPort + 1).packet, plain()) << "came in by an interface that is no port";
  EXPECT_EQ(stats().moved + stats().other, 0U);
  EXPECT_NE(pass(plain(), port_.ifindex()).packet, plain()) << "out by the port it came in by";
}

TEST_F(Hooks, WithoutARuleTheyAreListedAsTheyAre) {
  set_rule(0, 1, 0);
  const RunResult run = pass(plain());
  EXPECT_EQ(run.packet, plain());
  EXPECT_EQ(run.priority, LL_PRIORITY(kTc));
  EXPECT_EQ(stats().other, 1U);
  const auto keys = maps().hook_flows.keys();
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].dscp, 26);
  EXPECT_EQ(maps().hook_flows.get(keys[0])->moved, 0);
}

TEST_F(Hooks, EachFlowIsCounted) {
  set_rule(26, 34, 4);
  const Bytes packet = plain();
  pass(packet);
  pass(packet, kOtherPort, 5);
  const auto keys = maps().hook_flows.keys();
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].in_ifindex, kOtherPort);
  EXPECT_EQ(keys[0].out_ifindex, port_.ifindex());
  EXPECT_EQ(keys[0].ip, 4);
  EXPECT_EQ(std::vector<int>(keys[0].src, keys[0].src + 4), (std::vector<int>{192, 0, 2, 1}));
  const auto flow = maps().hook_flows.get(keys[0]);
  ASSERT_TRUE(flow);
  EXPECT_EQ(flow->packets, 6U);
  EXPECT_GE(flow->bytes, 2 * packet.size());
  EXPECT_EQ(flow->moved, 1);
  EXPECT_EQ(flow->dscp, 34);
  EXPECT_EQ(flow->tc, kNewTc);
  EXPECT_GE(flow->last_ns, flow->first_ns);
  EXPECT_EQ(stats().moved, 6U);
}

TEST_F(Hooks, MarkedByTheNewQueueAndHeldByTheOldTc) {
  set_rule(26, 34, 4);
  QueueConfig queue;
  queue.lossless = true;
  queue.ecn = EcnConfig{.kmin_bytes = 0, .kmax_bytes = 1, .pmax = 1.0, .ewma_shift = 0};
  port_.set_wred(kNewTc, port::make_wred_row(queue, 0, 1500));
  port_.close_gate(kNewTc);
  port_.fill(kNewTc, 20'000);
  const auto before = maps().mmu.get(LL_ROW(1, kTc))->bytes;
  const Bytes ect0 = from_hex(read_golden("hook.tsv")[4][4]);
  ASSERT_EQ(ect0[15], 26 << 2 | 2) << "the golden's order changed";
  const RunResult run = pass(ect0);
  EXPECT_EQ(run.packet[15], 34 << 2 | 3) << "new DSCP and CE";
  EXPECT_EQ(port_.ecn(kNewTc).marked, 1U);
  EXPECT_GT(maps().mmu.get(LL_ROW(1, kTc))->bytes, before);
  EXPECT_EQ(maps().mmu.get(LL_ROW(1, kNewTc))->bytes, 0U);
}

TEST_F(Hooks, NotIpIsCountedAndLeftAlone) {
  set_rule(0, 1, 5);
  Bytes arp(60, 0);
  arp[0] = arp[6] = 2;
  arp[12] = 8;
  arp[13] = 6;
  EXPECT_EQ(pass(arp).packet, arp);
  EXPECT_EQ(stats().other, 1U);
  EXPECT_TRUE(maps().hook_flows.keys().empty());
}

}  // namespace
}  // namespace lossless::test
