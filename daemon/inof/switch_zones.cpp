// SPDX-License-Identifier: Apache-2.0
// Zones of the iNOF switch: who is told of whom, and what a change of a zone means for its members.
#include <algorithm>
#include <set>
#include <utility>

#include "daemon/inof/switch.h"

namespace lossless::inof {
namespace {

template <class T>
std::vector<T> without(std::vector<T> from, std::vector<T> what) {
  std::ranges::sort(from);
  std::ranges::sort(what);
  std::vector<T> out;
  std::ranges::set_difference(from, what, std::back_inserter(out));
  return out;
}

}  // namespace

std::vector<ZoneId> Switch::zones_of(const IpAddress& address) const {
  std::vector<ZoneId> zones = zones_.of(address);
  if (zones.empty() && config_.default_zone) zones.push_back(kDefaultZone);
  return zones;
}

// Online hosts that share a zone with it, each once. Costs the members of its zones.
std::vector<HostId> Switch::online_mates(HostId id) const {
  std::vector<HostId> out;
  if (marks_.size() < hosts_.end()) marks_.resize(hosts_.end());
  if (++stamp_ == 0) {
    std::ranges::fill(marks_, 0U);
    stamp_ = 1;
  }
  marks_[id] = stamp_;
  for (const Membership& m : hosts_.at(id).zones) {
    for (const HostId mate : hosts_.members(m.zone)) {
      if (marks_[mate] == stamp_) continue;
      marks_[mate] = stamp_;
      if (hosts_.at(mate).online()) out.push_back(mate);
    }
  }
  return out;
}

Fact Switch::fact_of(const Host& host, State state, Reason reason) const {
  return {.subject = host.tlv.address, .state = state, .reason = reason, .attached = host.attached};
}

void Switch::tell_of(HostId subscriber, HostId subject, State state, Reason reason) {
  if (hosts_.at(subscriber).subscribed())
    notifier_.tell(subscriber, fact_of(hosts_.at(subject), state, reason));
}

void Switch::tell_mates(HostId id, State state, Reason reason) {
  for (const HostId mate : online_mates(id)) tell_of(mate, id, state, reason);
}

// Member by member through the subscriber's zones. Whoever shares several zones is met in the first of them.
// A host that joins a list that was walked already is told of by its own event.
std::optional<Fact> Switch::walk(HostId subscriber, Cursor& cursor, bool all) const {
  const Host& self = hosts_.at(subscriber);
  for (; cursor.zone < self.zones.size(); ++cursor.zone, cursor.member = 0) {
    const ZoneId zone = self.zones[cursor.zone].zone;
    const std::vector<HostId>& members = hosts_.members(zone);
    while (cursor.member < members.size()) {
      const HostId id = members[cursor.member++];
      const Host& host = hosts_.at(id);
      // An address of which another host is the owner is told of with that one.
      const bool tells = host.online() || (all && host.state == HostState::Offline &&
                                           hosts_.owner(host.tlv.address) == kNoHost);
      if (id == subscriber || !tells || hosts_.first_shared_zone(subscriber, id) != zone) continue;
      return fact_of(host, host.online() ? State::Online : State::Offline,
                     host.online() ? Reason::Normal : host.reason);
    }
  }
  return std::nullopt;
}

// Tells both sides of every pair that came together or was parted.
void Switch::tell_pairs(HostId id, const std::vector<HostId>& before, const std::vector<HostId>& after) {
  for (const HostId mate : without(before, after)) {
    tell_of(mate, id, State::Offline, Reason::RemovedFromZone);
    tell_of(id, mate, State::Offline, Reason::RemovedFromZone);
  }
  for (const HostId mate : without(after, before)) {
    tell_of(mate, id, State::Online, Reason::Normal);
    tell_of(id, mate, State::Online, Reason::Normal);
  }
}

// All at once, so that two hosts that go from one zone to another together are not parted in between. More
// than kTogether are taken one after the other, since each keeps a list of its mates.
void Switch::rezone(std::span<const HostId> ids) {
  constexpr std::size_t kTogether = 512;
  if (ids.size() > kTogether) {
    rezone(ids.first(kTogether));
    return rezone(ids.subspan(kTogether));
  }
  std::vector<std::vector<HostId>> before;
  for (const HostId id : ids) before.push_back(online_mates(id));
  for (const HostId id : ids) {
    hosts_.set_zones(id, zones_of(hosts_.at(id).tlv.address));
    touch(hosts_.at(id));
  }
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (hosts_.at(ids[i]).online()) tell_pairs(ids[i], before[i], online_mates(ids[i]));
}

void Switch::rezone_ranges(const std::set<AddressRange>& ranges) {
  std::set<HostId> affected;
  for (const AddressRange& range : ranges) {
    if (range.single()) actions_.rows.insert(range.first);
    hosts_.in_range(range, [&](HostId id) { affected.insert(id); });
  }
  rezone(std::vector<HostId>(affected.begin(), affected.end()));
}

void Switch::rezone_all() {
  for (HostId id = 0; id < hosts_.end(); ++id)
    if (hosts_.at(id).used) rezone(std::span(&id, 1));
  for (const auto& [address, zones] : zones_.singles()) actions_.rows.insert(address);
}

Switch::Done Switch::add_zone(std::string_view name, Micros) {
  if (auto id = own_zones(name).add(name); !id) return std::unexpected(id.error());
  sync_zone(name);
  if (remote_) remote_->zone(name, true);
  return {};
}

Switch::Done Switch::remove_zone(std::string_view name, Micros) {
  Zones& own = own_zones(name);
  const auto id = own.find(name);
  std::set<AddressRange> members;
  if (id) members = own.members(*id);
  if (auto removed = own.remove(name); !removed) return std::unexpected(removed.error());
  if (!sync_zone(name)) rezone_ranges(members);
  if (remote_) remote_->zone(name, false);
  return {};
}

Switch::Done Switch::add_member(std::string_view zone, const AddressRange& member, Micros) {
  if (auto id = own_zones(zone).add_member(zone, member); !id) return std::unexpected(id.error());
  if (!sync_zone(zone)) rezone_ranges({member});
  if (remote_) remote_->zone_member(zone, member, true);
  return {};
}

Switch::Done Switch::remove_member(std::string_view zone, const AddressRange& member, Micros) {
  if (auto id = own_zones(zone).remove_member(zone, member); !id) return std::unexpected(id.error());
  if (!sync_zone(zone)) rezone_ranges({member});
  if (remote_) remote_->zone_member(zone, member, false);
  return {};
}

void Switch::set_default_zone(bool on, Micros) {
  const bool changed = std::exchange(own_default_zone_, on) != on;
  sync_switches();
  if (changed && remote_) remote_->default_zone(on);
}

void Switch::set_hard_zoning(bool on) {
  const bool changed = std::exchange(own_hard_zoning_, on) != on;
  sync_switches();
  if (changed && remote_) remote_->hard_zoning(on);
}

void Switch::apply_members(const InofZoneConfig& zone) {
  const Zones& own = own_zones(zone.name);
  const ZoneId id = *own.find(zone.name);
  const std::vector<AddressRange> old(own.members(id).begin(), own.members(id).end());
  for (const AddressRange& member : without(old, zone.hosts)) (void)remove_member(zone.name, member, {});
  for (const AddressRange& member : without(zone.hosts, old)) (void)add_member(zone.name, member, {});
}

// Only differences, so that a reload tells nobody what did not change.
void Switch::apply_zones(const std::vector<InofZoneConfig>& zones) {
  std::set<std::string_view> wanted;
  for (const InofZoneConfig& zone : zones) wanted.insert(zone.name);
  for (const std::string& name : own_zone_names())
    if (!wanted.contains(name)) (void)remove_zone(name, {});
  for (const InofZoneConfig& zone : zones) {
    if (!own_zones(zone.name).by_name().contains(zone.name) && !add_zone(zone.name, {})) continue;
    apply_members(zone);
  }
}

void Switch::configure(const InofConfig& config, Micros now) {
  const bool default_zone = config_.default_zone;
  const bool hard_zoning = config_.hard_zoning;
  config_ = config;
  config_.zones.clear();
  config_.default_zone = default_zone;
  config_.hard_zoning = hard_zoning;
  notifier_.set_timers(
      {.retransmit = std::chrono::milliseconds(config.retransmit_ms), .limit = config.retransmit_limit});
  apply_zones(config.zones);
  set_default_zone(config.default_zone, now);
  set_hard_zoning(config.hard_zoning);
  for (HostId id = 0; id < hosts_.end(); ++id)
    if (hosts_.at(id).used) settle(id, Reason::Normal, now);
}

InofConfig Switch::running() const {
  InofConfig out = config_;
  out.default_zone = own_default_zone_;
  out.hard_zoning = own_hard_zoning_;
  for (const std::string& name : own_zone_names()) {
    const Zones& own = own_zones(name);
    const auto& members = own.members(*own.find(name));
    out.zones.push_back({name, {members.begin(), members.end()}});
  }
  return out;
}

std::optional<AddressRow> Switch::row(const IpAddress& address) const {
  const bool known = !hosts_.with_address(address).empty();
  if (!known && !zones_.names(address)) return std::nullopt;
  AddressRow row;
  row.zones = zones_of(address);
  const HostId owner = hosts_.owner(address);
  if (owner != kNoHost) {
    const auto& service = hosts_.at(owner).tlv.service;
    row.initiator = service && service->role == Role::Server;
  }
  return row;
}

std::set<IpAddress> Switch::row_addresses() const {
  std::set<IpAddress> out;
  for (HostId id = 0; id < hosts_.end(); ++id)
    if (hosts_.at(id).used) out.insert(hosts_.at(id).tlv.address);
  for (const auto& [address, zones] : zones_.singles()) out.insert(address);
  return out;
}

}  // namespace lossless::inof
