// SPDX-License-Identifier: Apache-2.0
// Rows of DCQCN on a host (bpf/stages/dcqcn_host.h), worked out from the configuration. Pure.
#pragma once

#include <cstdint>

#include "bpf/stages/dcqcn_host.h"
#include "daemon/core/config.h"

namespace lossless::dcqcn {

bool is_on(const Config& config);
// Whether the ports' queues should pace (and need the qdisc fq).
bool wants_pacing(const Config& config);
// LL_HOST_* of every port; `paces`: the queues do.
std::uint8_t flags(const Config& config, bool paces);

// A port without a rate is taken to run at this one, bits per second.
inline constexpr std::uint64_t kAssumedLine = 10'000'000'000;
ll_dcqcn_params make_params(const DcqcnConfig& config);
ll_host make_row(const DcqcnConfig& config, const PortConfig& port);

}  // namespace lossless::dcqcn
