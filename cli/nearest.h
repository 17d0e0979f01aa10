// SPDX-License-Identifier: Apache-2.0
// Suggestions for mistyped words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lossless::cli {

// The word closest to `typed`: fewest insertions, deletions, replacements and swaps of neighbours; at most
// a third of the letters, and at least one. A word that `typed` begins counts as closest.
std::optional<std::string> nearest(std::string_view typed, const std::vector<std::string>& words);

// "; did you mean 'ports'?" or nothing.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words);

}  // namespace lossless::cli
