// SPDX-License-Identifier: Apache-2.0
// [bgp] and [[bgp_neighbor]]: values, errors, the written form.
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/core/config.h"

namespace lossless {
namespace {

constexpr const char* kGood = R"(
[bgp]
on = true
asn = 4200000001
router_id = "10.0.0.1"
local_pref = 200

[[bgp_neighbor]]
address = "10.0.0.2"
client = true
password = "secret"

[[bgp_neighbor]]
address = "10.0.0.0/24"
asn = 65002
ipv4_unicast = true

[[port]]
name = "p1"
)";

std::string first_error(const std::string& text) {
  const auto got = parse_config(text + "[[port]]\nname = \"p1\"\n", "f");
  return got ? "" : got.error().front().text();
}

TEST(ConfigBgp, Values) {
  const auto got = parse_config(kGood, "f");
  ASSERT_TRUE(got) << got.error().front().text();
  EXPECT_EQ(got->bgp.asn, 4200000001U);
  ASSERT_EQ(got->bgp_neighbors.size(), 2U);
  EXPECT_TRUE(got->bgp_neighbors[0].client && got->bgp_neighbors[0].inof);
  EXPECT_EQ(got->bgp_neighbors[1].asn, 65002U);
}

TEST(ConfigBgp, ComesBackAsWritten) {
  const auto got = parse_config(kGood, "f");
  ASSERT_TRUE(got);
  const auto again = parse_config(to_toml(*got), "g");
  ASSERT_TRUE(again) << again.error().front().text();
  EXPECT_EQ(*again, *got);
}

TEST(ConfigBgp, Errors) {
  EXPECT_EQ(first_error("[bgp]\non = true\n"), "f:2:6: bgp.on: true needs 'asn', the number of our AS");
  EXPECT_EQ(first_error("[bgp]\non = true\nasn = 1\n"),
            "f:2:6: bgp.on: true needs 'router_id', by which other switches know this one");
  EXPECT_EQ(first_error("[bgp]\nhold_s = 2\n"),
            "f:2:10: bgp.hold_s: 2 is too short; allowed: 0 (for ever), or 3 to 65535");
  EXPECT_NE(first_error("[bgp]\nrouter_id = \"0.0.0.0\"\n").find("allowed: an IPv4 address, not 0.0.0.0"),
            std::string::npos);
  EXPECT_NE(first_error("[[bgp_neighbor]]\nclient = true\n").find("lacks 'address'"), std::string::npos);
  EXPECT_NE(
      first_error("[[bgp_neighbor]]\naddress = \"10.0.0.1\"\n[[bgp_neighbor]]\naddress = \"10.0.0.1\"\n")
          .find("is what \"10.0.0.1\" has already"),
      std::string::npos);
  EXPECT_NE(
      first_error("[[bgp_neighbor]]\naddress = \"10.0.0.1\"\nclinet = true\n").find("did you mean 'client'"),
      std::string::npos);
}

TEST(ConfigBgp, ChangesDoNotShowPasswords) {
  auto from = parse_config(kGood, "f");
  auto to = parse_config(kGood, "f");
  ASSERT_TRUE(from && to);
  to->bgp_neighbors[0].password = "other";
  std::ranges::reverse(to->bgp_neighbors);
  const auto changes = diff_config(*from, *to);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].path, "bgp_neighbor.10.0.0.2.password");
  EXPECT_EQ(changes[0].from.find("secret"), std::string::npos);
  EXPECT_EQ(changes[0].to.find("other"), std::string::npos);
}

}  // namespace
}  // namespace lossless
