// SPDX-License-Identifier: Apache-2.0
#include "cli/nearest.h"

#include <algorithm>

namespace lossless::cli {
namespace {

// Edit distance with swaps of neighbours (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view typed, const std::vector<std::string>& words) {
  constexpr std::size_t kLongest = 64;  // nobody mistypes more; bounds the work
  if (typed.empty() || typed.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const auto& word : words) {
    const std::size_t d = word.starts_with(typed) ? 0 : distance(typed, word);
    if (d < best_distance) {
      best = word;
      best_distance = d;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words) {
  const auto word = nearest(typed, words);
  return word ? "; did you mean '" + *word + "'?" : "";
}

}  // namespace lossless::cli
