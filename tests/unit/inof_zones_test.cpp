// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/zones.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/unit/inof_sim.h"

namespace lossless::inof::test {
namespace {

TEST(InofZones, SaysWhatIsWrong) {
  Zones zones;
  ASSERT_TRUE(zones.add("z1"));
  EXPECT_NE(zones.add("z1").error().find("'z1' is there already"), std::string::npos);
  EXPECT_NE(zones.add("default").error().find("allowed"), std::string::npos);
  EXPECT_NE(zones.add("a b").error().find("'a b'"), std::string::npos);
  EXPECT_NE(zones.add("").error().find("allowed"), std::string::npos);
  EXPECT_NE(zones.remove("z2").error().find("zones are default, z1"), std::string::npos);
  EXPECT_NE(zones.remove("default").error().find("cannot be removed"), std::string::npos);
  const AddressRange a = AddressRange::of(ip("10.0.0.1"));
  EXPECT_FALSE(zones.add_member("default", a));
  ASSERT_TRUE(zones.add_member("z1", a));
  EXPECT_NE(zones.add_member("z1", a).error().find("already"), std::string::npos);
  EXPECT_FALSE(zones.remove_member("z1", *parse_range("10.0.0.0/24")));
}

TEST(InofZones, IdsAreUsedAgainAndStaySmall) {
  Zones zones;
  for (std::size_t i = 1; i < kMaxZones; ++i) ASSERT_TRUE(zones.add("z" + std::to_string(i)));
  EXPECT_FALSE(zones.add("one-more"));
  ASSERT_TRUE(zones.remove("z77"));
  EXPECT_LT(*zones.add("one-more"), kMaxZones);
}

// The index against a plain search.
TEST(InofZones, FindsTheZonesOfAnAddress) {
  const auto address = [](unsigned n) { return ip("10.0.0." + std::to_string(n)); };
  rc::check([&] {
    Zones zones;
    std::vector<std::pair<ZoneId, AddressRange>> plain;
    const auto count = *rc::gen::inRange(1, 40);
    for (int i = 0; i < count; ++i) {
      const std::string name = "z" + std::to_string(*rc::gen::inRange(0, 8));
      if (!zones.by_name().contains(name)) (void)zones.add(name);
      const auto x = *rc::gen::inRange(0U, 64U);
      const auto y = *rc::gen::inRange(0U, 64U);
      const AddressRange range{address(std::min(x, y)), address(std::max(x, y))};
      if (const auto id = zones.add_member(name, range)) plain.emplace_back(*id, range);
      if (i % 5 == 4) {
        (void)zones.remove_member(zones.name(plain.back().first), plain.back().second);
        plain.pop_back();
      }
    }
    for (unsigned n = 0; n < 64; ++n) {
      std::set<ZoneId> expected;
      for (const auto& [id, range] : plain)
        if (range.contains(address(n))) expected.insert(id);
      const auto found = zones.of(address(n));
      RC_ASSERT(std::vector<ZoneId>(expected.begin(), expected.end()) == found);
    }
  });
}

}  // namespace
}  // namespace lossless::inof::test
