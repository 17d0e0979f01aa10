// SPDX-License-Identifier: Apache-2.0
// Port groups and hook rules as the datapath has them, worked out from the configuration. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "bpf/stages/hook_flow.h"
#include "daemon/core/config.h"

namespace lossless::hook {

// Number of the port's group, LL_HOOK_NO_GROUP without one. Groups count from 1 in the file's order.
std::uint8_t group_of(const Config& config, const std::string& port);

// The rules of a group, LL_HOOK_NO_GROUP or one that is not there: none.
ll_hook make_row(const Config& config, unsigned group);

// TCs that hook flows are moved into, bit by bit.
std::uint8_t target_tcs(const Config& config);

}  // namespace lossless::hook
