// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/drift.h"

#include <algorithm>
#include <utility>

namespace lossless::pfc {

std::vector<std::uint32_t> DriftWatch::rows(const Looks& looks, const GracePeriods& now) {
  const auto known = std::exchange(rows_, {});
  std::vector<std::uint32_t> drifted;
  for (const auto& [row, look] : looks) {
    if (look.after == Level{} || look.before != look.after || look.queues.waiting > 0) continue;
    const Row seen{look.after, look.queues.passed};
    const auto at = known.find(row);
    const bool again = at != known.end() && at->second.seen == seen;
    if (again && now.ended > at->second.begun)
      drifted.push_back(row);
    else
      rows_[row] = {seen, again ? at->second.begun : now.begun};
  }
  return drifted;
}

DriftWatch::Sums DriftWatch::pools(const Sums& too_much, const GracePeriods& now) {
  Sums drift{};
  for (unsigned pool = 0; pool < LL_POOLS; ++pool) {
    auto& known = pools_[pool];
    if (too_much[pool] == 0) {
      known.reset();
    } else if (!known || known->seen != too_much[pool]) {
      known = {too_much[pool], now.begun};
    } else if (now.ended > known->begun) {
      drift[pool] = too_much[pool];
      known.reset();
    }
  }
  return drift;
}

bool DriftWatch::suspects() const {
  return suspects_rows() || std::ranges::any_of(pools_, [](const auto& pool) { return pool.has_value(); });
}

}  // namespace lossless::pfc
