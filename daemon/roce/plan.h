// SPDX-License-Identifier: Apache-2.0
// Rows of the RoCE maps, worked out from the configuration. Pure.
#pragma once

#include <cstdint>

#include "bpf/stages/ipcc.h"
#include "bpf/stages/roce_flow.h"
#include "daemon/core/config.h"

namespace lossless::roce {

ll_roce_config make_roce_config(const RoceConfig& config);

// IPCC of one queue; a row with nothing on when `queue` has none. What the configuration leaves out follows
// from the port's rate (0: not limited, 10 Gbit/s count) and `mtu` (bytes), in frames of that size and in
// time at that rate.
ll_ipcc make_ipcc_row(const QueueConfig& queue, const RoceConfig& roce, std::uint64_t rate_bps, unsigned mtu);

}  // namespace lossless::roce
