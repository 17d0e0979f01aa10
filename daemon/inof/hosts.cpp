// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/hosts.h"

#include <algorithm>
#include <array>

namespace lossless::inof {

std::string_view to_string(HostState state) {
  static constexpr std::array<std::string_view, 6> kNames{"offline",  "online", "denied",
                                                          "conflict", "damped", "deadlock"};
  return kNames[static_cast<std::size_t>(state)];
}

namespace {

const std::vector<HostId> kNone;

}  // namespace

HostId Hosts::find(const HostKey& key) const {
  const auto at = by_key_.find(key);
  return at == by_key_.end() ? kNoHost : at->second;
}

HostId Hosts::add(HostKey key) {
  HostId id = static_cast<HostId>(hosts_.size());
  if (free_.empty()) {
    hosts_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
    hosts_[id] = {};
  }
  Host& host = hosts_[id];
  host.used = true;
  host.turn = gone_.insert(gone_.end(), id);
  by_key_.emplace(key, id);
  if (key.local()) {
    if (ports_.size() <= key.port) ports_.resize(key.port + 1);
    ports_[key.port].push_back(id);
  }
  host.key = std::move(key);
  return id;
}

void Hosts::remove(HostId id) {
  Host& host = hosts_[id];
  set_zones(id, {});
  unfile(id);
  list_of(host).erase(host.turn);
  by_key_.erase(host.key);
  if (host.key.local()) std::erase(ports_[host.key.port], id);
  host = {};
  free_.push_back(id);
}

const std::vector<HostId>& Hosts::on_port(PortId port) const {
  return port < ports_.size() ? ports_[port] : kNone;
}

void Hosts::file(HostId id) { by_address_[hosts_[id].tlv.address].known.push_back(id); }

void Hosts::unfile(HostId id) {
  const auto at = by_address_.find(hosts_[id].tlv.address);
  if (at == by_address_.end()) return;
  std::erase(at->second.known, id);
  std::erase(at->second.claims, id);
  if (at->second.known.empty()) by_address_.erase(at);
}

const std::vector<HostId>& Hosts::with_address(const IpAddress& address) const {
  const auto at = by_address_.find(address);
  return at == by_address_.end() ? kNone : at->second.known;
}

void Hosts::claim(HostId id) {
  std::vector<HostId>& claims = by_address_[hosts_[id].tlv.address].claims;
  if (std::ranges::find(claims, id) == claims.end()) claims.push_back(id);
}

void Hosts::give_up(HostId id) {
  const auto at = by_address_.find(hosts_[id].tlv.address);
  if (at != by_address_.end()) std::erase(at->second.claims, id);
}

HostId Hosts::owner(const IpAddress& address) const {
  const auto at = by_address_.find(address);
  return at == by_address_.end() || at->second.claims.empty() ? kNoHost : at->second.claims.front();
}

void Hosts::heard(HostId id, Micros now) {
  Host& host = hosts_[id];
  std::list<HostId>& old = list_of(host);
  host.present = true;
  std::list<HostId>& list = list_of(host);
  list.splice(list.end(), old, host.turn);
  host.heard = now;
}

void Hosts::gone(HostId id) {
  Host& host = hosts_[id];
  gone_.splice(gone_.end(), list_of(host), host.turn);
  host.present = false;
}

void Hosts::leave_zone(const Membership& membership) {
  std::vector<HostId>& list = zones_[membership.zone];
  const HostId moved = list.back();
  list[membership.place] = moved;
  list.pop_back();
  for (Membership& m : hosts_[moved].zones)
    if (m.zone == membership.zone) m.place = membership.place;
}

void Hosts::set_zones(HostId id, const std::vector<ZoneId>& zones) {
  Host& host = hosts_[id];
  const std::vector<Membership> old = host.zones;
  std::vector<Membership> now;
  now.reserve(zones.size());
  for (const Membership& m : old) {
    if (!std::ranges::binary_search(zones, m.zone)) leave_zone(m);
  }
  // A place may have changed with those that left.
  for (const ZoneId zone : zones) {
    const auto kept = std::ranges::find(host.zones, zone, &Membership::zone);
    if (kept != host.zones.end()) {
      now.push_back(*kept);
      continue;
    }
    if (zones_.size() <= zone) zones_.resize(zone + 1);
    now.push_back({zone, static_cast<std::uint32_t>(zones_[zone].size())});
    zones_[zone].push_back(id);
  }
  host.zones = std::move(now);
}

const std::vector<HostId>& Hosts::members(ZoneId zone) const {
  return zone < zones_.size() ? zones_[zone] : kNone;
}

ZoneId Hosts::first_shared_zone(HostId a, HostId b) const {
  const std::vector<Membership>& x = hosts_[a].zones;
  const std::vector<Membership>& y = hosts_[b].zones;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i].zone == y[j].zone) return x[i].zone;
    x[i].zone < y[j].zone ? ++i : ++j;
  }
  return kMaxZones;
}

}  // namespace lossless::inof
