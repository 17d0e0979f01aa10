// SPDX-License-Identifier: Apache-2.0
// Which hosts may join where. Off: any host on any port. On: what no entry allows is denied. Pure.
#pragma once

#include <optional>
#include <string>

#include "daemon/core/config.h"

namespace lossless::inof {

// Why a host with this address may not join on this port; nothing if it may.
std::optional<std::string> denied(const InofWhitelistConfig& list, const std::string& port,
                                  const IpAddress& address);

}  // namespace lossless::inof
