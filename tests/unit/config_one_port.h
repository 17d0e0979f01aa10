// SPDX-License-Identifier: Apache-2.0
// Configurations of one port, for tests of what stands beside it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "daemon/core/config.h"

namespace lossless {

inline const std::string kPort = "[[port]]\nname = \"eth0\"\n";

inline Config parsed(const std::string& text) {
  const auto config = parse_config(text + kPort, "x.toml");
  EXPECT_TRUE(config) << config.error().front().text();
  return config.value_or(Config{});
}

inline std::string first_error(const std::string& text) {
  const auto config = parse_config(text + kPort, "x.toml");
  return config ? "no error" : config.error().front().text();
}

}  // namespace lossless
