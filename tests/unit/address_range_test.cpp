// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/address_range.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace lossless {
namespace {

AddressRange range(std::string_view text) {
  const auto parsed = parse_range(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(AddressRange{});
}

std::string fault(std::string_view text) {
  const auto parsed = parse_range(text);
  EXPECT_FALSE(parsed) << text;
  return parsed ? "" : parsed.error();
}

TEST(AddressRange, ReadsTheThreeForms) {
  EXPECT_TRUE(range("10.0.0.1").single());
  EXPECT_EQ(range("10.0.0.0/30"), (AddressRange{*parse_ip("10.0.0.0"), *parse_ip("10.0.0.3")}));
  EXPECT_EQ(range("10.0.0.5-10.0.1.4"), (AddressRange{*parse_ip("10.0.0.5"), *parse_ip("10.0.1.4")}));
  EXPECT_EQ(range("fd00::/127"), (AddressRange{*parse_ip("fd00::"), *parse_ip("fd00::1")}));
  EXPECT_TRUE(range("0.0.0.0/0").contains(*parse_ip("255.255.255.255")));
  EXPECT_FALSE(range("::/0").contains(*parse_ip("10.0.0.1"))) << "families do not mix";
}

TEST(AddressRange, SaysWhatIsWrong) {
  EXPECT_NE(fault("10.0.0.1/24").find("10.0.0.0/24"), std::string::npos);
  EXPECT_NE(fault("10.0.0.0/33").find("32"), std::string::npos);
  EXPECT_NE(fault("10.0.0.2-10.0.0.1").find("below"), std::string::npos);
  EXPECT_NE(fault("10.0.0.1-fd00::1").find("mixes"), std::string::npos);
  for (const char* text : {"", "10.0.0", "host", "10.0.0.0/", "10.0.0.0/x", "10.0.0.0/-1", "-10.0.0.1",
                           "10.0.0.1-", "fe80::1%eth0"})
    EXPECT_NE(fault(text).find("10.0.0.0/24"), std::string::npos) << text;
}

TEST(AddressRange, WritesTheShortestForm) {
  for (const char* text :
       {"10.0.0.1", "10.0.0.0/24", "0.0.0.0/0", "10.0.0.1-10.0.0.2", "fd00::/64", "::/0", "fd00::1-fd00::3"})
    EXPECT_EQ(to_string(range(text)), text);
  EXPECT_EQ(to_string(range("10.0.0.0-10.0.0.255")), "10.0.0.0/24");
}

TEST(AddressRange, PrefixesCoverExactlyTheRange) {
  rc::check([] {
    const auto a = *rc::gen::arbitrary<std::uint16_t>();
    const auto b = *rc::gen::arbitrary<std::uint16_t>();
    const auto address = [](unsigned n) {
      const std::array<std::uint8_t, 4> bytes{10, 0, static_cast<std::uint8_t>(n >> 8U),
                                              static_cast<std::uint8_t>(n)};
      return IpAddress::v4_of(bytes);
    };
    const AddressRange r{address(std::min(a, b)), address(std::max(a, b))};
    unsigned next = std::min(a, b);
    for (const AddressPrefix& p : prefixes_of(r)) {
      RC_ASSERT(p.address == address(next));
      next += 1U << (32 - p.length);
    }
    RC_ASSERT(next == std::max(a, b) + 1U);
    RC_ASSERT(*parse_range(to_string(r)) == r);
  });
}

TEST(AddressRange, PrefixesAtTheEnds) {
  EXPECT_EQ(prefixes_of(range("0.0.0.0/0")).size(), 1U);
  EXPECT_EQ(prefixes_of(range("::/0")).size(), 1U);
  EXPECT_EQ(prefixes_of(range("0.0.0.1-255.255.255.254")).size(), 62U);
  EXPECT_EQ(prefixes_of(range("255.255.255.255")).size(), 1U);
}

}  // namespace
}  // namespace lossless
