// SPDX-License-Identifier: Apache-2.0
// Rows of the datapath's maps, worked out from the configuration. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bpf/abi.h"
#include "daemon/core/config.h"

namespace lossless::port {

static_assert(kTcs == LL_TCS && kDscps == LL_DSCPS);

// Whether a port is to have native XDP; `kind` is that of its link, empty for hardware and what a guest takes
// for it.
bool wants_xdp(XdpMode mode, std::string_view kind);

// The priority tables multiplied out, for the port in row `slot` and in port group `group` (0: none).
ll_port make_port_row(const PortConfig& config, std::uint32_t slot, std::uint8_t group = 0);

// Thresholds of one TC; a row with no marking when `queue` has no ECN. `rate_bps` (0: unknown) and `mtu`
// (bytes) give the time that ages the averaged depth while the queue is idle.
ll_wred make_wred_row(const QueueConfig& queue, std::uint64_t rate_bps, unsigned mtu);

// 0 .. 1 as the datapath has it, 2^32-1 = 1.0, and back.
std::uint32_t probability_to_u32(double probability);
double probability_from_u32(std::uint32_t probability);

}  // namespace lossless::port
