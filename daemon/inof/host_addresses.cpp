// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/host_addresses.h"

#include <algorithm>
#include <set>

namespace lossless::inof {
namespace {

constexpr unsigned kMaxLayers = 8;  // VLAN on bond on port is three

class Planner {
 public:
  Planner(const std::vector<net::Link>& links, const std::vector<std::string>& ports,
          const std::vector<HostAddress>& old)
      : links_(links), ports_(ports), old_(old) {}

  void add(const net::InterfaceAddress& entry) {
    const auto link = std::ranges::find(links_, entry.ifindex, &net::Link::ifindex);
    if (link == links_.end()) return;
    std::vector<const net::Link*> carriers;
    find_carriers(*link, kMaxLayers, carriers);
    if (carriers.empty()) return;
    const unsigned index = number_of(link->name, entry.address);
    for (const net::Link* port : carriers) {
      out_.push_back({.port = {.ifindex = port->ifindex, .name = port->name, .mac = port->address},
                      .interface = link->name,
                      .address = entry.address,
                      .index = index,
                      .up = port->up && link->up});
    }
  }
  std::vector<HostAddress> take() { return std::move(out_); }

 private:
  // The managed ports below an interface, each once.
  void find_carriers(const net::Link& link, unsigned layers, std::vector<const net::Link*>& out) const {
    if (std::ranges::find(ports_, link.name) != ports_.end()) {
      if (std::ranges::find(out, &link) == out.end()) out.push_back(&link);
      return;
    }
    if (layers == 0) return;
    for (const net::Link& below : links_)
      if (below.name == link.lower || below.master == link.name) find_carriers(below, layers - 1, out);
  }

  // The number it had, or the lowest that no other address of the interface has.
  unsigned number_of(const std::string& interface, const IpAddress& address) {
    auto& used = used_[interface];
    if (used.empty())
      for (const HostAddress& o : old_)
        if (o.interface == interface) used.insert({o.index, o.address});
    unsigned free = 1;
    for (const auto& [index, owner] : used) {
      if (owner == address) return index;
      if (index == free) ++free;
    }
    used.insert({free, address});
    return free;
  }

  const std::vector<net::Link>& links_;
  const std::vector<std::string>& ports_;
  const std::vector<HostAddress>& old_;
  std::map<std::string, std::set<std::pair<unsigned, IpAddress>>> used_;
  std::vector<HostAddress> out_;
};

}  // namespace

std::vector<HostAddress> plan_addresses(const std::vector<net::Link>& links,
                                        const std::vector<std::string>& ports,
                                        const std::vector<net::InterfaceAddress>& addresses,
                                        const std::vector<HostAddress>& old) {
  Planner planner(links, ports, old);
  for (const net::InterfaceAddress& entry : addresses) planner.add(entry);
  return planner.take();
}

}  // namespace lossless::inof
