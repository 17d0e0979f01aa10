// SPDX-License-Identifier: Apache-2.0
#include "daemon/hook/service.h"

#include <algorithm>
#include <cstring>

#include "daemon/hook/tables.h"

namespace lossless::hook {

Status HookService::configure(const Config& config) {
  for (std::uint32_t group = 0; group < LL_HOOK_GROUPS; ++group) {
    const ll_hook row = make_row(config, group);
    std::optional<ll_hook>& last = rows_[group];
    if (last && std::memcmp(&*last, &row, sizeof row) == 0) continue;
    if (auto ok = maps_.hooks.set(group, row); !ok) return ok;
    last = row;
  }
  return {};
}

std::vector<Flow> HookService::flows() const {
  std::vector<Flow> all;
  for (const ll_hook_key& key : maps_.hook_flows.keys())
    if (const auto seen = maps_.hook_flows.get(key)) all.push_back({key, *seen});
  std::ranges::sort(
      all, [](const Flow& a, const Flow& b) { return std::memcmp(&a.key, &b.key, sizeof a.key) < 0; });
  return all;
}

std::optional<std::string> HookService::poll(const std::vector<std::pair<std::string, std::uint32_t>>& ports,
                                             Clock::time_point now) {
  std::uint64_t packets = 0;
  std::string where;
  for (const auto& [name, slot] : ports) {
    const ll_hook_stats stats = maps_.hook_stats.sum(slot);
    const std::uint64_t here = stats.moved + stats.other + stats.failed;
    packets += here;
    if (here > 0) where += (where.empty() ? "" : ", ") + name;
  }
  const bool more = packets > packets_;
  packets_ = packets;
  if (!more) return std::nullopt;
  const bool news = !last_seen_ || now - *last_seen_ >= kQuiet;
  last_seen_ = now;
  if (!news) return std::nullopt;
  return "hook flows: packets come in and leave by ports of one group (out by " + where +
         "); `losslessctl show pfc hook-flows` lists them";
}

}  // namespace lossless::hook
