// SPDX-License-Identifier: Apache-2.0
// RoCEv2 flows in the real programs: counted, followed, and paired with the sender's QP.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/bpf/flow_table.h"
#include "tests/bpf/roce_frames.h"

namespace lossless::test {
namespace {

constexpr unsigned kTc = 3;

class RoceFlows : public testing::Test {
 protected:
  RoceFlows() {
    ll_roce_config on{};
    on.on = 1;
    EXPECT_TRUE(maps().roce_config.set(0, on));
    port_.clear_counters();
  }
  const Maps& maps() { return port_.datapath().maps(); }
  ll_roce_stats stats() { return maps().roce_stats.sum(0); }
  void in(const Bytes& frame) { EXPECT_EQ(port_.ingress(frame).verdict, -1); }
  void out(const Bytes& frame) { EXPECT_EQ(port_.egress(frame, kTc).verdict, -1); }
  ll_roce_flow flow(const Address& from, const Address& to, std::uint32_t qp) {
    const auto found = find_flow(maps(), key_of(from, to, qp));
    EXPECT_TRUE(found) << "no flow to QP " << qp;
    return found.value_or(ll_roce_flow{});
  }
  ll_roce_flow data(const Connection& c) { return flow(c.a, c.b, c.qp_b); }
  ll_roce_flow answers(const Connection& c) { return flow(c.b, c.a, c.qp_a); }
  // Writes and their ACKs.
  void exchange(const Connection& c, std::uint32_t psn, unsigned messages, std::uint16_t answer_port = 0) {
    for (unsigned i = 0; i < messages; ++i) {
      in(from_a(c, {.opcode = LL_OP_WRITE_ONLY, .psn = psn + i, .ack_request = true}));
      Packet a = ack(psn + i);
      a.sport = answer_port;
      in(from_b(c, a));
    }
  }
  void connect(const Connection& c, std::uint32_t id_a, std::uint32_t id_b) {
    in(cm(c.a, c.b, cm_message(LL_CM_REQ, id_a, 0, c.qp_a)));
    in(cm(c.b, c.a, cm_message(LL_CM_REP, id_b, id_a, c.qp_b)));
  }
  ScratchPort port_;
};

TEST_F(RoceFlows, CountsAndFollows) {
  for (const bool v6 : {false, true}) {
    SCOPED_TRACE(v6);
    Connection c{.a = host(1, v6), .b = host(2, v6)};
    for (const std::uint32_t psn : {0xfffffeU, 0xffffffU, 0U, 1U}) in(from_a(c, {.psn = psn}));
    ll_roce_flow f = data(c);
    EXPECT_EQ(f.packets, 4U);
    EXPECT_EQ(f.bytes, 4U * from_a(c, {}).size());
    EXPECT_EQ(f.gaps + f.retransmitted + f.ce, 0U);
    EXPECT_EQ(f.next_psn, 2U);
    EXPECT_EQ(f.in_ifindex, port_.ifindex());
    EXPECT_EQ(f.tc, kTc);
    EXPECT_EQ(f.sport, c.sport());
    EXPECT_EQ(f.how, LL_PAIR_NONE);
    EXPECT_EQ(f.eth_src[5], 1);
    EXPECT_EQ(f.eth_dst[5], 2);
    in(from_a(c, {.psn = 4, .tos = 26 << 2 | 3}));  // 2 and 3 are missing
    in(from_a(c, {.psn = 2}));
    in(from_a(c, {.psn = 3}));
    f = data(c);
    EXPECT_EQ(f.gaps, 1U);
    EXPECT_EQ(f.retransmitted, 2U);
    EXPECT_EQ(f.ce, 1U);
    EXPECT_EQ(f.last_psn, 3U);
    EXPECT_LE(f.first_ns, f.last_ns);
  }
  EXPECT_EQ(stats().packets, 14U);
  EXPECT_EQ(stats().flows, 2U);
}

TEST_F(RoceFlows, OffMeansNothingIsKept) {
  EXPECT_TRUE(maps().roce_config.set(0, {}));
  in(from_a({}, {}));
  EXPECT_TRUE(all_flows(maps()).empty());
}

TEST_F(RoceFlows, BadInputIsCountedByKindAndForwarded) {
  const Bytes good = from_a({}, {.opcode = LL_OP_WRITE_ONLY, .payload = 64});
  for (std::size_t n = 14; n < good.size(); ++n) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
    const auto run = run_program(port_.datapath().program(Hook::Ingress), cut, {.ifindex = port_.ifindex()});
    EXPECT_EQ(run ? run->verdict : -1, -1) << n;
  }
  EXPECT_TRUE(all_flows(maps()).empty());
  const ll_roce_stats cut = stats();
  EXPECT_GT(cut.bad[LL_ROCE_IP_LENGTH], 0U);
  EXPECT_EQ(cut.packets, 0U);
  struct Bad {
    ll_roce_kind kind;
    std::size_t at;
    std::uint8_t value;
  };
  for (const auto& [kind, at, value] : {Bad{LL_ROCE_OPCODE, 42, 0xe3}, Bad{LL_ROCE_BTH_VERSION, 43, 1},
                                        Bad{LL_ROCE_UDP_LENGTH, 39, 9}, Bad{LL_ROCE_IP_CHECKSUM, 24, 0}}) {
    Bytes frame = good;
    frame[at] = value;
    in(frame);
    EXPECT_EQ(stats().bad[kind], cut.bad[kind] + 1) << kind;
  }
  // Not meant for the port: a fragment without ports, TCP, another port.
  const ll_roce_stats before = stats();
  for (const auto& [kind, at, value] :
       {Bad{LL_ROCE_OTHER, 21, 1}, Bad{LL_ROCE_OTHER, 23, 6}, Bad{LL_ROCE_OTHER, 37, 1}}) {
    Bytes frame = good;
    frame[at] = value;
    in(frame);
  }
  for (unsigned kind = 0; kind < LL_ROCE_KINDS; ++kind)
    EXPECT_EQ(stats().bad[kind], before.bad[kind]) << kind;
}

TEST_F(RoceFlows, CmPairsBothDirections) {
  Connection c;
  in(from_a(c, {}));
  connect(c, 7, 8);
  in(from_b(c, ack(0)));
  EXPECT_EQ(data(c).how, LL_PAIR_CM) << "a flow that was there before";
  EXPECT_EQ(data(c).peer_qpn, c.qp_a);
  EXPECT_EQ(answers(c).how, LL_PAIR_CM) << "a flow that came after";
  EXPECT_EQ(answers(c).peer_qpn, c.qp_b);
  EXPECT_EQ(stats().paired_cm, 1U);
}

TEST_F(RoceFlows, CmIsJoinedByItsIds) {
  Connection c;
  in(cm(c.a, c.b, cm_message(LL_CM_REQ, 7, 0, c.qp_a)));
  in(cm(c.b, c.a, cm_message(LL_CM_REP, 9, 8, c.qp_b)));      // another connection's
  in(cm(host(3), c.a, cm_message(LL_CM_REP, 9, 7, c.qp_b)));  // another host's
  in(cm(c.a, c.b, cm_message(LL_CM_REQ, 7, 0, c.qp_a + 1)));  // the ID is taken
  in(cm(c.a, c.b, cm_message(0x7777, 7, 0, 5)));              // no such attribute
  EXPECT_EQ(stats().paired_cm, 0U);
  in(cm(c.b, c.a, cm_message(LL_CM_REP, 9, 7, c.qp_b)));
  in(from_a(c, {}));
  EXPECT_EQ(data(c).peer_qpn, c.qp_a);
}

TEST_F(RoceFlows, DreqEndsItWithBothIdsAlone) {
  Connection c;
  in(from_a(c, {}));
  connect(c, 7, 8);
  in(cm(c.a, c.b, cm_message(LL_CM_DREQ, 7, 9, c.qp_b)));
  in(cm(c.a, c.b, cm_message(LL_CM_DREQ, 6, 8, c.qp_b)));
  in(cm(c.a, c.b, cm_message(LL_CM_DREQ, 7, 8, c.qp_b + 1)));
  EXPECT_EQ(data(c).how, LL_PAIR_CM);
  in(cm(c.b, c.a, cm_message(LL_CM_DREQ, 8, 7, c.qp_a)));
  EXPECT_EQ(data(c).how, LL_PAIR_NONE);
  EXPECT_EQ(stats().released, 1U);
  EXPECT_TRUE(maps().roce_pairs.keys().empty());
}

TEST_F(RoceFlows, AcksPairWhenThePortFits) {
  const Connection c;
  exchange(c, 100, 1);
  EXPECT_EQ(data(c).how, LL_PAIR_NONE) << "one answer proves nothing";
  exchange(c, 101, 1);
  EXPECT_EQ(data(c).how, LL_PAIR_ACK);
  EXPECT_EQ(data(c).peer_qpn, c.qp_a);
  EXPECT_EQ(data(c).checked, 1);
  EXPECT_EQ(answers(c).peer_qpn, c.qp_b);
  EXPECT_EQ(stats().paired_ack, 1U);
}

TEST_F(RoceFlows, AcksFromAnotherPortAreAGuess) {
  const Connection c;
  exchange(c, 100, 11, 0xd000);  // the first four are looked for by their port alone
  EXPECT_EQ(data(c).how, LL_PAIR_NONE);
  exchange(c, 111, 1, 0xd000);
  EXPECT_EQ(data(c).how, LL_PAIR_ACK);
  EXPECT_EQ(data(c).peer_qpn, c.qp_a);
  EXPECT_EQ(data(c).checked, 0) << "marked as a guess";
}

TEST_F(RoceFlows, ReadResponsesPairToo) {
  const Connection c;
  for (std::uint32_t i = 0; i < 2; ++i) {
    in(from_a(c, {.opcode = LL_OP_READ_REQUEST, .psn = 10 + 4 * i, .payload = 0}));
    in(from_b(c, {.opcode = LL_OP_READ_FIRST, .psn = 10 + 4 * i}));
    in(from_b(c, {.opcode = LL_OP_READ_MIDDLE, .psn = 11 + 4 * i}));
    in(from_b(c, {.opcode = LL_OP_READ_MIDDLE, .psn = 12 + 4 * i}));
    in(from_b(c, {.opcode = LL_OP_READ_LAST, .psn = 13 + 4 * i}));
  }
  EXPECT_EQ(answers(c).how, LL_PAIR_READ);
  EXPECT_EQ(answers(c).peer_qpn, c.qp_b) << "the sender of the data";
  EXPECT_EQ(data(c).peer_qpn, c.qp_a);
  EXPECT_EQ(data(c).gaps + answers(c).gaps, 0U);
}

TEST_F(RoceFlows, NaksProveNothing) {
  const Connection c;
  for (std::uint32_t psn = 0; psn < 20; ++psn) {
    in(from_a(c, {.psn = psn, .ack_request = true}));
    Packet nak = ack(psn);
    nak.syndrome = LL_NAK_SEQUENCE;
    in(from_b(c, nak));
  }
  EXPECT_EQ(data(c).how, LL_PAIR_NONE);
}

TEST_F(RoceFlows, SpoofedAcksDontTouchWhatCmSaid) {
  const Connection c;
  connect(c, 7, 8);
  Connection forged = c;
  forged.qp_a = 0x999;
  for (std::uint32_t psn = 0; psn < 50; ++psn) {
    in(from_a(c, {.psn = psn, .ack_request = true}));
    in(from_b(forged, ack(psn)));
  }
  EXPECT_EQ(data(c).how, LL_PAIR_CM);
  EXPECT_EQ(data(c).peer_qpn, c.qp_a);
}

TEST_F(RoceFlows, WithoutCmTwoThatClaimTheSameAreNotBelieved) {
  const Connection c;
  exchange(c, 0, 2);
  ASSERT_EQ(data(c).peer_qpn, c.qp_a);
  // One that sees the requests and answers them in the name of another QP. The pair makes no notes any more,
  // so nothing comes of it.
  Connection forged = c;
  forged.qp_a = 0x999;
  for (std::uint32_t psn = 2; psn < 50; ++psn) {
    in(from_a(c, {.psn = psn, .ack_request = true}));
    in(from_b(forged, ack(psn)));
    in(from_b(c, ack(psn)));
  }
  EXPECT_EQ(data(c).peer_qpn, c.qp_a);
  EXPECT_EQ(answers(forged).how, LL_PAIR_NONE);
}

TEST_F(RoceFlows, BlindAcksPairNothingAndEndNothing) {
  const Connection c;
  std::mt19937 random(1);
  exchange(c, 1000, 2);
  for (unsigned i = 0; i < 2000; ++i) {
    Connection forged = c;
    forged.qp_a = random() & 0xffffff;
    in(from_b(forged, ack(random() & 0xffffff)));
    if (i % 2) in(from_b(c, ack(random() & 0xffffff)));
    exchange(c, 1002 + i, 1);
  }
  EXPECT_EQ(data(c).peer_qpn, c.qp_a);
  EXPECT_EQ(data(c).how, LL_PAIR_ACK);
  EXPECT_EQ(stats().paired_ack, 1U);
}

TEST_F(RoceFlows, AnotherConnectionOfTheSameQpEndsTheOldPair) {
  const Connection old;
  exchange(old, 1000, 2);
  ASSERT_EQ(data(old).peer_qpn, old.qp_a);
  Connection fresh = old;
  fresh.qp_a = 0x777;
  // The old QP still answers something that was never asked.
  for (unsigned i = 0; i < 8; ++i) in(from_b(old, ack(0x900000 + i)));
  EXPECT_EQ(data(old).how, LL_PAIR_NONE);
  EXPECT_EQ(stats().contradicted, 1U);
  exchange(fresh, 0x500000, 2);
  EXPECT_EQ(data(fresh).peer_qpn, fresh.qp_a);
}

// 500 connections between two hosts, all at the same PSNs at the same time.
TEST_F(RoceFlows, FiveHundredInStep) {
  std::mt19937 random(7);
  std::vector<Connection> all(500);
  for (unsigned i = 0; i < all.size(); ++i) {
    all[i].qp_a = 0x100 + i;
    all[i].qp_b = 0x100 + static_cast<std::uint32_t>((i * 7) % all.size()) + 0x1000;
  }
  for (std::uint32_t psn = 0; psn < 10; ++psn) {
    for (const Connection& c : all) in(from_a(c, {.psn = psn, .ack_request = true}));
    std::ranges::shuffle(all, random);
    for (const Connection& c : all) in(from_b(c, ack(psn)));
  }
  unsigned paired = 0;
  for (const Connection& c : all) {
    const ll_roce_flow f = data(c);
    if (f.how == LL_PAIR_NONE) continue;
    ++paired;
    EXPECT_EQ(f.peer_qpn, c.qp_a);
  }
  EXPECT_GT(paired, 450U);
}

TEST_F(RoceFlows, TableIsBounded) {
  std::mt19937 random(3);
  Connection c;
  for (unsigned i = 0; i < 150'000; ++i) {
    c.qp_b = random() & 0xffffff;
    in(from_a(c, {.payload = 16}));
  }
  const auto flows = all_flows(maps()).size();
  EXPECT_EQ(stats().flows, stats().evicted + flows);
  EXPECT_LE(flows, LL_ROCE_SETS_DEFAULT * LL_ROCE_WAYS);
  EXPECT_GT(flows, LL_ROCE_FLOWS_DEFAULT);
  EXPECT_EQ(stats().no_room, 0U);
}

TEST_F(RoceFlows, CnpsThatPassAreCountedForTheirFlow) {
  const Connection c;
  exchange(c, 0, 2);
  in(from_b(c, {.opcode = LL_OP_CNP, .payload = 0, .tos = 48 << 2}));
  EXPECT_EQ(data(c).cnps_seen, 1U);
}

}  // namespace
}  // namespace lossless::test
