// SPDX-License-Identifier: Apache-2.0
// The zones as configured: names, and the addresses and ranges that belong to them. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/address_range.h"

namespace lossless::inof {

using ZoneId = std::uint32_t;  // small: rows of bitmaps
inline constexpr ZoneId kDefaultZone = 0;
inline constexpr std::size_t kMaxZones = 16384;  // LL_ZONES of bpf/abi.h, the default zone included
inline constexpr std::string_view kDefaultZoneName = "default";

bool valid_zone_name(std::string_view name);
inline constexpr std::string_view kZoneNameForm =
    "1 to 31 letters, digits, '_', '-' and '.', not \"default\", which is always there";

class Zones {
 public:
  Zones();

  // A new zone without members. Errors name the value and what is allowed.
  std::expected<ZoneId, std::string> add(std::string_view name);
  std::expected<ZoneId, std::string> remove(std::string_view name);
  std::expected<ZoneId, std::string> add_member(std::string_view name, const AddressRange& member);
  std::expected<ZoneId, std::string> remove_member(std::string_view name, const AddressRange& member);

  // The custom zones that an address belongs to, ascending; nothing: the default zone's candidate. Costs the
  // logarithm of the memberships and the zones found.
  std::vector<ZoneId> of(const IpAddress& address) const;
  // Whether a zone names this very address, not only a range with it.
  bool names(const IpAddress& address) const { return singles_.contains(address); }

  std::string_view name(ZoneId id) const { return zones_[id].name; }
  const std::set<AddressRange>& members(ZoneId id) const { return zones_[id].members; }
  // The zone of that name, or an error that names some that are there.
  std::expected<ZoneId, std::string> find(std::string_view name) const;
  // Custom zones by name.
  const std::map<std::string, ZoneId, std::less<>>& by_name() const { return by_name_; }
  // All addresses that zones name one by one.
  const std::map<IpAddress, std::vector<ZoneId>>& singles() const { return singles_; }

 private:
  struct Zone {
    std::string name;
    std::set<AddressRange> members;
  };
  struct Interval {
    AddressRange range;
    ZoneId zone = 0;
    IpAddress reach;  // highest end in the part of the array that this entry is the middle of
    auto operator<=>(const Interval& other) const { return range <=> other.range; }
    bool operator==(const Interval& other) const { return range == other.range; }
  };
  void insert(ZoneId id, const AddressRange& member);
  void erase(ZoneId id, const AddressRange& member);
  void index_ranges() const;
  IpAddress reach_of(std::size_t begin, std::size_t end) const;
  void collect(const IpAddress& address, std::size_t begin, std::size_t end, std::vector<ZoneId>& out) const;

  std::vector<Zone> zones_;  // by ID; an empty name is a free one
  std::vector<ZoneId> free_;
  std::map<std::string, ZoneId, std::less<>> by_name_;
  std::map<IpAddress, std::vector<ZoneId>> singles_;
  // Ranges with more than one address, as a static interval tree that is built anew after a change.
  mutable std::vector<Interval> ranges_;
  mutable bool indexed_ = true;
};

}  // namespace lossless::inof
