// SPDX-License-Identifier: Apache-2.0
#include "bpf/stages/icrc.h"

#include <gtest/gtest.h>

#include "tests/unit/roce_vectors.h"
#include "veth-topo/endpoint/codec.h"

namespace lossless::endpoint {
namespace {

ll_roce parsed(const std::vector<std::uint8_t>& frame) {
  ll_roce r;
  EXPECT_EQ(ll_roce_parse(frame.data(), frame.data() + frame.size(), static_cast<__u32>(frame.size()), &r),
            LL_ROCE_OK);
  return r;
}

std::uint32_t by_table(const std::vector<std::uint8_t>& frame, const ll_roce& r) {
  const auto rest = static_cast<__u32>(r.icrc_at - r.ext_at);
  const auto* ip = frame.data() + r.ip_at;
  return r.ip_version == 6 ? ll_icrc_small6(ip, rest) : ll_icrc_small4(ip, rest);
}

TEST(Icrc, Crc32CheckValue) {
  const std::string digits = "123456789";
  EXPECT_EQ(ll_crc32(0, reinterpret_cast<const __u8*>(digits.data()), 9), 0xcbf43926u);
}

TEST(Icrc, VectorsByBothPaths) {
  const auto vectors = roce_vectors();
  ASSERT_GE(vectors.size(), 10u);
  for (const RoceVector& v : vectors) {
    const ll_roce r = parsed(v.frame);
    const std::uint32_t sent = ll_icrc_get(v.frame.data() + r.icrc_at);
    EXPECT_EQ(frame_icrc(v.frame, r), sent) << v.name;
    if (r.icrc_at - r.ext_at <= static_cast<int>(LL_ICRC_SMALL_MAX)) {
      EXPECT_EQ(by_table(v.frame, r), sent) << v.name;
    }
  }
}

// What routers and markers change must not change the ICRC; anything else must.
TEST(Icrc, EachBitOfTheHeadersIsCoveredOrNot) {
  for (const char* name : {"golden_uc_send_v4", "golden_uc_send_v6"}) {
    const auto& frame = roce_vector(name).frame;
    const ll_roce r = parsed(frame);
    const bool v4 = r.ip_version == 4;
    const std::uint32_t before = frame_icrc(frame, r);
    for (std::size_t at = r.ip_at; at < r.icrc_at; at++) {
      for (int bit = 0; bit < 8; bit++) {
        auto changed = frame;
        changed[at] ^= static_cast<std::uint8_t>(1 << bit);
        const std::size_t ip = at - r.ip_at;
        const std::size_t udp = at - (r.bth_at - 8u);
        const bool ip_free = v4 ? (ip == 1 || ip == 8 || ip == 10 || ip == 11)
                                : ((ip == 0 && bit < 4) || (ip >= 1 && ip <= 3) || ip == 7);
        const bool udp_free = at >= r.bth_at - 8u && (udp == 6 || udp == 7 || udp == 8 + 4);
        EXPECT_EQ(frame_icrc(changed, r) == before, ip_free || udp_free)
            << name << " byte " << at << " bit " << bit;
        EXPECT_EQ(by_table(changed, r), frame_icrc(changed, r));
      }
    }
  }
}

TEST(Icrc, TableStopsAtItsBound) {
  const std::vector<std::uint8_t> zeros(LL_ICRC_SMALL_MAX + 10);
  EXPECT_EQ(ll_crc32(0, zeros.data(), LL_ICRC_SMALL_MAX + 10), ll_crc32(0, zeros.data(), LL_ICRC_SMALL_MAX));
}

TEST(Icrc, PutAndGet) {
  std::array<std::uint8_t, 4> bytes{};
  ll_icrc_put(bytes.data(), 0x11223344);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 4>{0x44, 0x33, 0x22, 0x11}));
  EXPECT_EQ(ll_icrc_get(bytes.data()), 0x11223344u);
}

}  // namespace
}  // namespace lossless::endpoint
