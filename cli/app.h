// SPDX-License-Identifier: Apache-2.0
// The whole of losslessctl: command line in, exit code out.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/environment.h"

namespace lossless::cli {

// The parser with all commands; parsing fills `options` and chooses `action`.
std::unique_ptr<CLI::App> make_parser(GlobalOptions& options, Action& action);

// Runs losslessctl with `args` (without the program's name).
int run(const std::vector<std::string>& args, Environment& env);

}  // namespace lossless::cli
