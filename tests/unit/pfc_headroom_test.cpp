// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/headroom.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <utility>

namespace {

using namespace lossless::pfc;

constexpr std::uint64_t kGbit = 1'000'000'000;

HeadroomInput input(std::uint64_t rate_bps, std::uint32_t mtu, std::uint32_t cable_m,
                    std::uint64_t reaction_ns = 0, std::uint32_t mac_phy = 0) {
  return {.rate_bps = rate_bps,
          .mtu_bytes = mtu,
          .cable_m = cable_m,
          .reaction_ns = reaction_ns,
          .mac_phy_bytes = mac_phy};
}

TEST(Headroom, QuantaOfTheTable) {
  const std::array<std::pair<std::uint64_t, std::uint64_t>, 8> rows{
      {{1, 2}, {10, 67}, {25, 80}, {40, 118}, {50, 147}, {100, 394}, {200, 453}, {400, 905}}};
  for (const auto& [gbit, quanta] : rows) EXPECT_EQ(response_quanta(gbit * kGbit), quanta) << gbit;
}

TEST(Headroom, QuantaBetweenRowsAreRoundedUp) {
  EXPECT_EQ(response_quanta(100'000'000), 2U);
  EXPECT_EQ(response_quanta(2'500'000'000), 13U);  // 2 + 65 * 1.5 / 9 = 12.83
  EXPECT_EQ(response_quanta(kGbit + 1), 3U);
  EXPECT_EQ(response_quanta(75 * kGbit), 271U);    // 147 + 247 / 2 = 270.5
  EXPECT_EQ(response_quanta(800 * kGbit), 1810U);  // twice the row of 400G
  EXPECT_EQ(response_quanta(400 * kGbit + 1), 906U);
}

// 100G, MTU 9100, 300 m, 5 us, MAC/PHY 800: cable 2 * 300 * 1e11 / 8 / 1.98e8 = 37878.8; response 394 * 64.
TEST(Headroom, ByHand100G) {
  const auto result = compute_headroom(input(100 * kGbit, 9100, 300, 5000, 800));
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->reaction_bytes, 62'500U);
  EXPECT_EQ(result->own_mtu_bytes, 9100U);
  EXPECT_EQ(result->cable_bytes, 37'879U);
  EXPECT_EQ(result->mac_phy_bytes, 800U);
  EXPECT_EQ(result->response_bytes, 25'216U);
  EXPECT_EQ(result->peer_mtu_bytes, 9100U);
  EXPECT_EQ(result->propagation_bytes(), 72'995U);
  EXPECT_EQ(result->total_bytes(), 144'595U);
}

// A lab's port: 1G, 4196-byte frames, 1 m, 120 us in software. Cable 2 * 1e9 / 8 / 1.98e8 = 1.26.
TEST(Headroom, ByHand1G) {
  const auto result = compute_headroom(input(kGbit, 4196, 1, 120'000));
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->propagation_bytes(), 4196U + 2 + 128);
  EXPECT_EQ(result->total_bytes(), 15'000U + 4326 + 4196);
}

TEST(Headroom, SlowPortRoundsUpToWholeBytes) {
  const auto result = compute_headroom(input(1, 64, 1, 1));
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->total_bytes(), 1U + 64 + 1 + 0 + 128 + 64);
}

TEST(Headroom, RefusesWhatMakesNoSense) {
  const auto message = [](const HeadroomInput& in) { return compute_headroom(in).error(); };
  EXPECT_EQ(message(input(0, 1500, 1)),
            "headroom cannot be computed: port rate (bit/s) 0 is out of range, must be 1bit to 1600gbit");
  EXPECT_EQ(message(input(kGbit, 0, 1)),
            "headroom cannot be computed: MTU (bytes) 0 is out of range, must be 64 to 65535");
  EXPECT_FALSE(compute_headroom(input(1600 * kGbit + 1, 1500, 1)));
  EXPECT_FALSE(compute_headroom(input(kGbit, 63, 1)));
  EXPECT_FALSE(compute_headroom(input(kGbit, 65'536, 1)));
  EXPECT_FALSE(compute_headroom(input(kGbit, 1500, 100'001)));
  EXPECT_FALSE(compute_headroom(input(kGbit, 1500, 1, 1'000'000'001)));
  EXPECT_FALSE(compute_headroom(input(kGbit, 1500, 1, 0, 1'000'001)));
  EXPECT_TRUE(compute_headroom(input(1600 * kGbit, 65'535, 100'000, 1'000'000'000, 1'000'000)));
}

TEST(Headroom, CheckNamesBothSizes) {
  const HeadroomInput in = input(kGbit, 4196, 1, 120'000);
  EXPECT_FALSE(check_headroom(23'522, in));
  EXPECT_EQ(check_headroom(23'521, in),
            "headroom 23521B is smaller than the 23522B that still arrive after XOFF at 1gbit, MTU 4196, "
            "cable 1 m, "
            "reaction 120000 ns: lossless packets would be dropped");
}

TEST(Headroom, ZeroIsNeverEnough) {
  const std::string message = check_headroom(0, input(kGbit, 1500, 0)).value_or("");
  EXPECT_NE(message.find("headroom 0B is smaller than the 3128B"), std::string::npos) << message;
  EXPECT_TRUE(check_headroom(1'000'000'000, input(0, 1500, 0)));
}

HeadroomInput any_input() {
  return input(*rc::gen::inRange<std::uint64_t>(1, 1600 * kGbit + 1),
               *rc::gen::inRange<std::uint32_t>(64, 65'536), *rc::gen::inRange<std::uint32_t>(0, 100'001),
               *rc::gen::inRange<std::uint64_t>(0, kGbit + 1),
               *rc::gen::inRange<std::uint32_t>(0, 1'000'001));
}

RC_GTEST_PROP(Headroom, IsTheFormula, ()) {
  const HeadroomInput in = any_input();
  const auto result = compute_headroom(in);
  RC_ASSERT(result.has_value());
  const auto rate = static_cast<double>(in.rate_bps);
  const double want = rate * static_cast<double>(in.reaction_ns) / 8e9 + 2.0 * in.mtu_bytes +
                      2.0 * in.cable_m * rate / 1.98e8 / 8 + in.mac_phy_bytes +
                      64.0 * static_cast<double>(response_quanta(in.rate_bps));
  const auto total = static_cast<double>(result->total_bytes());
  RC_ASSERT((total >= want * (1 - 1e-12) && total <= want * (1 + 1e-12) + 2));
}

RC_GTEST_PROP(Headroom, NothingMakesItSmaller, ()) {
  const HeadroomInput in = any_input();
  HeadroomInput more = in;
  more.rate_bps = *rc::gen::inRange<std::uint64_t>(in.rate_bps, 1600 * kGbit + 1);
  more.cable_m = *rc::gen::inRange<std::uint32_t>(in.cable_m, 100'001);
  more.reaction_ns = *rc::gen::inRange<std::uint64_t>(in.reaction_ns, kGbit + 1);
  RC_ASSERT(compute_headroom(more)->total_bytes() >= compute_headroom(in)->total_bytes());
  const std::uint64_t total = compute_headroom(in)->total_bytes();
  RC_ASSERT(!check_headroom(total, in));
  RC_ASSERT(check_headroom(total - 1, in).has_value());
}

}  // namespace
