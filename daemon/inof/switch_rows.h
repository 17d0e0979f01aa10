// SPDX-License-Identifier: Apache-2.0
// Rows of the datapath's maps that the iNOF switch keeps. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "daemon/inof/switch.h"

namespace lossless::inof {

ll_zone_key zone_key(const IpAddress& address);

// `bits` only for a host with more zones than the row lists.
struct ZoneRow {
  ll_zone_host host{};
  std::optional<ll_zone_bits> bits;
};
ZoneRow zone_row(const AddressRow& row);

// LL_GUARD_* of a port.
std::uint8_t guard_of(const InofConfig& config, const std::string& port);

// The white list's rows for one port in row `slot`.
std::vector<ll_allow_key> allow_rows(const InofWhitelistConfig& list, const std::string& port,
                                     std::uint32_t slot);

}  // namespace lossless::inof
