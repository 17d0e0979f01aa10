// SPDX-License-Identifier: Apache-2.0
#include "cli/suggest.h"

#include <algorithm>

#include "daemon/core/config_source.h"

namespace lossless::cli {

std::string did_you_mean(std::string_view typed, const std::vector<std::string_view>& words) {
  if (typed.empty()) return "";
  const auto begun =
      std::ranges::find_if(words, [typed](std::string_view word) { return word.starts_with(typed); });
  const auto word = begun != words.end() ? std::optional(*begun) : nearest(typed, words);
  return word ? "; did you mean '" + std::string(*word) + "'?" : "";
}

}  // namespace lossless::cli
