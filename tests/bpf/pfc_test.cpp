// SPDX-License-Identifier: Apache-2.0
// MAC control frames and the buffer model in the real programs.
#include <gtest/gtest.h>

#include "bpf/stages/pfc.h"
#include "tests/bpf/scratch_io.h"

namespace lossless::test {
namespace {

constexpr unsigned kTc = 3;
constexpr int kNext = -1;
constexpr int kDrop = 2;
constexpr std::uint8_t kSource[6] = {2, 0, 0, 0, 0, 1};

Bytes pfc_frame(std::uint8_t classes, std::uint16_t quanta) {
  Bytes frame(LL_PFC_FRAME_LEN);
  ll_pfc_build(frame.data(), kSource, classes, quanta);
  return frame;
}

Bytes udp_frame(std::size_t length) {
  Bytes frame(length);
  frame[0] = frame[6] = 2;
  frame[12] = 8;
  frame[14] = 0x45;
  frame[15] = kTc << 5;
  return frame;
}

class PfcPrograms : public testing::Test {
 protected:
  void switch_on(std::uint64_t xoff) {
    ll_pfc row{};
    row.on = 1;
    row.xoff = xoff;
    row.lossless = 1;
    row.xon_offset = xoff - xoff / 2;
    row.headroom = xoff;
    row.quanta = 100;
    row.refresh_ns = UINT64_MAX;
    const auto written = port_.datapath().maps().pfc.set(LL_ROW(0, kTc), row);
    ASSERT_TRUE(written) << written.error();
  }
  ll_pfc_stats stats() { return port_.datapath().maps().pfc_stats.sum(0); }
  ll_pause pause() { return port_.datapath().maps().pause.get(LL_ROW(0, kTc)).value_or(ll_pause{}); }
  ll_mmu mmu() { return port_.datapath().maps().mmu.get(LL_ROW(0, kTc)).value_or(ll_mmu{}); }
  RunResult forwarded(const Bytes& frame) {
    return run_program(
               port_.datapath().program(Hook::Egress), frame,
               {.ifindex = port_.ifindex(), .ingress_ifindex = port_.ifindex(), .priority = LL_PRIORITY(kTc)})
        .value();
  }
  ScratchPort port_;
};

TEST_F(PfcPrograms, IngressTakesMacControlFrames) {
  switch_on(1'000'000);
  EXPECT_EQ(port_.ingress(pfc_frame(1U << kTc, 0xffff)).verdict, kDrop);
  EXPECT_EQ(stats().rx[LL_PFC_OK], 1U);
  EXPECT_EQ(pause().rx_frames, 1U);
  EXPECT_EQ(stats().lossy, 0U);
  EXPECT_EQ(port_.classes(kTc).packets, 0U) << "it is no traffic";

  EXPECT_EQ(port_.ingress(pfc_frame(0xff, 0xffff)).verdict, kDrop);
  EXPECT_EQ(pause().rx_frames, 2U);
  EXPECT_EQ(stats().lossy, 1U);
}

TEST_F(PfcPrograms, MalformedFramesAreTakenAndCounted) {
  switch_on(1'000'000);
  Bytes frame = pfc_frame(1U << kTc, 0xffff);
  frame[15] = 9;
  EXPECT_EQ(port_.ingress(frame).verdict, kDrop);
  frame = pfc_frame(1U << kTc, 0xffff);
  frame[0] = 2;
  EXPECT_EQ(port_.ingress(frame).verdict, kDrop);
  frame = pfc_frame(1U << kTc, 0xffff);
  frame.resize(40);
  EXPECT_EQ(port_.ingress(frame).verdict, kDrop);
  EXPECT_EQ(stats().rx[LL_PFC_BAD_OPCODE], 1U);
  EXPECT_EQ(stats().rx[LL_PFC_BAD_ADDRESS], 1U);
  EXPECT_EQ(stats().rx[LL_PFC_BAD_SHORT], 1U);
  EXPECT_EQ(pause().rx_frames, 0U);
}

TEST_F(PfcPrograms, FramesOfOurOwnPassAllQueues) {
  const RunResult out = port_.egress(pfc_frame(1U << kTc, 1), kTc);
  EXPECT_EQ(out.verdict, kNext);
  EXPECT_EQ(out.priority, LL_PRIORITY_FIRST);
  EXPECT_EQ(mmu().bytes, 0U);
}

TEST_F(PfcPrograms, WhatIsForwardedIsCountedAndLocalPacketsAreNot) {
  const Bytes frame = udp_frame(500);
  EXPECT_EQ(port_.egress(frame, kTc).verdict, kNext);
  EXPECT_EQ(mmu().bytes, 0U);
  EXPECT_EQ(forwarded(frame).verdict, kNext);
  EXPECT_EQ(mmu().bytes, 500U);
  EXPECT_EQ(mmu().peak, 500U);
  EXPECT_EQ(forwarded(frame).verdict, kNext);
  EXPECT_EQ(mmu().bytes, 1000U);
}

TEST_F(PfcPrograms, TheCrossingPacketStopsThePeerOnce) {
  switch_on(1200);
  const Bytes frame = udp_frame(500);
  forwarded(frame);
  forwarded(frame);
  EXPECT_EQ(mmu().xoff, 0U);
  const RunResult crossing = forwarded(frame);
  EXPECT_EQ(mmu().xoff, 1U);
  EXPECT_EQ(mmu().tx_xoff, 1U);
  EXPECT_EQ(crossing.verdict, kNext);
  EXPECT_EQ(Bytes(crossing.packet.begin(), crossing.packet.begin() + 500), frame)
      << "only the clone was rewritten";
  forwarded(frame);
  EXPECT_EQ(mmu().tx_xoff, 1U);
  EXPECT_EQ(mmu().over_limit, 0U);
  forwarded(frame);
  EXPECT_EQ(mmu().over_limit, 1U) << "2500 bytes are more than xoff and headroom";
}

}  // namespace
}  // namespace lossless::test
