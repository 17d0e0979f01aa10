// SPDX-License-Identifier: Apache-2.0
// Port groups and hook rules beside the rest of the configuration: what fits together.
#include <algorithm>
#include <map>
#include <set>

#include "bpf/stages/hook_flow.h"
#include "daemon/core/config_keys.h"

namespace lossless {
namespace {

static_assert(kMaxPortGroups == LL_HOOK_MAX_GROUP);

const PortConfig* port_named(const Config& config, const std::string& name) {
  const auto at = std::ranges::find(config.ports, name, &PortConfig::name);
  return at == config.ports.end() ? nullptr : &*at;
}

// TCs that packets which leave with this DSCP may have come into a port with.
std::set<unsigned> tcs_of(const PortConfig& port, unsigned dscp) {
  const PriorityMaps& maps = port.maps;
  switch (port.trust) {
    case Trust::Dscp:
      return {maps.dot1p_tc[maps.dscp_dot1p[dscp]]};
    case Trust::Port:
      return {maps.dot1p_tc[port.priority]};
    case Trust::Dot1p:
    case Trust::Application:
      break;
  }
  return {maps.dot1p_tc.begin(), maps.dot1p_tc.end()};
}

class Check {
 public:
  explicit Check(const Config& config) : config_(config) {}

  std::vector<HookFault> run() {
    for (std::size_t i = 0; i < config_.port_groups.size(); ++i) group(i);
    for (std::size_t i = 0; i < config_.hook_rules.size(); ++i) rule(i);
    return std::move(faults_);
  }

 private:
  void fault(bool in_rule, std::size_t index, std::string_view key, std::string message) {
    faults_.push_back({in_rule, index, key, std::move(message)});
  }

  void group(std::size_t index) {
    const PortGroup& group = config_.port_groups[index];
    const auto first = std::ranges::find(config_.port_groups, group.name, &PortGroup::name);
    if (first != config_.port_groups.begin() + static_cast<std::ptrdiff_t>(index))
      fault(false, index, "name", "is a second group of that name; allowed: each name once");
    for (const std::string& name : group.ports) {
      const auto [owner, is_new] = owners_.emplace(name, group.name);
      if (!port_named(config_, name)) {
        fault(false, index, kGroupPorts,
              "has " + quoted(name) + ", which is no port; allowed: names of [[port]] tables");
      } else if (!is_new) {
        fault(false, index, kGroupPorts,
              "has " + quoted(name) + ", which is in group " + quoted(owner->second) +
                  " already; allowed: each port once, in one group");
      }
    }
  }

  void rule(std::size_t index) {
    const HookRule& rule = config_.hook_rules[index];
    const bool known =
        std::ranges::any_of(config_.port_groups, [&](const PortGroup& g) { return rule.is_for(g); });
    if (!known && !rule.group.empty())
      return fault(true, index, "group",
                   quoted(rule.group) + " is no port group; allowed: names of [[port_group]] tables");
    if (!known)
      return fault(true, index, kHookDscps,
                   "is for every port group, and there is none: add a [[port_group]]");
    for (const std::uint8_t dscp : rule.dscp) this->dscp(index, rule, dscp);
  }

  void dscp(std::size_t index, const HookRule& rule, unsigned dscp) {
    for (const PortGroup& group : config_.port_groups) {
      if (!rule.is_for(group)) continue;
      const auto [first, is_new] = rules_.emplace(std::pair(group.name, dscp), index);
      if (!is_new) {
        return fault(true, index, kHookDscps,
                     "has " + std::to_string(dscp) + ", for which group " + quoted(group.name) +
                         " has a rule already; allowed: each DSCP once in a group");
      }
      if (moves(group, rule.to_dscp)) {
        return fault(true, index, "to_dscp",
                     "has a rule itself in group " + quoted(group.name) +
                         ", so the next switch would move the flow again; allowed: a DSCP without a rule");
      }
      if (!queues(index, rule, dscp, group)) return;
    }
  }

  bool moves(const PortGroup& group, unsigned dscp) const {
    return std::ranges::any_of(config_.hook_rules, [&](const HookRule& rule) {
      return rule.is_for(group) && std::ranges::find(rule.dscp, dscp) != rule.dscp.end();
    });
  }

  // What nobody may lose must not be moved to where it is lost.
  bool queues(std::size_t index, const HookRule& rule, unsigned dscp, const PortGroup& group) {
    for (const std::string& in : group.ports) {
      const PortConfig* ingress = port_named(config_, in);
      if (!ingress) continue;
      for (const unsigned from : tcs_of(*ingress, dscp)) {
        for (const std::string& out : group.ports) {
          const PortConfig* egress = port_named(config_, out);
          if (!egress || !ingress->queues[from].lossless || egress->queues[rule.tc].lossless) continue;
          fault(true, index, "tc",
                "is lossy on port " + quoted(out) + ", but DSCP " + std::to_string(dscp) +
                    " comes into port " + quoted(in) + " as TC " + std::to_string(from) +
                    ", which is lossless; allowed: a TC that is lossless on all ports of the group");
          return false;
        }
      }
    }
    return true;
  }

  const Config& config_;
  std::vector<HookFault> faults_;
  std::map<std::string, std::string> owners_;                      // port -> its group
  std::map<std::pair<std::string, unsigned>, std::size_t> rules_;  // (group, DSCP) -> its rule
};

}  // namespace

std::vector<HookFault> find_hook_faults(const Config& config) { return Check(config).run(); }

}  // namespace lossless
