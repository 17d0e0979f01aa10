// SPDX-License-Identifier: Apache-2.0
// This host's connected QPs, from the RDMA stack's own netlink (as `rdma resource show qp` has them).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "daemon/net/netlink_io.h"

namespace lossless::dcqcn {

struct Qp {
  int ifindex = 0;  // of the interface that its packets use
  std::uint32_t qpn = 0;
  std::uint32_t peer_qpn = 0;
  auto operator<=>(const Qp&) const = default;
};

class RdmaStack {
 public:
  // An error where the kernel has no RDMA stack.
  static Result<RdmaStack> open();
  // RC and UC QPs that have a peer, on devices whose interfaces are in this network namespace.
  Result<std::vector<Qp>> list_qps();

 private:
  explicit RdmaStack(net::Netlink netlink) : netlink_(std::move(netlink)) {}
  Result<std::vector<std::uint32_t>> list_devices();
  // Port number -> interface.
  Result<std::map<std::uint32_t, int>> list_ports(std::uint32_t device);

  net::Netlink netlink_;
};

}  // namespace lossless::dcqcn
