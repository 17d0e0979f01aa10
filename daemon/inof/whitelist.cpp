// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/whitelist.h"

#include <algorithm>

namespace lossless::inof {

std::optional<std::string> denied(const InofWhitelistConfig& list, const std::string& port,
                                  const IpAddress& address) {
  if (!list.on || std::ranges::find(list.exceptions, port) != list.exceptions.end()) return std::nullopt;
  bool port_listed = false;
  std::string elsewhere;
  for (const InofAllowConfig& entry : list.allow) {
    const bool allowed =
        std::ranges::any_of(entry.hosts, [&](const AddressRange& r) { return r.contains(address); });
    if (allowed && entry.port == port) return std::nullopt;
    if (allowed) elsewhere = entry.port;
    if (entry.port == port) port_listed = true;
  }
  if (!elsewhere.empty()) return "the white list allows it on " + elsewhere + " only";
  if (port_listed) return "not in the white list of " + port;
  return "the white list allows nobody on " + port;
}

}  // namespace lossless::inof
