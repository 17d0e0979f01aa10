// SPDX-License-Identifier: Apache-2.0
// ECN Overlay in the real programs: all combinations of RFC 6040 on every kind of VXLAN packet.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "daemon/ecn_overlay/tables.h"
#include "tests/bpf/golden.h"
#include "tests/bpf/scratch_io.h"

namespace lossless::test {
namespace {

constexpr int kNext = -1;
constexpr int kDrop = 2;
constexpr unsigned kCarriedDscp = 26;

class EcnOverlayPrograms : public testing::Test {
 protected:
  EcnOverlayPrograms() {
    ll_port row = default_port_row();
    row.overlay = 1;
    port_.set_port(row);
    ll_overlay overlay{};
    overlay.udp_port = 4789;
    overlay.carried = 1ULL << kCarriedDscp;
    EXPECT_TRUE(maps().overlay.set(0, overlay));
  }
  const Maps& maps() { return port_.datapath().maps(); }
  ll_overlay_stats stats() { return maps().overlay_stats.sum(0); }
  // VTEPs of the goldens, ….1 sends and ….2 receives.
  void end_is_here(const char* v4, const char* v6) {
    for (const char* address : {v4, v6})
      ASSERT_TRUE(maps().overlay_ends.set(ecn_overlay::make_end(*parse_ip(address)), 1));
  }
  void receiver_is_here() { end_is_here("192.0.2.2", "2001:db8::2"); }
  void sender_is_here() { end_is_here("192.0.2.1", "2001:db8::1"); }
  ScratchPort port_;
};

TEST_F(EcnOverlayPrograms, TunnelsEndAsRfc6040Says) {
  receiver_is_here();
  std::array<std::array<std::uint64_t, 4>, 4> expected{};
  std::uint64_t dropped = 0;
  std::uint64_t restored = 0;
  for (const Row& golden : read_golden("overlay_leaving.tsv")) {
    SCOPED_TRACE(golden[0]);
    const RunResult out = port_.ingress(from_hex(golden[3]));
    expected.at(std::stoul(golden[1])).at(std::stoul(golden[2]))++;
    if (golden[4] == "drop") {
      EXPECT_EQ(out.verdict, kDrop);
      dropped++;
      continue;
    }
    EXPECT_EQ(out.verdict, kNext);
    EXPECT_EQ(to_hex(out.packet), golden[4]);
    restored += golden[3] != golden[4];
  }
  const ll_overlay_stats s = stats();
  for (unsigned inner = 0; inner < 4; ++inner)
    for (unsigned outer = 0; outer < 4; ++outer) {
      EXPECT_EQ(s.left[inner][outer], expected.at(inner).at(outer)) << inner << " in " << outer;
      EXPECT_EQ(s.left[inner][outer], 24U) << inner << " in " << outer;
    }
  EXPECT_EQ(s.dropped, dropped);
  EXPECT_EQ(s.restored, restored);
  EXPECT_EQ(s.failed + s.bad + s.not_ip, 0U);
}

TEST_F(EcnOverlayPrograms, TunnelsBeginWithTheInnerFieldOutside) {
  sender_is_here();
  std::uint64_t rows = 0;
  for (const Row& golden : read_golden("overlay_entering.tsv")) {
    SCOPED_TRACE(golden[0]);
    const RunResult out = port_.egress(from_hex(golden[2]), 3);
    EXPECT_EQ(out.verdict, kNext);
    EXPECT_EQ(to_hex(out.packet), golden[3]);
    rows++;
  }
  const ll_overlay_stats s = stats();
  EXPECT_EQ(s.entered[0] + s.entered[1] + s.entered[2] + s.entered[3], rows);
  EXPECT_GT(s.corrected, 0U);
  EXPECT_EQ(s.carried * 2, rows) << "every other row has the DSCP that is carried";
  EXPECT_EQ(s.failed + s.bad + s.not_ip, 0U);
}

// A packet without priority takes the class of what was carried out.
TEST_F(EcnOverlayPrograms, TheCarriedDscpDecidesTheQueue) {
  sender_is_here();
  for (const Row& golden : read_golden("overlay_entering.tsv")) {
    SCOPED_TRACE(golden[0]);
    const auto out = run_program(port_.datapath().program(Hook::Egress), from_hex(golden[2]),
                                 {.ifindex = port_.ifindex()});
    ASSERT_TRUE(out);
    EXPECT_EQ(out->priority, LL_PRIORITY(golden[0].contains("dscp 26") ? kCarriedDscp / 8 : 0U));
  }
}

TEST_F(EcnOverlayPrograms, TransitAndOtherPortsAreLeftAlone) {
  const auto untouched = [&] {
    for (const Row& golden : read_golden("overlay_leaving.tsv")) {
      SCOPED_TRACE(golden[0]);
      const RunResult in = port_.ingress(from_hex(golden[3]));
      EXPECT_EQ(in.verdict, kNext);
      EXPECT_EQ(to_hex(in.packet), golden[3]);
      EXPECT_EQ(to_hex(port_.egress(from_hex(golden[3]), 3).packet), golden[3]);
    }
  };
  untouched();  // neither end is here
  receiver_is_here();
  sender_is_here();
  ll_overlay other{};
  other.udp_port = 8472;
  ASSERT_TRUE(maps().overlay.set(0, other));
  untouched();
  port_.set_port(default_port_row());
  untouched();
  const ll_overlay_stats s = stats();
  EXPECT_EQ(s.entered[3] + s.left[0][3] + s.bad + s.not_ip, 0U);
}

// What is not sound passes as it is, whatever its length.
TEST_F(EcnOverlayPrograms, InnerFramesCutAnywhere) {
  receiver_is_here();
  sender_is_here();
  std::set<std::string> shapes;
  for (const Row& golden : read_golden("overlay_leaving.tsv")) {
    if (!golden[0].ends_with("ect0 in ce")) continue;
    const Bytes whole = from_hex(golden[3]);
    const std::size_t network = golden[0].starts_with("v4") ? 20 : 40;
    const std::size_t frame = 14 + network + 8 + 8;
    const std::size_t tags = golden[0].contains("QinQ") ? 8 : golden[0].contains("vlan") ? 4 : 0;
    const std::size_t header = frame + 14 + tags + (golden[0].contains("over v4") ? 20 : 40);
    for (std::size_t length = 14 + network; length <= header; ++length) {
      SCOPED_TRACE(golden[0] + " cut to " + std::to_string(length));
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      const ll_overlay_stats before = stats();
      const RunResult out = port_.ingress(cut);
      EXPECT_EQ(out.verdict, kNext);
      EXPECT_EQ(out.packet == cut, length < header);
      const ll_overlay_stats after = stats();
      EXPECT_EQ(after.bad - before.bad, length >= frame && length < header ? 1U : 0U);
      EXPECT_EQ(port_.egress(cut, 3).packet == cut, length < header);
    }
    shapes.insert(golden[0]);
  }
  EXPECT_EQ(shapes.size(), 24U);
}

TEST_F(EcnOverlayPrograms, WhatIsNoTunnelOfOurs) {
  receiver_is_here();
  const Bytes whole = from_hex(read_golden("overlay_leaving.tsv")[3 * 4 + 3][3]);  // ce in ce
  const auto changed = [&](std::size_t at, std::uint8_t value) {
    Bytes bytes = from_hex(read_golden("overlay_leaving.tsv")[2 * 4 + 3][3]);  // ect0 in ce, v4 over v4
    bytes.at(at) = value;
    return bytes;
  };
  for (const Bytes& packet : {changed(14 + 9, 6), changed(14 + 6, 0x20), changed(14 + 7, 1),
                              changed(14 + 20 + 3, 0xb4), changed(14 + 28, 0)})
    EXPECT_EQ(port_.ingress(packet).packet, packet);
  const Bytes arp = changed(14 + 20 + 8 + 8 + 13, 6);
  EXPECT_EQ(port_.ingress(arp).packet, arp);
  EXPECT_EQ(stats().not_ip, 1U);
  EXPECT_EQ(port_.ingress(whole).packet, whole);
}

}  // namespace
}  // namespace lossless::test
