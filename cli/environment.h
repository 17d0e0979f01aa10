// SPDX-License-Identifier: Apache-2.0
// What losslessctl takes from its surroundings. Tests bring their own.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

namespace lossless::cli {

struct Environment {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  unsigned out_columns = 0;  // width of the terminal, 0 = not limited
  std::string run_dir = "/run/lossless";
  std::string netns_dir = "/run/netns";
  std::function<std::optional<std::string>(const char* name)> variable;
  std::function<std::chrono::steady_clock::time_point()> now;
  std::function<void(std::chrono::milliseconds)> sleep;
};

}  // namespace lossless::cli
