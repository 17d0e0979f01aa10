// SPDX-License-Identifier: Apache-2.0
// Keeps ECN Overlay's rows as the configuration and this machine's addresses are. Owned by the event loop's
// thread.
#pragma once

#include <set>
#include <vector>

#include "daemon/core/address.h"
#include "daemon/port/service.h"

namespace lossless::ecn_overlay {

class EcnOverlayService {
 public:
  EcnOverlayService(net::Netlink& netlink, const Maps& maps) : netlink_(netlink), maps_(maps) {}

  // Call after each configure() or reconcile() of the ports, and when addresses changed.
  void apply(const Config& config, const std::vector<port::Port>& ports);

  // Addresses at which tunnels are taken to begin and end.
  const std::set<IpAddress>& ends() const { return ends_; }
  ll_overlay_stats stats(const port::Port& port) const { return maps_.overlay_stats.sum(port.slot); }

 private:
  void follow_addresses(bool on);

  net::Netlink& netlink_;
  const Maps& maps_;
  std::set<IpAddress> ends_;
};

}  // namespace lossless::ecn_overlay
