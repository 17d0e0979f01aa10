// SPDX-License-Identifier: Apache-2.0
// What a port's configuration means in DCB. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/net/dcb_plan.h"

namespace lossless::dcb {

// Percentages of the TCs of each WRR group, in proportion to the weights: they add to 100 in each group that
// has TCs, and none is 0. Strict TCs have 0.
net::PerPriority<std::uint8_t> shares_of(const PortConfig& port);

struct PortInput {
  const PortConfig& port;
  const DcbConfig& dcb;
  const std::vector<Application>& applications;
  std::array<std::uint64_t, kTcs> headroom_bytes{};  // of TCs with PFC
  std::uint32_t frame_bytes = 0;                     // longest frame
  std::uint8_t withheld = 0;                         // TCs whose PFC is off now (escape, watchdog)
};

// The parts of `now` that the configuration decides on, as it wants them. Parts that the driver lacks are
// left out; `left_out` says why for those that it has and that cannot be expressed.
net::DcbState wanted_state(const PortInput& input, const net::DcbState& now,
                           std::vector<net::DcbFault>* left_out = nullptr);

}  // namespace lossless::dcb
