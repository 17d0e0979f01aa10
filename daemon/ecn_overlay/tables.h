// SPDX-License-Identifier: Apache-2.0
// Rows of ECN Overlay (bpf/stages/ecn_overlay.h), worked out from the configuration. Pure.
#pragma once

#include "bpf/stages/ecn_overlay.h"
#include "daemon/core/address.h"
#include "daemon/core/config.h"

namespace lossless::ecn_overlay {

// Whether tunnels are looked after on this port.
bool is_on(const Config& config, const PortConfig& port);
// All zero, which matches no packet, where is_on() is false.
ll_overlay make_row(const Config& config, const PortConfig& port);
// IPv4 as ::ffff:a.b.c.d.
ll_zone_key make_end(const IpAddress& address);

}  // namespace lossless::ecn_overlay
