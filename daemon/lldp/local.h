// SPDX-License-Identifier: Apache-2.0
// What LLDP says about this machine, from the configuration and what the kernel has. Pure.
#pragma once

#include <string>
#include <vector>

#include "daemon/lldp/agent.h"
#include "daemon/net/address_io.h"
#include "daemon/net/link_io.h"

namespace lossless::lldp {

// What the machine is, as far as it does not change while the daemon runs.
struct Machine {
  std::string host_name;
  std::string description;  // "Lossless 0.1.0 on Linux 6.12.0"
  bool routes = false;      // IP forwarding is on
};

Timing timing_of(const LldpConfig& config);
// A chassis has one MAC address whatever happens to its ports: `chosen` stays once it is set. Else the lowest
// of the ports'.
Mac choose_chassis(const Mac& chosen, const std::vector<net::Link>& ports);
LocalSystem describe_system(const LldpConfig& config, const Machine& machine, const Mac& chassis,
                            const std::vector<net::Link>& ports);
// Management addresses: the port's own, else the first IPv4 and the first IPv6 address of the machine.
LocalPort describe_port(const net::Link& port, const std::vector<net::InterfaceAddress>& addresses);

}  // namespace lossless::lldp
