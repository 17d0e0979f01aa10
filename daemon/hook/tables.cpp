// SPDX-License-Identifier: Apache-2.0
#include "daemon/hook/tables.h"

#include <algorithm>

namespace lossless::hook {

std::uint8_t group_of(const Config& config, const std::string& port) {
  const auto group = std::ranges::find_if(config.port_groups, [&](const PortGroup& g) {
    return std::ranges::find(g.ports, port) != g.ports.end();
  });
  if (group == config.port_groups.end()) return LL_HOOK_NO_GROUP;
  return static_cast<std::uint8_t>(group - config.port_groups.begin() + 1);
}

ll_hook make_row(const Config& config, unsigned group) {
  ll_hook row{};
  if (group == LL_HOOK_NO_GROUP || group > config.port_groups.size()) return row;
  for (const HookRule& rule : config.hook_rules) {
    if (!rule.is_for(config.port_groups[group - 1])) continue;
    for (const std::uint8_t dscp : rule.dscp)
      row.by_dscp[dscp] = {.on = 1,
                           .dscp = static_cast<__u8>(rule.to_dscp),
                           .dot1p = static_cast<__u8>(rule.dot1p),
                           .tc = static_cast<__u8>(rule.tc)};
  }
  return row;
}

std::uint8_t target_tcs(const Config& config) {
  unsigned tcs = 0;
  for (const HookRule& rule : config.hook_rules) tcs |= 1U << rule.tc;
  return static_cast<std::uint8_t>(tcs);
}

}  // namespace lossless::hook
