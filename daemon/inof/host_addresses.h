// SPDX-License-Identifier: Apache-2.0
// Which addresses a host announces on which ports. Pure.
#pragma once

#include <vector>

#include "daemon/inof/host_agent.h"
#include "daemon/net/address_io.h"
#include "daemon/net/link_io.h"

namespace lossless::inof {

// Every address of the managed ports (`ports`: their names), and of VLANs, bonds and bridges above them, on
// each port that carries it. Numbers of addresses that were announced before (`old`) stay.
std::vector<HostAddress> plan_addresses(const std::vector<net::Link>& links,
                                        const std::vector<std::string>& ports,
                                        const std::vector<net::InterfaceAddress>& addresses,
                                        const std::vector<HostAddress>& old);

}  // namespace lossless::inof
