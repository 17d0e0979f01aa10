// SPDX-License-Identifier: Apache-2.0
// The host database: who was heard where, who owns an address, who is a member of a zone. Storage and indexes
// alone; switch.h decides what an event means. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/inof/damping.h"
#include "daemon/inof/packet.h"
#include "daemon/inof/zones.h"

namespace lossless::inof {

using HostId = std::uint32_t;
inline constexpr HostId kNoHost = UINT32_MAX;
using PortId = std::uint32_t;  // row of the port in the datapath
inline constexpr PortId kNoPort = UINT32_MAX;

// Who a host is. A local one is known by the port it was heard on, chassis ID and port ID; the access port is
// part of it so that a second host that copies the IDs of the first does not take its place. A remote one by
// the switch it is at.
struct HostKey {
  PortId port = kNoPort;
  std::uint32_t origin = 0;  // router ID of the remote switch
  lldp::Id chassis;
  lldp::Id port_id;
  bool local() const { return port != kNoPort; }
  auto operator<=>(const HostKey&) const = default;
};

enum class HostState : std::uint8_t {
  Offline,
  Online,
  Denied,    // the white list does not allow it
  Conflict,  // another host owns its address
  Damped,    // came and went too often
  Deadlock,  // PFC deadlock on its port
};
std::string_view to_string(HostState state);

struct Membership {
  ZoneId zone = 0;
  std::uint32_t place = 0;  // in the zone's list
};

struct Host {
  HostKey key;
  HostTlv tlv;
  std::shared_ptr<const Bytes> attached;  // what notifications about it carry
  HostState state = HostState::Offline;
  Reason reason = Reason::Normal;  // of the last change
  std::string why;                 // Denied, Conflict: in words
  bool used = false;
  bool present = false;  // heard, and nothing since says that it left
  Micros heard{};        // its last LLDP frame
  Micros changed{};      // of state
  Damping damping;
  std::vector<Membership> zones;  // ascending
  std::list<HostId>::iterator turn;

  bool online() const { return state == HostState::Online; }
  bool subscribed() const { return tlv.subscribes && key.local(); }
};

class Hosts {
 public:
  Host& at(HostId id) { return hosts_[id]; }
  const Host& at(HostId id) const { return hosts_[id]; }
  HostId find(const HostKey& key) const;
  std::size_t size() const { return by_key_.size(); }
  // IDs are below this; some may be unused.
  HostId end() const { return static_cast<HostId>(hosts_.size()); }

  HostId add(HostKey key);
  // Leaves its zones, gives up its claim and is forgotten.
  void remove(HostId id);
  // Local hosts of a port, also those that are offline.
  const std::vector<HostId>& on_port(PortId port) const;

  // Index by address. A host is filed under one address at a time.
  void file(HostId id);
  void unfile(HostId id);
  const std::vector<HostId>& with_address(const IpAddress& address) const;
  // Calls `each` for the hosts whose address is in the range.
  template <class Each>
  void in_range(const AddressRange& range, const Each& each) const {
    for (auto at = by_address_.lower_bound(range.first); at != by_address_.end() && at->first <= range.last;
         ++at)
      for (const HostId id : at->second.known) each(id);
  }
  // Claims: the first one that claims an address owns it until it gives the claim up.
  void claim(HostId id);
  void give_up(HostId id);
  HostId owner(const IpAddress& address) const;

  // Present local hosts in the order they were heard, the longest silent first; remote ones are aged by their
  // own switch.
  void heard(HostId id, Micros now);
  HostId longest_silent() const { return present_.empty() ? kNoHost : present_.front(); }
  // Hosts that left, the earliest first.
  void gone(HostId id);
  HostId longest_gone() const { return gone_.empty() ? kNoHost : gone_.front(); }

  // Zones of a host, ascending. Costs its old and new memberships.
  void set_zones(HostId id, const std::vector<ZoneId>& zones);
  const std::vector<HostId>& members(ZoneId zone) const;
  bool share_zone(HostId a, HostId b) const { return first_shared_zone(a, b) != kMaxZones; }
  // The lowest zone that both are in, kMaxZones if there is none.
  ZoneId first_shared_zone(HostId a, HostId b) const;

 private:
  struct Filed {
    std::vector<HostId> known;
    std::vector<HostId> claims;  // the owner first
  };
  void leave_zone(const Membership& membership);

  std::vector<Host> hosts_;
  std::vector<HostId> free_;
  std::map<HostKey, HostId> by_key_;
  std::map<IpAddress, Filed> by_address_;
  std::vector<std::vector<HostId>> ports_;
  std::vector<std::vector<HostId>> zones_;
  std::list<HostId>& list_of(const Host& host) {
    return !host.present ? gone_ : host.key.local() ? present_ : remote_;
  }
  std::list<HostId> present_;
  std::list<HostId> remote_;
  std::list<HostId> gone_;
};

}  // namespace lossless::inof
