// SPDX-License-Identifier: Apache-2.0
// Interfaces of the namespace: what they are, and when they come and go.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/net/netlink_io.h"
#include "daemon/net/port_ref.h"

namespace lossless::net {

struct Link {
  int ifindex = 0;
  std::string name;
  unsigned mtu = 0;       // bytes, without the Ethernet header
  bool up = false;        // administratively up and with carrier
  bool ethernet = false;  // frames carry an Ethernet header
  bool loopback = false;
  std::string kind;    // veth, bridge, vlan, …; empty for hardware
  std::string master;  // bridge or bond it belongs to
  std::string lower;   // that a VLAN lies on; in this namespace
  unsigned tx_queues = 1;
  std::array<std::uint8_t, 6> address{};  // Ethernet address; zero where there is none
  bool operator==(const Link&) const = default;
};

// The port as protocols know it.
inline PortRef ref_of(const Link& link) {
  return {.ifindex = link.ifindex, .name = link.name, .mac = link.address};
}

// What an event says of a link; nothing: it is about something else.
struct LinkNews {
  int ifindex = 0;
  bool up = false;  // as in Link; false when the interface is gone
};
std::optional<LinkNews> read_link_news(nlmsghdr* event);

Result<std::vector<Link>> list_links(Netlink& netlink);
// Driver name by ethtool, empty where there is none.
std::string driver_of(const std::string& name);

}  // namespace lossless::net
