// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/filter.h"

#include <algorithm>

#include "daemon/bgp/inof_nlri.h"

namespace lossless::bgp {
namespace {

struct Facts {
  RouteFacts operator()(const HostRoute& r) const {
    return {.kind = BgpRouteKind::Host, .addresses = AddressRange::of(r.tlv.address)};
  }
  RouteFacts operator()(const ZoneRoute& r) const { return {.kind = BgpRouteKind::Zone, .zone = r.name}; }
  RouteFacts operator()(const ZoneHostRoute& r) const {
    return {.kind = BgpRouteKind::ZoneHost, .zone = r.zone, .addresses = r.member};
  }
  RouteFacts operator()(const DefaultZoneRoute&) const { return {.kind = BgpRouteKind::DefaultZone}; }
  RouteFacts operator()(const HardZoneRoute&) const { return {.kind = BgpRouteKind::HardZone}; }
};

RouteFacts prefix_facts(ByteView nlri) {
  std::array<std::uint8_t, 4> bytes{};
  std::ranges::copy(nlri.subspan(1), bytes.begin());
  return {.kind = BgpRouteKind::Prefix,
          .addresses = AddressRange::of(IpAddress::v4_of(bytes)),
          .length = nlri[0]};
}

bool zone_matches(std::string_view pattern, std::string_view zone) {
  if (!pattern.ends_with('*')) return zone == pattern;
  pattern.remove_suffix(1);
  return zone.starts_with(pattern);
}

}  // namespace

RouteFacts route_facts(Family family, ByteView nlri) {
  if (family == Family::Ipv4Unicast) return prefix_facts(nlri);
  const auto route = decode_inof(nlri);
  return route ? std::visit(Facts{}, *route) : RouteFacts{};
}

FilterRule::FilterRule(const BgpFilterRule& rule) : rule_(rule) {
  const auto range = rule.prefix.empty() ? std::unexpected(std::string()) : parse_range(rule.prefix);
  if (!range) return;
  within_ = *range;
  length_ = prefixes_of(*range).front().length;
}

bool FilterRule::matches(const RouteFacts& route) const {
  if (rule_.kind != BgpRouteKind::Any && rule_.kind != route.kind) return false;
  if (!rule_.zone.empty() && (route.zone.empty() || !zone_matches(rule_.zone, route.zone))) return false;
  return !within_ || prefix_matches(route);
}

bool FilterRule::prefix_matches(const RouteFacts& route) const {
  if (!route.addresses || !within_->contains(route.addresses->first) ||
      !within_->contains(route.addresses->last))
    return false;
  if (route.kind != BgpRouteKind::Prefix) return true;
  if (rule_.ge == 0 && rule_.le == 0) return route.length == length_;
  return route.length >= std::max(rule_.ge, length_) && (rule_.le == 0 || route.length <= rule_.le);
}

std::string rule_text(const BgpFilterRule& rule) {
  std::string out;
  const auto add = [&](std::string_view name, const std::string& value) {
    out.append(out.empty() ? "" : ", ").append(name).append(" ").append(value);
  };
  if (rule.kind != BgpRouteKind::Any) add("kind", std::string(to_string(rule.kind)));
  if (!rule.zone.empty()) add("zone", rule.zone);
  if (!rule.prefix.empty()) add("in", rule.prefix);
  if (rule.ge > 0) add("ge", std::to_string(rule.ge));
  if (rule.le > 0) add("le", std::to_string(rule.le));
  return out.empty() ? "any" : out;
}

std::size_t Filter::decide(Family family, ByteView nlri) const {
  const RouteFacts route = route_facts(family, nlri);
  const auto at = std::ranges::find_if(rules_, [&](const FilterRule& rule) { return rule.matches(route); });
  return static_cast<std::size_t>(at - rules_.begin());
}

bool Filter::check(Way way, Family family, ByteView nlri) {
  const std::size_t rule = decide(family, nlri);
  ++(way == Way::Import ? hits_[rule].import : hits_[rule].export_to);
  return action(rule);
}

}  // namespace lossless::bgp
