// SPDX-License-Identifier: Apache-2.0
// Endpoints honour priority flow control as NICs do.
#include <gtest/gtest.h>

#include <array>

#include "bpf/stages/pfc.h"
#include "tests/unit/endpoint_sim.h"

namespace lossless::endpoint {
namespace {

constexpr std::uint64_t kRate = 100'000'000;
constexpr std::uint8_t kPriority = 3;  // DSCP 26
constexpr std::array<std::uint8_t, 6> kSwitch = {2, 0, 0, 0, 0, 0x77};

std::array<std::uint8_t, LL_PFC_FRAME_LEN> pfc(std::uint8_t classes, std::uint16_t quanta) {
  std::array<std::uint8_t, LL_PFC_FRAME_LEN> frame{};
  ll_pfc_build(frame.data(), kSwitch.data(), classes, quanta);
  return frame;
}

// A run of two senders in which h1 gets `frame` with its 100th packet. When h1 and h2 sent.
struct PausedRun {
  std::vector<Nanos> h1;
  std::vector<Nanos> h2;
  Nanos paused_at = 0;
  Results results;
};

PausedRun run_with(const std::vector<std::array<std::uint8_t, LL_PFC_FRAME_LEN>>& frames) {
  PausedRun out;
  SimNetwork net(incast_config(2, kRate, kSecond), {.bps = 10 * kRate}, 20 * kMicrosecond);
  net.tap = [&](std::vector<std::uint8_t>& f) {
    const std::uint8_t from = f[11];
    if (from == 2) out.h2.push_back(net.now());
    if (from != 1) return true;
    out.h1.push_back(net.now());
    if (out.h1.size() == 100) {
      out.paused_at = net.now();
      for (const auto& frame : frames) net.engine().on_frame(0, frame, net.now());
    }
    return true;
  };
  EXPECT_TRUE(net.run());
  out.results = net.engine().results();
  return out;
}

Nanos longest_gap(const std::vector<Nanos>& sent) {
  Nanos longest = 0;
  for (std::size_t i = 1; i < sent.size(); i++) longest = std::max(longest, sent[i] - sent[i - 1]);
  return longest;
}

TEST(EndpointPfc, ANamedPriorityIsSilentForItsTime) {
  const PausedRun run = run_with({pfc(1U << kPriority, 0xffff)});
  const Nanos time = ll_pfc_time_ns(0xffff, kRate);
  EXPECT_GE(longest_gap(run.h1), time);
  EXPECT_LT(longest_gap(run.h1), time + 10 * kMillisecond);
  EXPECT_LT(longest_gap(run.h2), 50 * kMillisecond) << "the other sender goes on";
  EXPECT_EQ(run.results.hosts[0].rx_pfc, 1U);
  EXPECT_NEAR(run.results.hosts[0].paused_ms, static_cast<double>(time) / 1e6, 0.01);
}

TEST(EndpointPfc, TimeZeroEndsThePause) {
  const PausedRun run = run_with({pfc(1U << kPriority, 0xffff), pfc(1U << kPriority, 0)});
  EXPECT_LT(longest_gap(run.h1), 50 * kMillisecond);
}

TEST(EndpointPfc, OtherPrioritiesAndBadFramesStopNothing) {
  auto bad = pfc(1U << kPriority, 0xffff);
  bad[15] = 0x07;
  const PausedRun run = run_with({pfc(static_cast<std::uint8_t>(~(1U << kPriority)), 0xffff), bad});
  EXPECT_LT(longest_gap(run.h1), 50 * kMillisecond);
  EXPECT_EQ(run.results.hosts[0].rx_pfc, 1U);
  EXPECT_EQ(run.results.hosts[0].rx_pfc_bad, 1U);
}

}  // namespace
}  // namespace lossless::endpoint
