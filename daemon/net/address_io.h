// SPDX-License-Identifier: Apache-2.0
// IP addresses of the namespace's interfaces.
#pragma once

#include <vector>

#include "daemon/core/address.h"
#include "daemon/net/netlink_io.h"

namespace lossless::net {

struct InterfaceAddress {
  int ifindex = 0;
  IpAddress address = {};
  auto operator<=>(const InterfaceAddress&) const = default;
};

// Addresses of global scope that are in use: no link-local ones, none that is still being checked for a
// duplicate or turned out to be one. In the kernel's order: an interface's first address is its primary one.
Result<std::vector<InterfaceAddress>> list_addresses(Netlink& netlink);

}  // namespace lossless::net
