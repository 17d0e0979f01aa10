// SPDX-License-Identifier: Apache-2.0
// DCQCN on a host in the real programs: CNPs for marked packets, CNPs that slow a QP down, what is dropped.
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <set>

#include "bpf/stages/cnp.h"
#include "bpf/stages/dcqcn_host.h"
#include "daemon/core/clock.h"
#include "daemon/dcqcn/tables.h"
#include "tests/bpf/golden.h"
#include "tests/bpf/scratch_io.h"

namespace lossless::test {
namespace {

constexpr int kNext = -1;
constexpr int kDrop = 2;
constexpr std::uint32_t kLocalQp = 0x12;
constexpr std::uint32_t kPeerQp = 0x345678;
constexpr std::uint64_t kLine = 1'000'000'000;
// A ConnectX-4 Lx sent it: 10.1.26 is the reaction point's.
const char* const kNicCnp =
    "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff400001180000"
    "0000"
    "0000000000000000000000000000000082fd002a";
constexpr std::uint32_t kNicQp = 0x118;

struct Data {
  int version = 4;
  std::uint8_t ecn = LL_ECN_CE;
  std::uint8_t opcode = LL_OP_WRITE_MIDDLE;
  std::uint32_t qpn = kLocalQp;
  std::uint8_t src = 1;  // last byte of the address; to …2
  std::size_t payload = 64;

  Bytes bytes() const {
    const std::size_t network = version == 4 ? 20 : 40;
    const std::size_t ext = static_cast<std::size_t>(std::max(ll_roce_ext_len(opcode), 0));
    const std::size_t udp = 8 + 12 + ext + payload + 4;
    Bytes out{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0};
    if (version == 6) out[12] = 0x86, out[13] = 0xdd;
    out.resize(14 + network + udp);
    __u8 from[16] = {10, 0, 0, src};
    __u8 to[16] = {10, 0, 0, 2};
    if (version == 6) {
      std::ranges::fill(from, __u8{0});
      std::ranges::fill(to, __u8{0});
      from[0] = to[0] = 0xfd;
      from[15] = src;
      to[15] = 2;
    }
    const auto tos = static_cast<__u8>(26U << 2U | ecn);
    if (version == 4)
      ll_put_ip4(out.data() + 14, from, to, tos, 7, static_cast<__u32>(network + udp));
    else
      ll_put_ip6(out.data() + 14, from, to, tos, 5, static_cast<__u32>(udp));
    ll_put_udp(out.data() + 14 + network, 0xc123, static_cast<__u32>(udp));
    ll_put_bth(out.data() + 14 + network + 8, opcode, 0, qpn, 0, 9);
    return out;
  }
};

class DcqcnPrograms : public testing::Test {
 protected:
  DcqcnPrograms() {
    host(LL_HOST_ON | LL_HOST_NP | LL_HOST_RP | LL_HOST_GUARD);
    know(kLocalQp, kPeerQp);
    raw_ = Fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(0x0003)));
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(0x0003);
    at.sll_ifindex = static_cast<int>(if_nametoindex("h0"));
    EXPECT_EQ(bind(raw_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  }
  void host(std::uint8_t flags) {
    ll_port row = default_port_row();
    row.host = flags;
    port_.set_port(row);
    configure(DcqcnConfig{});
  }
  void configure(const DcqcnConfig& config) {
    PortConfig port;
    port.rate_bps = kLine;
    ASSERT_TRUE(maps().hosts.set(0, dcqcn::make_row(config, port)));
  }
  void know(std::uint32_t local, std::uint32_t peer) {
    ASSERT_TRUE(maps().host_qps.set({.slot = 0, .qpn = local}, {.peer_qpn = peer, .reserved = 0}));
  }
  const Maps& maps() { return port_.datapath().maps(); }
  ll_host_stats stats() { return maps().host_stats.sum(0); }
  int verdict(const Bytes& packet) { return port_.ingress(packet).verdict; }
  // What came out of the port since the last call.
  std::vector<Bytes> sent() {
    std::vector<Bytes> all;
    Bytes frame(2000);
    for (pollfd at{.fd = raw_.get(), .events = POLLIN, .revents = 0}; poll(&at, 1, 0) > 0;) {
      const ssize_t got = recv(raw_.get(), frame.data(), frame.size(), 0);
      if (got <= 0) break;
      all.emplace_back(frame.begin(), frame.begin() + got);
    }
    return all;
  }
  static Bytes cnp(int version, std::uint32_t qpn, std::uint8_t from) {
    ll_cnp c{};
    c.ip = static_cast<__u8>(version);
    c.tos = 48 << 2;
    c.dest_qp = qpn;
    c.sport = 0xc001;
    c.src[0] = c.dst[0] = version == 4 ? 10 : 0xfd;
    c.src[version == 4 ? 3 : 15] = from;
    c.dst[version == 4 ? 3 : 15] = 2;
    c.eth_src[0] = c.eth_dst[0] = 2;
    Bytes frame(LL_CNP_FRAME_MAX);
    ll_cnp_build(frame.data(), &c);
    frame.resize(ll_cnp_len(&c));
    return frame;
  }
  std::optional<ll_rp_flow> flow() {
    const auto keys = maps().rp_flows.keys();
    return keys.empty() ? std::nullopt : maps().rp_flows.get(keys.front());
  }

  ScratchPort port_;
  Fd raw_;
};

// The very bytes: of the packet's receiver to its sender, to the sender's QP, ICRC and all.
TEST_F(DcqcnPrograms, AMarkedPacketIsAnsweredWithACnp) {
  for (const int version : {4, 6}) {
    SCOPED_TRACE(version);
    sent();
    EXPECT_EQ(verdict(Data{.version = version}.bytes()), kNext) << "the packet itself goes on";
    const auto frames = sent();
    ASSERT_EQ(frames.size(), 1U);
    ll_cnp expected{};
    expected.ip = static_cast<__u8>(version);
    expected.tos = 48 << 2 | LL_ECN_ECT0;
    expected.dest_qp = kPeerQp;
    expected.sport = 0xc123;
    std::copy_n(Bytes{2, 0, 0, 0, 0, 2}.begin(), 6, expected.eth_src);
    std::copy_n(Bytes{2, 0, 0, 0, 0, 1}.begin(), 6, expected.eth_dst);
    expected.src[0] = expected.dst[0] = version == 4 ? 10 : 0xfd;
    expected.src[version == 4 ? 3 : 15] = 2;
    expected.dst[version == 4 ? 3 : 15] = 1;
    Bytes frame(LL_CNP_FRAME_MAX);
    ll_cnp_build(frame.data(), &expected);
    frame.resize(ll_cnp_len(&expected));
    EXPECT_EQ(to_hex(frames[0]), to_hex(frame));
  }
  EXPECT_EQ(stats().np_ecn_marked_roce_packets, 2U);
  EXPECT_EQ(stats().np_cnp_sent, 2U);
}

TEST_F(DcqcnPrograms, AShortPacketIsStretchedAndALongOneCut) {
  for (const std::size_t payload : {std::size_t{0}, std::size_t{4}, std::size_t{1400}}) {
    maps().host_stats.clear(0);
    know(100 + static_cast<std::uint32_t>(payload), 7);
    sent();
    EXPECT_EQ(verdict(Data{.qpn = 100 + static_cast<std::uint32_t>(payload), .payload = payload}.bytes()),
              kNext);
    const auto frames = sent();
    ASSERT_EQ(frames.size(), 1U) << payload;
    EXPECT_EQ(frames[0].size(), LL_CNP4_FRAME);
  }
}

TEST_F(DcqcnPrograms, OnlyMarkedDataPacketsAreAnswered) {
  sent();
  for (const std::uint8_t ecn : {LL_ECN_NOT_ECT, LL_ECN_ECT0, LL_ECN_ECT1})
    EXPECT_EQ(verdict(Data{.ecn = ecn}.bytes()), kNext);
  EXPECT_EQ(verdict(Data{.opcode = LL_OP_ACK}.bytes()), kNext);
  EXPECT_EQ(verdict(Data{.opcode = LL_OP_UD_SEND_ONLY, .qpn = 1}.bytes()), kNext);
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(stats().np_ecn_marked_roce_packets, 0U);
  EXPECT_EQ(verdict(Data{.qpn = 0x777}.bytes()), kNext) << "nobody knows that QP";
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(stats().np_no_peer, 1U);
  host(LL_HOST_ON | LL_HOST_GUARD);
  EXPECT_EQ(verdict(Data{}.bytes()), kNext);
  EXPECT_TRUE(sent().empty());
}

// An hour is longer than the test: one CNP of each is all there can be.
TEST_F(DcqcnPrograms, AtMostOneInTheIntervalPerQpPairOrPort) {
  for (const auto& [per, expected] :
       {std::pair{CnpPer::Qp, 4U}, std::pair{CnpPer::Ip, 2U}, std::pair{CnpPer::Port, 1U}}) {
    DcqcnConfig config;
    config.cnp_per = per;
    config.min_time_between_cnps_us = 1'000'000;
    configure(config);
    ll_host row = *maps().hosts.get(0);
    row.params.cnp_interval_ns = 3600ULL * 1'000'000'000;
    ASSERT_TRUE(maps().hosts.set(0, row));
    maps().host_stats.clear(0);
    sent();
    const std::uint32_t base = 1000 + static_cast<std::uint32_t>(per) * 10;
    const auto source = static_cast<std::uint8_t>(10 + static_cast<unsigned>(per) * 2);
    for (unsigned round = 0; round < 3; ++round)
      for (std::uint8_t i = 0; i < 2; ++i)
        for (std::uint32_t q = 0; q < 2; ++q) {
          know(base + q, 1);
          verdict(Data{.qpn = base + q, .src = static_cast<std::uint8_t>(source + i)}.bytes());
        }
    EXPECT_EQ(sent().size(), expected);
    EXPECT_EQ(stats().np_cnp_sent, expected);
    EXPECT_EQ(stats().np_held, 12 - expected);
  }
}

TEST_F(DcqcnPrograms, ACnpCutsTheRateOfItsQp) {
  EXPECT_FALSE(flow());
  EXPECT_EQ(verdict(cnp(4, kLocalQp, 9)), kDrop);
  const auto f = flow();
  ASSERT_TRUE(f);
  EXPECT_EQ(f->rp.rate_bps, kLine / 2) << "alpha is 1 at first";
  EXPECT_EQ(f->rp.target_bps, kLine);
  EXPECT_EQ(f->qpn, kLocalQp);
  EXPECT_EQ(maps().rp_flows.keys().front().peer_qpn, kPeerQp);
  EXPECT_EQ(stats().rp_cnp_handled, 1U);
  EXPECT_EQ(stats().rp_cnp_ignored, 0U);

  // Packets to it get their time, those to others none. At a rate so low that they have to wait on any
  // machine, and that does not grow.
  ll_host row = *maps().hosts.get(0);
  row.params.rate_interval_ns = 3600ULL * 1'000'000'000;
  row.params.byte_counter = 0;
  ASSERT_TRUE(maps().hosts.set(0, row));
  ll_rp_flow slow = *f;
  slow.rp.rate_bps = slow.rp.target_bps = 1'000'000;
  ASSERT_TRUE(maps().rp_flows.set(maps().rp_flows.keys().front(), slow));
  const Bytes data = Data{.ecn = LL_ECN_ECT0, .qpn = kPeerQp, .payload = 1000}.bytes();
  Bytes to_nine = data;
  to_nine[14 + 19] = 9;
  ll_put16(to_nine.data() + 14 + 10, 0);
  ll_put16(to_nine.data() + 14 + 10, ~ll_ip4_sum(to_nine.data() + 14) & 0xffffU);
  std::uint64_t last = 0;
  for (unsigned i = 0; i < 50; ++i) {
    const RunResult out = port_.egress(to_nine, 3);
    EXPECT_TRUE(i == 0 || out.tstamp == 0 || out.tstamp > last);
    last = std::max(last, out.tstamp);
  }
  EXPECT_GT(last, 0U);
  EXPECT_GT(stats().rp_paced, 0U);
  EXPECT_EQ(flow()->packets, 50U);
  EXPECT_EQ(flow()->bytes, 50 * to_nine.size());
  EXPECT_EQ(port_.egress(data, 3).tstamp, 0U) << "another address";
  EXPECT_EQ(flow()->packets, 50U);
}

TEST_F(DcqcnPrograms, ARealNicsCnpIsUnderstood) {
  know(kNicQp, 5);
  EXPECT_EQ(verdict(from_hex(kNicCnp)), kDrop);
  EXPECT_EQ(stats().rp_cnp_handled, 1U);
  Bytes broken = from_hex(kNicCnp);
  broken.back() ^= 1U;
  EXPECT_EQ(verdict(broken), kDrop);
  EXPECT_EQ(stats().rp_cnp_handled, 1U);
  EXPECT_EQ(stats().bad[LL_ROCE_ICRC], 1U);
}

TEST_F(DcqcnPrograms, CnpsEndHereWhateverTheyAre) {
  EXPECT_EQ(verdict(cnp(6, 0x999, 9)), kDrop) << "no such QP";
  host(LL_HOST_ON | LL_HOST_NP);
  EXPECT_EQ(verdict(cnp(6, kLocalQp, 9)), kDrop) << "no reaction point";
  EXPECT_EQ(stats().rp_cnp_ignored, 2U);
  EXPECT_FALSE(flow());
  // Of another length, and to the multicast QP.
  Bytes longer = Data{.ecn = 0, .opcode = LL_OP_CNP, .qpn = 0xffffff, .payload = 8}.bytes();
  EXPECT_EQ(verdict(longer), kDrop);
  host(0);
  EXPECT_EQ(verdict(cnp(4, kLocalQp, 9)), kNext) << "no host mode";
}

// CVE-2026-46133 is what an unknown opcode does to Soft-RoCE.
TEST_F(DcqcnPrograms, TheGuardDropsEveryUnknownOpcode) {
  unsigned dropped = 0;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const bool known = ll_roce_ext_len(static_cast<std::uint8_t>(opcode)) >= 0;
    const Bytes packet = Data{.ecn = 2, .opcode = static_cast<std::uint8_t>(opcode), .qpn = 0xffffff}.bytes();
    EXPECT_EQ(verdict(packet), known && opcode != LL_OP_CNP ? kNext : kDrop) << opcode;
    dropped += !known;
  }
  EXPECT_EQ(stats().bad[LL_ROCE_OPCODE], dropped);
  host(LL_HOST_ON);
  EXPECT_EQ(verdict(Data{.opcode = 0xff}.bytes()), kNext) << "the guard is off";
}

TEST_F(DcqcnPrograms, TheGuardSeesThroughHeadersBeforeRoce) {
  const Bytes plain = Data{.ecn = 2}.bytes();
  Bytes options = plain;
  options[14] = 0x46;
  options.insert(options.begin() + 34, {1, 1, 1, 1});
  EXPECT_EQ(verdict(options), kDrop);
  Bytes fragment = plain;
  fragment[14 + 6] = 0x20;
  EXPECT_EQ(verdict(fragment), kDrop);
  Bytes extension = Data{.version = 6, .ecn = 2}.bytes();
  extension[14 + 6] = 60;
  extension.insert(extension.begin() + 54, {17, 0, 1, 4, 0, 0, 0, 0});
  EXPECT_EQ(verdict(extension), kDrop);
  EXPECT_EQ(stats().headers, 3U);
  // The same to another port is nobody's business.
  options[14 + 24 + 2] = 0x20;
  fragment[14 + 20 + 2] = 0x20;
  EXPECT_EQ(verdict(options), kNext);
  EXPECT_EQ(verdict(fragment), kNext);
}

TEST_F(DcqcnPrograms, CutAnywhereNothingPassesForGood) {
  for (const int version : {4, 6}) {
    const Bytes whole = Data{.version = version}.bytes();
    const std::size_t network = version == 4 ? 20 : 40;
    for (std::size_t length = 14 + network; length < whole.size(); ++length) {
      Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_EQ(verdict(cut), kNext) << "its IP length says it is not whole; the stack drops it";
    }
  }
  EXPECT_EQ(stats().np_cnp_sent, 0U);
}

}  // namespace
}  // namespace lossless::test
