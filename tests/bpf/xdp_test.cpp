// SPDX-License-Identifier: Apache-2.0
// Native XDP does with a frame what tcx does: the same frames through both programs leave the same counters.
// And it is a good neighbour: it gives way to others, and no packet is counted twice.
#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "bpf/stages/cnp.h"
#include "bpf/stages/pfc.h"
#include "tests/bpf/flow_table.h"
#include "tests/bpf/roce_frames.h"

namespace lossless::test {
namespace {

constexpr unsigned kTc = 3;
constexpr int kTcxDrop = 2;
constexpr std::size_t kMark = 16;  // bytes that XDP puts before a packet that it has counted
constexpr auto kLimit = std::chrono::seconds(10);
constexpr std::uint8_t kSource[6] = {2, 0, 0, 0, 0, 1};

Bytes pfc_frame(std::uint8_t classes, std::uint16_t quanta) {
  Bytes frame(LL_PFC_FRAME_LEN);
  ll_pfc_build(frame.data(), kSource, classes, quanta);
  return frame;
}

Bytes changed(Bytes frame, std::size_t at, std::uint8_t value) {
  frame[at] = value;
  return frame;
}

Bytes inserted(Bytes frame, std::size_t at, std::initializer_list<std::uint8_t> bytes) {
  frame.insert(frame.begin() + static_cast<std::ptrdiff_t>(at), bytes);
  return frame;
}

Bytes cnp(bool v6, std::uint32_t qpn) {
  ll_cnp c{};
  c.ip = v6 ? 6 : 4;
  c.tos = 48 << 2;
  c.dest_qp = qpn;
  c.sport = 0xc001;
  c.src[0] = c.dst[0] = 10;
  c.src[3] = 1;
  c.dst[3] = 2;
  Bytes frame(LL_CNP_FRAME_MAX);
  ll_cnp_build(frame.data(), &c);
  frame.resize(ll_cnp_len(&c));
  return frame;
}

struct XdpRun {
  int verdict = -1;
  bool marked = false;
};

class XdpProgramTest : public testing::Test {
 protected:
  // A test run names its interface by a receive queue, which a veth has only while it runs native XDP.
  XdpProgramTest() {
    const auto attached = port_.datapath().attach_xdp(port_.ifindex());
    EXPECT_TRUE(attached) << attached.error();
    ll_roce_config on{};
    on.on = 1;
    EXPECT_TRUE(maps().roce_config.set(0, on));
    ll_pfc row{};
    row.on = row.lossless = 1;
    row.xoff = 1'000'000;
    row.quantum_ps = 512'000;
    EXPECT_TRUE(maps().pfc.set(LL_ROW(0, kTc), row));
  }
  const Maps& maps() { return port_.datapath().maps(); }

  std::optional<XdpRun> xdp(const Bytes& frame) {
    xdp_md in{};
    in.data_end = static_cast<__u32>(frame.size());
    in.ingress_ifindex = port_.ifindex();
    Bytes out(frame.size() + 256);
    bpf_test_run_opts opts{};
    opts.sz = sizeof opts;
    opts.data_in = frame.data();
    opts.data_size_in = in.data_end;
    opts.data_out = out.data();
    opts.data_size_out = static_cast<__u32>(out.size());
    opts.ctx_in = &in;
    opts.ctx_size_in = sizeof in;
    opts.repeat = 1;
    if (bpf_prog_test_run_opts(port_.datapath().program(Hook::Xdp), &opts)) return std::nullopt;
    return XdpRun{.verdict = static_cast<int>(opts.retval),
                  .marked = opts.data_size_out == frame.size() + kMark};
  }

  void host(std::uint8_t flags, std::uint8_t guard = 0) {
    ll_port row = default_port_row();
    row.host = flags;
    row.guard = guard;
    port_.set_port(row);
  }

  // Verdicts of both programs, which must agree on what ends here. Short frames cannot be run.
  void both(const Bytes& frame, const std::string& what, const std::function<std::string()>& counted) {
    SCOPED_TRACE(what);
    const std::string before = counted();
    const auto by_tcx =
        run_program(port_.datapath().program(Hook::Ingress), frame, {.ifindex = port_.ifindex()});
    const std::string tcx = counted();
    reset();
    EXPECT_EQ(counted(), before) << "reset";
    const auto by_xdp = xdp(frame);
    if (!by_tcx || !by_xdp) return;
    EXPECT_EQ(by_xdp->verdict == XDP_DROP, by_tcx->verdict == kTcxDrop);
    EXPECT_EQ(counted(), tcx);
    reset();
    ++compared_;
  }

  void reset() {
    maps().pfc_stats.clear(0);
    maps().host_stats.clear(0);
    maps().roce_stats.clear(0);
    for (unsigned tc = 0; tc < LL_TCS; ++tc) (void)maps().pause.set(LL_ROW(0, tc), {});
    forget_flows(maps());
    for (const auto& key : maps().rp_flows.keys()) maps().rp_flows.erase(key);
  }

  template <class T>
  static std::string bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }

  ScratchPort port_;
  unsigned compared_ = 0;
};

TEST_F(XdpProgramTest, TakesMacControlFramesAsTcxDoes) {
  const auto counted = [this] {
    ll_pause row = maps().pause.get(LL_ROW(0, kTc)).value_or(ll_pause{});
    row.until_ns = row.until_ns != 0;
    row.asked_since_ns = row.asked_since_ns != 0;
    row.last_ns = row.last_ns != 0;
    return bytes_of(maps().pfc_stats.sum(0)) + bytes_of(row);
  };
  for (const std::uint8_t classes : {0, 1 << kTc, 0xff}) both(pfc_frame(classes, 0xffff), "PFC", counted);
  both(pfc_frame(1 << kTc, 0), "goes on", counted);
  Bytes pause(60);
  std::ranges::copy(pfc_frame(0, 0), pause.begin());
  pause[15] = 1;
  both(pause, "PAUSE", counted);
  both(changed(pfc_frame(1 << kTc, 9), 15, 9), "opcode", counted);
  both(changed(pfc_frame(1 << kTc, 9), 0, 2), "address", counted);
  both(changed(pfc_frame(1 << kTc, 9), 16, 1), "vector", counted);
  Bytes short_one = pfc_frame(1 << kTc, 9);
  short_one.resize(40);
  both(short_one, "short", counted);
  EXPECT_EQ(compared_, 9U);
  EXPECT_EQ(xdp(pfc_frame(1 << kTc, 0xffff))->verdict, XDP_DROP);
  EXPECT_EQ(maps().pfc_stats.sum(0).rx[LL_PFC_OK], 1U);
  EXPECT_EQ(maps().pause.get(LL_ROW(0, kTc))->rx_frames, 1U);
}

TEST_F(XdpProgramTest, KeepsAHostAsTcxDoes) {
  ASSERT_TRUE(maps().host_qps.set({.slot = 0, .qpn = 0x111}, {.peer_qpn = 0x222, .reserved = 0}));
  ASSERT_TRUE(maps().roce_config.set(0, {}));
  const auto counted = [this] {
    return bytes_of(maps().host_stats.sum(0)) + std::to_string(maps().rp_flows.keys().size());
  };
  for (const unsigned flags : {LL_HOST_ON, LL_HOST_ON | LL_HOST_RP | LL_HOST_GUARD}) {
    host(static_cast<std::uint8_t>(flags));
    for (const bool v6 : {false, true}) {
      Connection c{.a = test::host(1, v6), .b = test::host(2, v6)};
      both(cnp(v6, 0x111), "CNP", counted);
      both(cnp(v6, 0x112), "CNP of no QP", counted);
      both(changed(cnp(v6, 0x111), v6 ? 93 : 73, 0x77), "ICRC", counted);
      both(from_a(c, {.opcode = LL_OP_CNP, .payload = 8}), "long CNP", counted);
      for (unsigned opcode = 0; opcode < 256; ++opcode)
        both(changed(from_a(c, {.opcode = LL_OP_WRITE_MIDDLE, .payload = 64}), v6 ? 62 : 42,
                     static_cast<std::uint8_t>(opcode)),
             "opcode " + std::to_string(opcode), counted);
    }
    const Bytes plain = from_a({}, {.payload = 64});
    both(changed(inserted(plain, 34, {1, 1, 1, 1}), 14, 0x46), "options", counted);
    both(changed(plain, 20, 0x20), "fragment", counted);
    both(changed(plain, 37, 1), "another port", counted);
    both(inserted(plain, 12, {0x81, 0, 0, 5}), "tagged", counted);
    const Bytes six = from_a({.a = test::host(1, true), .b = test::host(2, true)}, {.payload = 64});
    both(changed(inserted(six, 54, {17, 0, 1, 4, 0, 0, 0, 0}), 20, 60), "extension header", counted);
    for (std::size_t length = 14; length < plain.size(); ++length)
      both(Bytes(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(length)), "cut", counted);
  }
  EXPECT_GT(compared_, 1000U);
}

// CM is tcx's in either case, and so is all of a flow that says where its packets come in.
TEST_F(XdpProgramTest, CountsFlowsAsTcxDoes) {
  const auto all = [this] {
    std::string text;
    auto flows = all_flows(maps());
    std::ranges::sort(
        flows, [](const auto& a, const auto& b) { return std::memcmp(&a.key, &b.key, sizeof a.key) < 0; });
    for (const ll_roce_flow& f : flows) {
      for (const std::uint64_t value :
           {std::uint64_t{f.key.qp}, std::uint64_t{f.packets}, std::uint64_t{f.bytes}, std::uint64_t{f.ce},
            std::uint64_t{f.gaps}, std::uint64_t{f.retransmitted}, std::uint64_t{f.next_psn},
            std::uint64_t{f.next_read_psn}, std::uint64_t{f.last_psn}, std::uint64_t{f.how},
            std::uint64_t{f.peer_qpn}, std::uint64_t{f.sport}, std::uint64_t{f.tos}, std::uint64_t{f.opcode},
            std::uint64_t{f.cnps_seen}})
        text.append(std::to_string(value)).append(" ");
      text += "\n";
    }
    const ll_roce_stats s = maps().roce_stats.sum(0);
    return text + std::to_string(s.packets) + " " + std::to_string(s.flows) + " " +
           std::to_string(s.paired_ack);
  };
  std::vector<Bytes> script;
  for (const bool v6 : {false, true}) {
    const Connection c{.a = test::host(1, v6), .b = test::host(2, v6)};
    for (std::uint32_t psn = 0; psn < 6; ++psn) {
      script.push_back(from_a(c, {.opcode = LL_OP_WRITE_ONLY, .psn = psn, .ack_request = true}));
      script.push_back(from_b(c, ack(psn)));
    }
    script.push_back(from_a(c, {.psn = 9, .tos = 26 << 2 | 3}));
    script.push_back(from_a(c, {.psn = 7}));
    script.push_back(from_b(c, {.opcode = LL_OP_CNP, .payload = 0}));
    script.push_back(from_b(c, {.opcode = LL_OP_READ_FIRST, .psn = 50}));
    script.push_back(from_b(c, {.opcode = LL_OP_READ_LAST, .psn = 52}));
  }
  for (const Bytes& frame : script) port_.ingress(frame);
  const std::string tcx = all();
  EXPECT_EQ(std::ranges::count(tcx, '\n'), 4) << "two flows of each IP version";
  reset();
  for (const Bytes& frame : script) {
    const auto run = xdp(frame);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->verdict, XDP_PASS);
    EXPECT_TRUE(run->marked);
  }
  EXPECT_EQ(all(), tcx);
}

TEST_F(XdpProgramTest, LeavesToTcxWhatIsNotItsBusiness) {
  const Bytes data = from_a({}, {});
  EXPECT_TRUE(xdp(data)->marked);
  for (const auto& [what, frame] :
       {std::pair{"another port", changed(data, 37, 1)}, std::pair{"malformed", changed(data, 42, 0xe3)},
        std::pair{"not IP", changed(data, 12, 0x88)}}) {
    EXPECT_FALSE(xdp(frame)->marked) << what;
    EXPECT_EQ(xdp(frame)->verdict, XDP_PASS) << what;
  }
  host(0, LL_GUARD_ZONES);
  EXPECT_FALSE(xdp(data)->marked) << "what zones keep out is no flow's";
  EXPECT_EQ(maps().roce_stats.sum(0).packets, 1U);
  EXPECT_EQ(maps().roce_stats.sum(0).bad[LL_ROCE_OPCODE], 0U) << "tcx counts it";
}

// Real packets, through the driver, XDP and tcx.
TEST_F(XdpProgramTest, APacketIsCountedOnce) {
  constexpr unsigned kPackets = 200;
  const Fd raw(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_ifindex = static_cast<int>(if_nametoindex("h0"));
  ASSERT_EQ(bind(raw.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  const auto arrived = [this] { return port_.classes(kTc).packets; };
  const auto send_one = [&](const Bytes& frame) {
    const std::uint64_t before = arrived();
    ASSERT_EQ(send(raw.get(), frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (arrived() == before && std::chrono::steady_clock::now() < end) continue;
    ASSERT_EQ(arrived(), before + 1);
  };
  reset();
  port_.clear_counters();
  const Connection c;
  for (unsigned i = 0; i < kPackets; ++i) send_one(from_a(c, {.psn = i}));
  EXPECT_EQ(maps().roce_stats.sum(0).packets, kPackets);
  ll_roce_flow f = find_flow(maps(), key_of(c.a, c.b, c.qp_b)).value_or(ll_roce_flow{});
  EXPECT_EQ(f.packets, kPackets);
  EXPECT_EQ(f.gaps + f.retransmitted, 0U);
  EXPECT_EQ(f.in_ifindex, port_.ifindex()) << "tcx adds where it comes in";
  EXPECT_EQ(f.eth_src[5], 1);
  EXPECT_EQ(f.tc, kTc);
  ASSERT_TRUE(port_.datapath().detach_xdp(port_.ifindex()));
  send_one(from_a(c, {.psn = kPackets}));
  f = find_flow(maps(), key_of(c.a, c.b, c.qp_b)).value_or(ll_roce_flow{});
  EXPECT_EQ(f.packets, kPackets + 1) << "by tcx alone";
  EXPECT_EQ(f.gaps, 0U);
}

TEST_F(XdpProgramTest, GivesWayToAnotherProgram) {
  Datapath& datapath = port_.datapath();
  EXPECT_TRUE(datapath.has_xdp(port_.ifindex()));
  EXPECT_TRUE(datapath.attach_xdp(port_.ifindex())) << "again: the program is exchanged";
  ASSERT_TRUE(datapath.detach(port_.ifindex()));
  EXPECT_FALSE(datapath.has_xdp(port_.ifindex()));

  const bpf_insn program[] = {{.code = 0xb7, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = XDP_PASS},
                              {.code = 0x95, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
  const Fd other(bpf_prog_load(BPF_PROG_TYPE_XDP, "someone", "GPL", program, std::size(program), nullptr));
  ASSERT_TRUE(other);
  const Fd link(bpf_link_create(other.get(), static_cast<int>(port_.ifindex()), BPF_XDP, nullptr));
  ASSERT_TRUE(link);
  const auto refused = datapath.attach_xdp(port_.ifindex());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("another XDP program is there: id "), std::string::npos) << refused.error();
  EXPECT_NE(refused.error().find("(someone)"), std::string::npos) << refused.error();
  EXPECT_FALSE(datapath.has_xdp(port_.ifindex()));
}

}  // namespace
}  // namespace lossless::test
