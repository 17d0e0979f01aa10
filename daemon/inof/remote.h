// SPDX-License-Identifier: Apache-2.0
// Between this switch and what tells it of other switches (BGP): remote hosts come in as calls of Switch
// (remote_joined, remote_left, remote_switch_lost), local facts go out by this interface.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/address_range.h"
#include "daemon/inof/hosts.h"

namespace lossless::inof {

// A host at another switch.
struct RemoteHost {
  std::uint32_t origin = 0;  // router ID of its switch
  lldp::Id chassis;
  lldp::Id port_id;
  HostTlv tlv;
};

// The configuration of other switches as it is in force here.
struct RemoteConfig {
  struct Zone {
    std::set<AddressRange> members;
    bool overrides = false;  // ours of that name does not count; else both do
    bool operator==(const Zone&) const = default;
  };
  std::map<std::string, Zone, std::less<>> zones;
  std::optional<bool> default_zone;  // instead of ours
  std::optional<bool> hard_zoning;
  // By zone: what switches say of it that is not in force, in words. "default" for the two switches.
  std::map<std::string, std::vector<std::string>, std::less<>> disagreements;
  bool operator==(const RemoteConfig&) const = default;
};

// What other switches have to know. Called from the event loop while the change is being made: take a copy,
// do not call back.
class RemoteSink {
 public:
  virtual ~RemoteSink() = default;
  // A local host came online, changed, or left.
  virtual void local_host(const Host& host, bool online) = 0;
  virtual void zone(std::string_view name, bool there) = 0;
  virtual void zone_member(std::string_view name, const AddressRange& member, bool there) = 0;
  virtual void default_zone(bool on) = 0;
  virtual void hard_zoning(bool on) = 0;
};

}  // namespace lossless::inof
