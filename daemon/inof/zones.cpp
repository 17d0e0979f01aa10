// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/zones.h"

#include <algorithm>

namespace lossless::inof {
namespace {

constexpr std::size_t kMaxName = 31;
constexpr std::size_t kNamesInError = 8;

std::string quote(std::string_view name) { return "'" + std::string(name) + "'"; }

}  // namespace

bool valid_zone_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= kMaxName && name != kDefaultZoneName &&
         std::ranges::all_of(name, good);
}

Zones::Zones() { zones_.push_back({std::string(kDefaultZoneName), {}}); }

std::expected<ZoneId, std::string> Zones::add(std::string_view name) {
  if (!valid_zone_name(name))
    return std::unexpected("zone " + quote(name) + " is no name; allowed: " + std::string(kZoneNameForm));
  if (by_name_.contains(name)) return std::unexpected("zone " + quote(name) + " is there already");
  if (free_.empty() && zones_.size() >= kMaxZones)
    return std::unexpected("zone " + quote(name) + " is one too many; allowed: " +
                           std::to_string(kMaxZones - 1) + " zones beside the default zone");
  ZoneId id = static_cast<ZoneId>(zones_.size());
  if (free_.empty()) {
    zones_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  zones_[id].name = name;
  by_name_.emplace(name, id);
  return id;
}

std::expected<ZoneId, std::string> Zones::remove(std::string_view name) {
  if (name == kDefaultZoneName)
    return std::unexpected("the default zone cannot be removed; `default-zone off` empties it");
  const auto id = find(name);
  if (!id) return id;
  for (const AddressRange& member : std::set<AddressRange>(zones_[*id].members)) erase(*id, member);
  by_name_.erase(by_name_.find(name));
  zones_[*id] = {};
  free_.push_back(*id);
  return id;
}

std::expected<ZoneId, std::string> Zones::add_member(std::string_view name, const AddressRange& member) {
  if (name == kDefaultZoneName)
    return std::unexpected("hosts join the default zone by themselves, when no other zone has them");
  const auto id = find(name);
  if (!id) return id;
  if (!zones_[*id].members.insert(member).second)
    return std::unexpected(to_string(member) + " is in zone " + quote(name) + " already");
  insert(*id, member);
  return id;
}

std::expected<ZoneId, std::string> Zones::remove_member(std::string_view name, const AddressRange& member) {
  const auto id = find(name);
  if (!id) return id;
  if (!zones_[*id].members.contains(member))
    return std::unexpected(to_string(member) + " is no member of zone " + quote(name) +
                           " as it was given; see `show inof zone " + std::string(name) + "`");
  erase(*id, member);
  return id;
}

void Zones::insert(ZoneId id, const AddressRange& member) {
  if (member.single()) {
    std::vector<ZoneId>& zones = singles_[member.first];
    zones.insert(std::ranges::lower_bound(zones, id), id);
  } else {
    ranges_.push_back({member, id, {}});
    indexed_ = false;
  }
}

void Zones::erase(ZoneId id, const AddressRange& member) {
  zones_[id].members.erase(member);
  if (member.single()) {
    const auto at = singles_.find(member.first);
    std::erase(at->second, id);
    if (at->second.empty()) singles_.erase(at);
  } else {
    std::erase_if(ranges_, [&](const Interval& i) { return i.zone == id && i.range == member; });
    indexed_ = false;
  }
}

std::expected<ZoneId, std::string> Zones::find(std::string_view name) const {
  if (name == kDefaultZoneName) return kDefaultZone;
  if (const auto at = by_name_.find(name); at != by_name_.end()) return at->second;
  std::string text = "no zone " + quote(name) + "; zones are " + std::string(kDefaultZoneName);
  std::size_t count = 0;
  for (const auto& [known, id] : by_name_) {
    if (++count > kNamesInError)
      return std::unexpected(text + " and " + std::to_string(by_name_.size() - kNamesInError) + " more");
    text += ", " + known;
  }
  return std::unexpected(text);
}

// The middle of each part of the sorted array is a node; its halves are its children.
IpAddress Zones::reach_of(std::size_t begin, std::size_t end) const {
  if (begin >= end) return {};
  const std::size_t middle = begin + (end - begin) / 2;
  ranges_[middle].reach =
      std::max({ranges_[middle].range.last, reach_of(begin, middle), reach_of(middle + 1, end)});
  return ranges_[middle].reach;
}

void Zones::index_ranges() const {
  std::ranges::sort(ranges_);
  reach_of(0, ranges_.size());
  indexed_ = true;
}

void Zones::collect(const IpAddress& address, std::size_t begin, std::size_t end,
                    std::vector<ZoneId>& out) const {
  if (begin >= end) return;
  const std::size_t middle = begin + (end - begin) / 2;
  const Interval& node = ranges_[middle];
  if (node.reach < address) return;
  collect(address, begin, middle, out);
  if (address < node.range.first) return;
  if (node.range.contains(address)) out.push_back(node.zone);
  collect(address, middle + 1, end, out);
}

std::vector<ZoneId> Zones::of(const IpAddress& address) const {
  std::vector<ZoneId> out;
  if (const auto at = singles_.find(address); at != singles_.end()) out = at->second;
  if (!indexed_) index_ranges();
  collect(address, 0, ranges_.size(), out);
  std::ranges::sort(out);
  const auto [first, last] = std::ranges::unique(out);
  out.erase(first, last);
  return out;
}

}  // namespace lossless::inof
