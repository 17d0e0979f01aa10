// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/inof_config.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "daemon/inof/zones.h"

namespace lossless::bgp {
namespace {

// The switches and what they say of one thing.
template <class T>
struct Say {
  RouterId origin = 0;
  std::uint32_t local_pref = 0;
  T what;
};

std::string on_text(bool on) { return on ? "on" : "off"; }

// The value instead of ours, and who else says otherwise.
std::optional<bool> decide(const std::vector<Say<bool>>& all, bool ours, std::uint32_t local_pref,
                           std::string_view name, std::vector<std::string>& disagreements) {
  const Say<bool>* best = nullptr;
  for (const Say<bool>& say : all)
    if (!best || say.local_pref > best->local_pref ||
        (say.local_pref == best->local_pref && say.origin < best->origin))
      best = &say;
  if (!best) return std::nullopt;
  const bool theirs = best->local_pref > local_pref;
  const bool in_force = theirs ? best->what : ours;
  if (theirs && ours != in_force)
    disagreements.push_back(std::string(name) + " is " + on_text(ours) + " here, but " + on_text(in_force) +
                            " at " + id_text(best->origin) + ", which overrides it");
  for (const Say<bool>& say : all)
    if (say.what != in_force)
      disagreements.push_back(std::string(name) + " is " + on_text(say.what) + " at " + id_text(say.origin) +
                              ", but " + on_text(in_force) + " is in force here");
  return theirs ? std::optional(in_force) : std::nullopt;
}

using Members = std::set<AddressRange>;

std::string without(const Members& from, const Members& what) {
  std::string out;
  for (const AddressRange& member : from)
    if (!what.contains(member)) out += (out.empty() ? "" : ", ") + to_string(member);
  return out;
}

void compare(const std::string& at, const Members& theirs, const Members& in_force,
             std::vector<std::string>& disagreements) {
  if (const std::string more = without(theirs, in_force); !more.empty())
    disagreements.push_back(at + " has " + more + ", which is not in force");
  if (const std::string less = without(in_force, theirs); !less.empty())
    disagreements.push_back(at + " lacks " + less);
}

// One zone of all switches, ours with origin 0 among them.
inof::RemoteConfig::Zone decide_zone(const std::vector<Say<Members>>& all,
                                     std::vector<std::string>& disagreements) {
  std::uint32_t highest = 0;
  bool ours_counts = false;
  for (const auto& say : all) highest = std::max(highest, say.local_pref);
  Members members;
  for (const auto& say : all) {
    if (say.local_pref != highest) continue;
    ours_counts |= say.origin == 0;
    members.insert(say.what.begin(), say.what.end());
  }
  for (const auto& say : all)
    compare(say.origin == 0 ? "the configuration here" : "that of " + id_text(say.origin), say.what, members,
            disagreements);
  return {.members = std::move(members), .overrides = !ours_counts};
}

using ByZone = std::map<std::string, std::map<RouterId, Say<Members>>>;

void sort_out(const RemoteFact& fact, ByZone& zones, std::vector<Say<bool>>& default_zone,
              std::vector<Say<bool>>& hard_zoning) {
  const RouterId origin = origin_of(fact.route);
  if (const auto* zone = std::get_if<ZoneRoute>(&fact.route)) {
    zones[zone->name].try_emplace(origin, Say<Members>{origin, fact.local_pref, {}});
  } else if (const auto* member = std::get_if<ZoneHostRoute>(&fact.route)) {
    zones[member->zone]
        .try_emplace(origin, Say<Members>{origin, fact.local_pref, {}})
        .first->second.what.insert(member->member);
  } else if (const auto* on = std::get_if<DefaultZoneRoute>(&fact.route)) {
    default_zone.push_back({origin, fact.local_pref, on->on});
  } else if (const auto* hard = std::get_if<HardZoneRoute>(&fact.route)) {
    hard_zoning.push_back({origin, fact.local_pref, hard->on});
  }
}

}  // namespace

inof::RemoteConfig resolve(const std::vector<RemoteFact>& facts, const InofConfig& ours,
                           std::uint32_t local_pref) {
  ByZone zones;
  std::vector<Say<bool>> default_zone;
  std::vector<Say<bool>> hard_zoning;
  for (const RemoteFact& fact : facts) sort_out(fact, zones, default_zone, hard_zoning);
  inof::RemoteConfig out;
  for (const InofZoneConfig& zone : ours.zones) {
    const auto at = zones.find(zone.name);
    if (at != zones.end()) at->second[0] = {0, local_pref, Members(zone.hosts.begin(), zone.hosts.end())};
  }
  for (const auto& [name, says] : zones) {
    std::vector<Say<Members>> all;
    for (const auto& [origin, say] : says) all.push_back(say);
    std::vector<std::string> disagreements;
    out.zones[name] = decide_zone(all, disagreements);
    if (!disagreements.empty()) out.disagreements[name] = std::move(disagreements);
  }
  std::vector<std::string> switches;
  out.default_zone = decide(default_zone, ours.default_zone, local_pref, "the default zone", switches);
  out.hard_zoning = decide(hard_zoning, ours.hard_zoning, local_pref, "hard zoning", switches);
  if (!switches.empty()) out.disagreements[std::string(inof::kDefaultZoneName)] = std::move(switches);
  return out;
}

}  // namespace lossless::bgp
