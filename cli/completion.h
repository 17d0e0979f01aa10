// SPDX-License-Identifier: Apache-2.0
// What a shell offers for a half-written command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.h"

namespace lossless::cli {

struct Candidate {
  std::string word;  // the whole word, also behind a "KEY="
  std::string description;
  bool operator==(const Candidate&) const = default;
};

// Stands for file names, which the shell knows better.
inline constexpr std::string_view kFiles = ":files";

// Where names come from that the parser doesn't know.
struct Names {
  std::function<std::vector<std::string>(const std::string& instance, const std::string& socket)> ports;
  std::function<std::vector<std::string>()> instances;
  std::function<std::vector<std::string>()> netns;
};

// Candidates for the last of `words`, which may be empty.
std::vector<Candidate> complete(const CLI::App& root, std::span<const std::string> words, const Names& names);

// Names from the daemon, the run directory and the namespaces. Quick and silent: no daemon, no ports.
Names system_names(const Environment& env);

// The script for "bash" or "zsh", which calls `losslessctl __complete WORD...`.
std::string_view completion_script(std::string_view shell);

}  // namespace lossless::cli
