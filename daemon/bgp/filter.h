// SPDX-License-Identifier: Apache-2.0
// Which routes of a neighbour are taken, and which go out to it: rules of which the first that matches
// decides. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/bgp/types.h"
#include "daemon/core/address_range.h"
#include "daemon/core/config.h"

namespace lossless::bgp {

// What rules look at.
struct RouteFacts {
  BgpRouteKind kind = BgpRouteKind::Unknown;
  std::string zone = {};                       // of a zone, and of a member
  std::optional<AddressRange> addresses = {};  // of a prefix, a host, a member
  unsigned length = 0;                         // bits of a prefix
};
// One of iNOF that cannot be read is Unknown.
RouteFacts route_facts(Family family, ByteView nlri);

// One rule, its prefix read once.
class FilterRule {
 public:
  explicit FilterRule(const BgpFilterRule& rule);
  const BgpFilterRule& config() const { return rule_; }
  // Whether all that it says holds. A prefix has the length of the rule's, unless ge or le say otherwise;
  // hosts and members lie wholly within.
  bool matches(const RouteFacts& route) const;

 private:
  bool prefix_matches(const RouteFacts& route) const;

  BgpFilterRule rule_;
  std::optional<AddressRange> within_;
  unsigned length_ = 0;  // of the prefix
};
// "kind host, in 10.0.0.0/8"; "any" if nothing is given.
std::string rule_text(const BgpFilterRule& rule);

enum class Way : std::uint8_t { Import, Export };

class Filter {
 public:
  struct Hits {
    std::uint64_t import = 0;
    std::uint64_t export_to = 0;
  };

  explicit Filter(const BgpFilterConfig& config)
      : config_(config), rules_(config.rules.begin(), config.rules.end()), hits_(config.rules.size() + 1) {}

  const BgpFilterConfig& config() const { return config_; }
  bool permits(Family family, ByteView nlri) const { return action(decide(family, nlri)); }
  // The same, and it is counted.
  bool check(Way way, Family family, ByteView nlri);
  // By rule; the last one is of routes that none matched.
  std::span<const Hits> hits() const { return hits_; }

 private:
  std::size_t decide(Family family, ByteView nlri) const;
  bool action(std::size_t rule) const {
    return (rule < config_.rules.size() ? config_.rules[rule].action : config_.otherwise) ==
           BgpAction::Permit;
  }

  BgpFilterConfig config_;
  std::vector<FilterRule> rules_;
  std::vector<Hits> hits_;
};
using FilterRef = std::shared_ptr<Filter>;  // nullptr: all is permitted

}  // namespace lossless::bgp
