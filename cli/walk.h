// SPDX-License-Identifier: Apache-2.0
// Follows a command line through the parser's tree without running it: for completion, and to name what is
// wrong better than the parser does.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lossless::cli {

struct Walk {
  const CLI::App* command = nullptr;          // the deepest command named
  std::vector<std::string> positionals;       // its arguments so far
  std::map<std::string, std::string> values;  // options with a value, by long name without dashes
  const CLI::Option* pending = nullptr;       // the last word is an option that still waits for its value
  bool only_positionals = false;              // `--` was there
  std::optional<std::string> unknown;         // a word where one of the command's commands was expected
};

Walk walk(const CLI::App& root, std::span<const std::string> words);

// Names of the commands of `command` that users see.
std::vector<std::string> command_names(const CLI::App& command);

// Whether one of them must follow: it has some, and no arguments of its own (`show pfc` has both).
bool needs_command(const CLI::App& command);

// "losslessctl show ports".
std::string full_name(const CLI::App& command);

}  // namespace lossless::cli
