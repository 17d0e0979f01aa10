// SPDX-License-Identifier: Apache-2.0
// Work on an instance whose losslessd doesn't run: straight through the loader library.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "cli/environment.h"
#include "cli/outcome.h"

namespace lossless::cli {

// Removes the links, queue trees and pins of `instance` in the network namespace `netns` (a name of
// ip-netns(8), or a path; empty: the current one, else this thread moves into it). Returns the ports given
// back.
std::expected<std::vector<std::string>, Failure> detach_offline(const Environment& env,
                                                                const std::string& instance,
                                                                const std::string& netns);

}  // namespace lossless::cli
