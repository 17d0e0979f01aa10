// SPDX-License-Identifier: Apache-2.0
// IPCC in the real egress program: CNPs leave by the port that the data came in by, each for the right QP.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <random>

#include "bpf/stages/cnp.h"
#include "tests/bpf/flow_table.h"
#include "tests/bpf/roce_frames.h"

namespace lossless::test {
namespace {

constexpr unsigned kTc = 3;

// What arrives at the peer of the port.
class Peer {
 public:
  Peer() : socket_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL))) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(0x0003);
    address.sll_ifindex = static_cast<int>(if_nametoindex("h0"));
    const timeval limit{.tv_sec = 2, .tv_usec = 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  // The next CNP; empty when none comes within the limit.
  Bytes cnp() {
    Bytes frame(2000);
    for (;;) {
      frame.resize(2000);
      const ssize_t got = recv(socket_.get(), frame.data(), frame.size(), 0);
      if (got < 0) return {};
      frame.resize(static_cast<std::size_t>(got));
      ll_roce r;
      if (endpoint::parse_frame(frame, r) == LL_ROCE_OK && r.opcode == LL_OP_CNP) return frame;
    }
  }
  bool is_silent() {
    std::uint8_t byte = 0;
    return recv(socket_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0;
  }

 private:
  static constexpr int ETH_P_ALL = 3;
  Fd socket_;
};

class Ipcc : public testing::Test {
 protected:
  Ipcc() {
    ll_roce_config config{};
    config.on = 1;
    config.cnp_tos = 48 << 2;
    config.cnp_tc = 6;
    EXPECT_TRUE(maps().roce_config.set(0, config));
    port_.close_gate(kTc);
    port_.fill(kTc, 50'000);
    set_ipcc({});
  }
  // Always many, for every byte: each packet calls for a CNP.
  void set_ipcc(const std::optional<ll_ipcc>& given) {
    ll_ipcc row{};
    row.on = 1;
    row.low = 1000;
    row.high = 2000;
    row.few = row.many = 1;
    row.trend_ns = 1'000'000'000'000;  // as it was found first: rising
    row.port_cnps = 1'000'000;
    EXPECT_TRUE(maps().ipcc.set(LL_ROW(0, kTc), given.value_or(row)));
  }
  const Maps& maps() { return port_.datapath().maps(); }
  ll_ipcc_stats stats() { return maps().ipcc_stats.sum(LL_ROW(0, kTc)); }
  void in(const Bytes& frame) { EXPECT_EQ(port_.ingress(frame).verdict, -1); }
  // A packet that came in by the port joins its queue.
  void join(const Bytes& frame) {
    const auto run = run_program(
        port_.datapath().program(Hook::Egress), frame,
        {.ifindex = port_.ifindex(), .ingress_ifindex = port_.ifindex(), .priority = LL_PRIORITY(kTc)});
    ASSERT_TRUE(run);
    ASSERT_EQ(run->verdict, -1);
  }
  void connect(const Connection& c, std::uint32_t id) {
    in(cm(c.a, c.b, cm_message(LL_CM_REQ, id, 0, c.qp_a)));
    in(cm(c.b, c.a, cm_message(LL_CM_REP, id + 100'000, id, c.qp_b)));
  }
  void show_acks(const Connection& c, std::uint32_t psn) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      in(from_a(c, {.opcode = LL_OP_WRITE_ONLY, .psn = psn + i, .ack_request = true}));
      in(from_b(c, ack(psn + i)));
    }
  }
  // 500 connections between the same two hosts.
  static std::vector<Connection> many() {
    std::vector<Connection> all(500);
    std::mt19937 random(5);
    for (unsigned i = 0; i < all.size(); ++i) {
      all[i].qp_a = 0x1000 + i * 3;
      all[i].qp_b = (random() & 0xffff00) + (i & 0xff) + 0x10000 * (i >> 8U);
    }
    return all;
  }
  // `count` data packets of random connections; each CNP must name the sender's QP.
  void expect_right(const std::vector<Connection>& all, unsigned count) {
    std::mt19937 random(6);
    Peer peer;
    unsigned wrong = 0;
    for (unsigned i = 0; i < count; ++i) {
      const Connection& c = all[random() % all.size()];
      join(from_a(c, {.psn = 1000 + i, .payload = 64}));
      const Bytes frame = peer.cnp();
      ASSERT_FALSE(frame.empty()) << "no CNP for packet " << i;
      ll_roce r;
      if (endpoint::parse_frame(frame, r) != LL_ROCE_OK || r.dest_qp != c.qp_a || r.udp_sport != c.sport())
        ++wrong;
    }
    EXPECT_EQ(wrong, 0U) << "of " << count;
    EXPECT_EQ(stats().sent[LL_IPCC_RISING_HIGH], count);
  }

  ScratchPort port_;
};

TEST_F(Ipcc, ACnpForTheSenderOfEachPacketWithCm) {
  const auto all = many();
  for (unsigned i = 0; i < all.size(); ++i) {
    connect(all[i], i + 1);
    in(from_a(all[i], {}));
  }
  expect_right(all, 50'000);
}

TEST_F(Ipcc, ACnpForTheSenderOfEachPacketWithoutCm) {
  const auto all = many();
  for (unsigned i = 0; i < all.size(); ++i) show_acks(all[i], i * 10);
  expect_right(all, 50'000);
}

TEST_F(Ipcc, WhatACnpLooksLike) {
  for (const bool v6 : {false, true}) {
    SCOPED_TRACE(v6);
    const Connection c{.a = host(1, v6), .b = host(2, v6)};
    connect(c, v6 ? 2 : 1);
    in(from_a(c, {}));
    Peer peer;
    join(from_a(c, {}));
    const Bytes frame = peer.cnp();
    ASSERT_EQ(frame.size(), v6 ? LL_CNP6_FRAME : LL_CNP4_FRAME);
    EXPECT_EQ(Bytes(frame.begin(), frame.begin() + 6), Bytes(c.a.mac.begin(), c.a.mac.end()));
    EXPECT_EQ(Bytes(frame.begin() + 6, frame.begin() + 12), Bytes(c.b.mac.begin(), c.b.mac.end()));
    ll_roce r;
    ASSERT_EQ(endpoint::parse_frame(frame, r), LL_ROCE_OK);
    EXPECT_EQ(r.tos, 48 << 2);
    EXPECT_EQ(r.congestion, 0x40);
    EXPECT_EQ(find_flow(maps(), key_of(c.a, c.b, c.qp_b))->cnps, 1U);
  }
}

TEST_F(Ipcc, UnpairedAcksAndOtherPacketsGetNone) {
  const Connection c;
  Peer peer;
  in(from_a(c, {}));
  join(from_a(c, {}));
  EXPECT_EQ(stats().unpaired, 1U);
  join(from_a(c, ack(1)));
  EXPECT_EQ(stats().not_roce, 1U);
  Bytes other = from_a(c, {});
  other[37] ^= 1;  // another UDP port
  join(other);
  EXPECT_EQ(stats().not_roce, 2U);
  EXPECT_TRUE(peer.is_silent());
}

TEST_F(Ipcc, LimitsOfFlowAndPort) {
  ll_ipcc row = *maps().ipcc.get(LL_ROW(0, kTc));
  row.flow_ns = UINT64_MAX / 2;
  set_ipcc(row);
  const Connection c;
  connect(c, 1);
  in(from_a(c, {}));
  for (int i = 0; i < 10; ++i) join(from_a(c, {}));
  EXPECT_EQ(stats().flow_limit, 10U) << "the clock has not run for so long";
  row.flow_ns = 0;
  row.port_cnps = 3;
  set_ipcc(row);
  for (int i = 0; i < 1000; ++i) join(from_a(c, {}));
  EXPECT_GT(stats().port_limit, 0U);
  EXPECT_EQ(stats().port_limit + stats().sent[LL_IPCC_RISING_HIGH] + stats().flow_limit, stats().chosen);
}

TEST_F(Ipcc, AnEmptyQueueSendsNone) {
  port_.open_gate(kTc);
  const Connection c;
  connect(c, 1);
  in(from_a(c, {}));
  for (int i = 0; port_.backlog(kTc) > 0 && i < 1000; ++i) join(from_a(c, {}));
  const auto before = stats().chosen;
  join(from_a(c, {}));
  EXPECT_EQ(stats().chosen, before);
}

}  // namespace
}  // namespace lossless::test
