// SPDX-License-Identifier: Apache-2.0
// By what the kernel shares routes with several next hops out, and which one a flow takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bpf/stages/roce.h"
#include "daemon/core/config.h"
#include "daemon/net/netlink_io.h"

namespace lossless::ecmp {

// net.ipv4.fib_multipath_hash_policy and its IPv6 counterpart, of this network namespace.
struct Policy {
  unsigned ipv4 = 0;
  unsigned ipv6 = 0;
  bool operator==(const Policy&) const = default;
};
Result<Policy> read_policy();

// Brings the policies to what is configured and keeps them there.
class HashPolicy {
 public:
  // Writes what differs and reads it back. Call at each look at the configuration, and now and then.
  void apply(const EcmpConfig& config);
  // What they were before goes back.
  void leave();

  const EcmpConfig& config() const { return config_; }
  bool in_force() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  std::uint64_t repaired() const { return repaired_; }

 private:
  EcmpConfig config_;
  std::optional<Policy> original_;
  bool written_ = false;
  std::string error_;
  std::uint64_t repaired_ = 0;
};

struct FlowQuery {
  std::string destination;  // addresses as text, of one family
  std::string source;       // empty: the kernel's choice
  std::uint8_t protocol = 17;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = LL_ROCE_PORT;
};
struct NextHop {
  std::string gateway;  // empty: the destination is on the link
  std::string device;
  auto operator<=>(const NextHop&) const = default;
};
// What the kernel's routing decides for a flow that this machine would send.
Result<NextHop> route_of(net::Netlink& netlink, const FlowQuery& flow);

}  // namespace lossless::ecmp
