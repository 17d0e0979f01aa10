// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/shares.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace lossless {

std::array<std::uint8_t, kTcs> percent_shares(const std::array<unsigned, kTcs>& weights) {
  constexpr unsigned kAll = 100;
  std::array<std::uint8_t, kTcs> out{};
  const unsigned total = std::accumulate(weights.begin(), weights.end(), 0U);
  if (total == 0) return out;
  unsigned given = 0;
  std::vector<std::pair<unsigned, std::size_t>> rests;  // remainder, TC
  for (std::size_t tc = 0; tc < kTcs; ++tc) {
    if (weights[tc] == 0) continue;
    const unsigned scaled = weights[tc] * kAll;
    out[tc] = static_cast<std::uint8_t>(std::max(scaled / total, 1U));
    given += out[tc];
    rests.emplace_back(scaled % total, tc);
  }
  std::ranges::sort(rests, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (std::size_t i = 0; given < kAll; i = (i + 1) % rests.size(), ++given) ++out[rests[i].second];
  for (; given > kAll; --given) --*std::ranges::max_element(out);
  return out;
}

}  // namespace lossless
