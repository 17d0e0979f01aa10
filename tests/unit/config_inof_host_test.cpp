// SPDX-License-Identifier: Apache-2.0
// [lldp] and [inof_host]: defaults, values, and faults between keys with their place.
#include <gtest/gtest.h>

#include "daemon/core/config.h"

namespace lossless {
namespace {

const std::string kPort = "\n[[port]]\nname = \"eth0\"\n";

std::string first_error(const std::string& text) {
  const auto config = parse_config(text + kPort, "f");
  return config ? "no error" : config.error().front().text();
}

TEST(ConfigInofHost, DefaultsAreOff) {
  const auto config = parse_config(kPort, "f");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->role, SystemRole::Switch);
  EXPECT_FALSE(config->lldp.enabled);
  EXPECT_EQ(config->lldp, LldpConfig{});
  EXPECT_EQ(config->inof_host, InofHostConfig{});
  EXPECT_EQ(config->ports[0].lldp, LldpMode::Both);
}

TEST(ConfigInofHost, Values) {
  const auto config = parse_config(
      "role = \"host\"\n[lldp]\nenabled = true\nmax_neighbors = 9\n[inof_host]\n"
      "dialect = \"china-mobile\"\nrole = \"both\"\nhook = \"program\"\n"
      "program = \"/opt/hook\"" +
          kPort + "lldp = \"rx\"\n",
      "f");
  ASSERT_TRUE(config) << config.error().front().text();
  EXPECT_EQ(config->role, SystemRole::Host);
  EXPECT_EQ(config->lldp.max_neighbors, 9U);
  EXPECT_EQ(config->inof_host.dialect, InofDialect::ChinaMobile);
  EXPECT_EQ(config->inof_host.role, InofRole::Both);
  EXPECT_EQ(config->inof_host.program, "/opt/hook");
  EXPECT_EQ(config->ports[0].lldp, LldpMode::Rx);
}

TEST(ConfigInofHost, FaultsHaveTheirPlace) {
  EXPECT_EQ(first_error("[inof_host]\nport = 1\nhook = \"program\""),
            "f:3:8: inof_host.hook: hook \"program\" needs 'program', the file to run");
  EXPECT_EQ(first_error("[inof_host]\nnvme = \"\""),
            "f:2:8: inof_host.nvme: hook \"nvme\" needs 'nvme', the path of nvme-cli");
  EXPECT_EQ(
      first_error("[inof_host]\nprogram = \"rm -rf\""),
      "f:2:11: inof_host.program: \"rm -rf\" is not allowed; allowed: an absolute path of a file without "
      "control characters, or empty");
  EXPECT_EQ(first_error("[lldp]\nhold = 1"),
            "f:2:8: lldp.hold: 1 is too small; allowed: an integer from 2 to 100");
}

}  // namespace
}  // namespace lossless
