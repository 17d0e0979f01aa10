// SPDX-License-Identifier: Apache-2.0
// Suggestions for mistyped words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lossless::cli {

// "; did you mean 'ports'?" for the word that `typed` begins, or else is most like; or nothing.
std::string did_you_mean(std::string_view typed, const std::vector<std::string_view>& words);

// "a, b, c".
template <class Words>
std::string joined(const Words& words) {
  std::string out;
  for (const auto& word : words) out.append(out.empty() ? "" : ", ").append(word);
  return out;
}

}  // namespace lossless::cli
