// SPDX-License-Identifier: Apache-2.0
// Zones and switches that other switches have configured, on top of our own (remote.h).
#include <algorithm>
#include <set>
#include <utility>

#include "daemon/inof/switch.h"

namespace lossless::inof {

Zones& Switch::own_zones(std::string_view name) {
  return remote_config_.zones.contains(name) ? beneath_ : zones_;
}

const Zones& Switch::own_zones(std::string_view name) const {
  return remote_config_.zones.contains(name) ? beneath_ : zones_;
}

std::vector<std::string> Switch::own_zone_names() const {
  std::set<std::string> out;
  for (const auto& [name, id] : zones_.by_name())
    if (!remote_config_.zones.contains(name)) out.insert(name);
  for (const auto& [name, id] : beneath_.by_name()) out.insert(name);
  return {out.begin(), out.end()};
}

// nullptr: the zone goes.
void Switch::set_members(std::string_view name, const std::set<AddressRange>* wanted) {
  const auto at = zones_.by_name().find(name);
  std::set<AddressRange> have;
  if (at != zones_.by_name().end()) have = zones_.members(at->second);
  std::set<AddressRange> changed;
  if (!wanted) {
    if (at == zones_.by_name().end()) return;
    (void)zones_.remove(name);
    return rezone_ranges(have);
  }
  if (at == zones_.by_name().end() && !zones_.add(name)) return;  // more zones than there is room for
  for (const AddressRange& member : have)
    if (!wanted->contains(member) && zones_.remove_member(name, member)) changed.insert(member);
  for (const AddressRange& member : *wanted)
    if (!have.contains(member) && zones_.add_member(name, member)) changed.insert(member);
  rezone_ranges(changed);
}

bool Switch::sync_zone(std::string_view name) {
  const auto theirs = remote_config_.zones.find(name);
  if (theirs == remote_config_.zones.end()) return false;
  std::set<AddressRange> members = theirs->second.members;
  const auto ours = beneath_.by_name().find(name);
  if (!theirs->second.overrides && ours != beneath_.by_name().end())
    for (const AddressRange& member : beneath_.members(ours->second)) members.insert(member);
  set_members(name, &members);
  return true;
}

void Switch::sync_switches() {
  const bool default_zone = remote_config_.default_zone.value_or(own_default_zone_);
  if (std::exchange(config_.default_zone, default_zone) != default_zone) rezone_all();
  config_.hard_zoning = remote_config_.hard_zoning.value_or(own_hard_zoning_);
}

void Switch::set_remote_config(RemoteConfig config) {
  const RemoteConfig before = std::exchange(remote_config_, std::move(config));
  // Ours goes beneath what is there now, and comes back from what is gone.
  for (const auto& [name, zone] : remote_config_.zones) {
    const auto at = zones_.by_name().find(name);
    if (before.zones.contains(name) || at == zones_.by_name().end()) continue;
    (void)beneath_.add(name);
    for (const AddressRange& member : zones_.members(at->second)) (void)beneath_.add_member(name, member);
  }
  for (const auto& [name, zone] : before.zones) {
    if (remote_config_.zones.contains(name)) continue;
    const auto ours = beneath_.by_name().find(name);
    if (ours == beneath_.by_name().end()) {
      set_members(name, nullptr);
    } else {
      const std::set<AddressRange> members = beneath_.members(ours->second);
      set_members(name, &members);
      (void)beneath_.remove(name);
    }
  }
  for (const auto& [name, zone] : remote_config_.zones) {
    const auto at = before.zones.find(name);
    if (at == before.zones.end() || at->second != zone) sync_zone(name);
  }
  sync_switches();
}

}  // namespace lossless::inof
