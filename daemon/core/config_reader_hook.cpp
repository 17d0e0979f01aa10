// SPDX-License-Identifier: Apache-2.0
// [[port_group]] and [[hook_flow]].
#include <utility>

#include "daemon/core/config_reader.h"

namespace lossless {
namespace {

class HookReader {
 public:
  explicit HookReader(Reader& reader) : reader_(reader) {}

  void read_groups(const toml::table& root, Config& out);
  void read_hook_rules(const toml::table& root, Config& out);
  void check_hooks(const Config& config);

 private:
  Reader& reader_;
  std::vector<Origins> groups_;  // of the port groups
  std::vector<Origins> rules_;   // of the hook rules
};

void HookReader::read_groups(const toml::table& root, Config& out) {
  static constexpr std::array kTables{kGroupPorts};
  reader_.read_tables(
      root, "port_group", "", kMaxPortGroups, [&](const toml::table& table, const std::string& path) {
        PortGroup group;
        Origins given;
        reader_.read_keys(table, path, kTables, group, given);
        for (const std::string_view key : {std::string_view("name"), kGroupPorts})
          reader_.require_key(table, path, key);
        reader_.read_array(table, path, kGroupPorts, kGroupPortsAllowed, given, [&](const toml::node& node) {
          const auto* name = node.as_string();
          if (name) group.ports.push_back(name->get());
          return name != nullptr;
        });
        out.port_groups.push_back(std::move(group));
        groups_.push_back(std::move(given));
      });
}

void HookReader::read_hook_rules(const toml::table& root, Config& out) {
  static constexpr std::array kTables{kHookDscps};
  reader_.read_tables(
      root, "hook_flow", "", kMaxHookRules, [&](const toml::table& table, const std::string& path) {
        HookRule rule;
        Origins given;
        reader_.read_keys(table, path, kTables, rule, given);
        for (const std::string_view key : {kHookDscps, std::string_view("to_dscp"), std::string_view("tc")})
          reader_.require_key(table, path, key);
        if (!given.contains("dot1p")) rule.dot1p = rule.tc;
        reader_.read_array(table, path, kHookDscps, kHookDscpsAllowed, given, [&](const toml::node& node) {
          const auto* dscp = node.as_integer();
          if (!dscp || dscp->get() < 0 || dscp->get() >= kDscps) return false;
          rule.dscp.push_back(static_cast<std::uint8_t>(dscp->get()));
          return true;
        });
        out.hook_rules.push_back(std::move(rule));
        rules_.push_back(std::move(given));
      });
}

// Only of values that could be read.
void HookReader::check_hooks(const Config& config) {
  for (const HookFault& found : find_hook_faults(config)) {
    const Origins& given = (found.in_rule ? rules_ : groups_)[found.index];
    const auto at = given.find(found.key);
    if (at == given.end()) continue;
    reader_.error(at->second.begin, at->second.path + ": " + found.message);
  }
}

}  // namespace

void read_hooks(Reader& reader, const toml::table& root, Config& out) {
  HookReader hooks(reader);
  hooks.read_groups(root, out);
  hooks.read_hook_rules(root, out);
  if (reader.error_count() == 0) hooks.check_hooks(out);
}

}  // namespace lossless
