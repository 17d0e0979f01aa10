// SPDX-License-Identifier: Apache-2.0
// Config -> text: the difference of two, and a complete file.
#include <algorithm>
#include <map>
#include <set>

#include "daemon/core/config.h"
#include "daemon/core/config_keys.h"

namespace lossless {
namespace {

// The value of a key as a file would write it; empty where it has no meaning (the weight of a strict queue).
template <class T>
std::string text_of(const Key<T>& key, const T& object) {
  if (key.used && !key.used(object)) return {};
  return as_toml(key.rule, key.get(object));
}

std::string string_list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + quoted(item);
  return "[" + out + "]";
}

std::string range_list(const std::vector<AddressRange>& ranges) {
  std::vector<std::string> items;
  items.reserve(ranges.size());
  for (const AddressRange& range : ranges) items.push_back(to_string(range));
  return string_list(items);
}

// [ { port = "p1", hosts = ["10.0.0.1"] } ]
std::string allow_list(const InofWhitelistConfig& list) {
  std::string out;
  for (const InofAllowConfig& entry : list.allow)
    out += (out.empty() ? "{ port = " : ", { port = ") + quoted(entry.port) +
           ", hosts = " + range_list(entry.hosts) + " }";
  return "[" + out + "]";
}

template <class List, class Text>
std::string list_text(const List& list, Text text) {
  std::string out;
  for (const auto& element : list) out.append(out.empty() ? "" : ", ").append(text(element));
  return "[" + out + "]";
}

// { rate = "100mbit", trust = "dscp", priority = 0 }
template <class T>
std::string inline_table(const T& object, std::string_view without = {}) {
  std::string out;
  for (const Key<T>& k : keys<T>()) {
    const std::string value = text_of(k, object);
    if (value.empty() || k.name == without) continue;
    out.append(out.empty() ? "{ " : ", ").append(k.name).append(" = ").append(value);
  }
  return out + " }";
}

class Difference {
 public:
  void add(std::string path, std::string from, std::string to) {
    if (from != to) changes_.push_back({std::move(path), std::move(from), std::move(to)});
  }

  // Either side may be absent.
  template <class T>
  void keys_of(const std::string& prefix, const T* from, const T* to) {
    for (const Key<T>& k : keys<T>()) {
      std::string before = from ? text_of(k, *from) : "";
      std::string after = to ? text_of(k, *to) : "";
      if (k.secret && before != after) {
        if (!before.empty()) before = "(secret)";
        if (!after.empty()) after = before.empty() ? "(secret)" : "(another secret)";
      }
      add(prefix + std::string(k.name), std::move(before), std::move(after));
    }
  }

  void maps(const std::string& prefix, const PriorityMaps& from, const PriorityMaps& to) {
    for (const MapKey& k : map_keys()) {
      for (unsigned i = 0; i < k.size; ++i) {
        add(prefix + std::string(k.name) + "." + std::to_string(i), std::to_string(k.values(from)[i]),
            std::to_string(k.values(to)[i]));
      }
    }
  }

  void port(const PortConfig& from, const PortConfig& to) {
    const std::string prefix = "port." + from.name + ".";
    keys_of(prefix, &from, &to);
    maps(prefix + "maps.", from.maps, to.maps);
    keys_of(prefix + "watchdog.", &from.watchdog, &to.watchdog);
    keys_of(prefix + "pfc_alarm.", &from.pfc_alarm, &to.pfc_alarm);
    keys_of(prefix + "dcbx.", &from.dcbx, &to.dcbx);
    for (unsigned tc = 0; tc < kTcs; ++tc) {
      const std::string queue = prefix + "queue." + std::to_string(tc) + ".";
      const QueueConfig& a = from.queues[tc];
      const QueueConfig& b = to.queues[tc];
      keys_of(queue, &a, &b);
      keys_of(queue + "ecn.", a.ecn ? &*a.ecn : nullptr, b.ecn ? &*b.ecn : nullptr);
      keys_of(queue + "pfc.", a.pfc ? &*a.pfc : nullptr, b.pfc ? &*b.pfc : nullptr);
      keys_of(queue + "ipcc.", a.ipcc ? &*a.ipcc : nullptr, b.ipcc ? &*b.ipcc : nullptr);
    }
  }

  // Zones are matched by name; one that a side lacks is one entry with its hosts as the value.
  void zones(const std::vector<InofZoneConfig>& from, const std::vector<InofZoneConfig>& to) {
    std::map<std::string, std::array<std::string, 2>> all;
    for (const InofZoneConfig& zone : from) all[zone.name][0] = range_list(zone.hosts);
    for (const InofZoneConfig& zone : to) all[zone.name][1] = range_list(zone.hosts);
    for (const auto& [name, hosts] : all) add("inof.zone." + name + ".hosts", hosts[0], hosts[1]);
  }

  void inof(const InofConfig& from, const InofConfig& to) {
    keys_of("inof.", &from, &to);
    const std::string list = "inof.whitelist.";
    keys_of(list, &from.whitelist, &to.whitelist);
    add(list + std::string(kExceptionsKey), string_list(from.whitelist.exceptions),
        string_list(to.whitelist.exceptions));
    add(list + "allow", allow_list(from.whitelist), allow_list(to.whitelist));
    zones(from.zones, to.zones);
  }

  // One entry for each group, and one for each DSCP with a rule: how they are grouped means nothing.
  void hooks(const Config& from, const Config& to) {
    std::map<std::string, std::array<std::string, 2>> texts;
    for (const std::size_t side : {0U, 1U}) {
      const Config& config = side == 0 ? from : to;
      for (const PortGroup& g : config.port_groups)
        texts["port_group." + g.name][side] = list_text(g.ports, quoted);
      for (const HookRule& rule : config.hook_rules)
        for (const std::uint8_t dscp : rule.dscp)
          texts["hook_flow." + (rule.group.empty() ? "*" : rule.group) + "." + std::to_string(dscp)][side] =
              "{ to_dscp = " + std::to_string(rule.to_dscp) + ", dot1p = " + std::to_string(rule.dot1p) +
              ", tc = " + std::to_string(rule.tc) + " }";
    }
    for (const auto& [path, text] : texts) add(path, text[0], text[1]);
  }

  // One entry for each protocol: their order means nothing.
  void applications(const Config& from, const Config& to) {
    std::map<std::string, std::array<std::string, 2>> texts;
    for (const std::size_t side : {0U, 1U})
      for (const Application& entry : (side == 0 ? from : to).applications)
        texts["application." + std::string(to_string(entry.field)) + "." + std::to_string(entry.protocol)]
             [side] = std::to_string(entry.priority);
    for (const auto& [path, text] : texts) add(path, text[0], text[1]);
  }

  // Profiles are matched by name; peers, which are small, by all that tells them apart.
  void bfd(const Config& from, const Config& to) {
    const auto named = [](const Config& config, const std::string& name) {
      const auto at = std::ranges::find(config.bfd_profiles, name, &BfdProfile::name);
      return at == config.bfd_profiles.end() ? nullptr : &*at;
    };
    std::set<std::string> names;
    std::map<std::string, std::array<std::string, 2>> peers;
    for (const std::size_t side : {0U, 1U}) {
      const Config& config = side == 0 ? from : to;
      for (const BfdProfile& profile : config.bfd_profiles) names.insert(profile.name);
      for (const BfdPeerConfig& peer : config.bfd_peers) {
        std::string path = "bfd_peer." + peer.address;
        for (const std::string& more :
             {peer.interface, peer.local, std::string(peer.multihop ? "multihop" : "")})
          if (!more.empty()) path += "," + more;
        peers[path][side] = inline_table(peer, "address");
      }
    }
    for (const std::string& name : names)
      keys_of("bfd_profile." + name + ".", named(from, name), named(to, name));
    for (const auto& [path, text] : peers) add(path, text[0], text[1]);
  }

  // By address: their order means nothing.
  void bgp_neighbors(const Config& from, const Config& to) {
    const auto path = [](const BgpNeighborConfig& n) {
      return n.interface.empty() ? n.address : n.address + "%" + n.interface;
    };
    std::map<std::string, std::array<const BgpNeighborConfig*, 2>> pairs;
    for (const BgpNeighborConfig& n : from.bgp_neighbors) pairs[path(n)][0] = &n;
    for (const BgpNeighborConfig& n : to.bgp_neighbors) pairs[path(n)][1] = &n;
    for (const auto& [address, pair] : pairs) keys_of("bgp_neighbor." + address + ".", pair[0], pair[1]);
  }

  // Rules by their number, since the first that matches decides.
  void bgp_filters(const Config& from, const Config& to) {
    std::map<std::string, std::array<std::string, 2>> texts;
    for (const std::size_t side : {0U, 1U}) {
      for (const BgpFilterConfig& filter : (side == 0 ? from : to).bgp_filters) {
        const std::string path = "bgp_filter." + filter.name;
        texts[path + ".otherwise"][side] = quoted(to_string(filter.otherwise));
        for (std::size_t i = 0; i < filter.rules.size(); ++i)
          texts[path + ".rule[" + std::to_string(i + 1) + "]"][side] = inline_table(filter.rules[i]);
      }
    }
    for (const auto& [path, text] : texts) add(path, text[0], text[1]);
  }

  // Keys by chain and ID.
  void key_chains(const Config& from, const Config& to) {
    std::map<std::string, std::array<const net::TcpKey*, 2>> pairs;
    for (const std::size_t side : {0U, 1U})
      for (const KeyChainConfig& chain : (side == 0 ? from : to).key_chains)
        for (const net::TcpKey& key : chain.keys)
          pairs["key_chain." + chain.name + ".key." + std::to_string(key.send_id) + "."][side] = &key;
    for (const auto& [path, pair] : pairs) keys_of(path, pair[0], pair[1]);
  }

  std::vector<ConfigChange> take() { return std::move(changes_); }

 private:
  std::vector<ConfigChange> changes_;
};

template <class T>
void write_keys(std::string& out, std::string_view indent, const T& object) {
  for (const Key<T>& k : keys<T>()) {
    const std::string value = text_of(k, object);
    if (!value.empty()) out.append(indent).append(k.name).append(" = ").append(value).append("\n");
  }
}

std::string write_map(const MapKey& key, std::span<const std::uint8_t> values,
                      std::span<const std::uint8_t> usual) {
  std::string out;
  for (unsigned i = 0; i < key.size; ++i) {
    if (!key.list && values[i] == usual[i]) continue;
    if (!out.empty()) out += ", ";
    if (!key.list) out += std::to_string(i) + " = ";
    out += std::to_string(values[i]);
  }
  if (key.list) return "[" + out + "]";
  return out.empty() ? "{}" : "{ " + out + " }";
}

void write_port(std::string& out, const PortConfig& port) {
  out += "\n[[port]]\n";
  write_keys(out, "", port);
  out.append("watchdog = ").append(inline_table(port.watchdog)).append("\n");
  out.append("pfc_alarm = ").append(inline_table(port.pfc_alarm)).append("\n");
  out.append("dcbx = ").append(inline_table(port.dcbx)).append("\n");
  out += "  [port.maps]\n";
  const PriorityMaps usual = default_maps();
  for (const MapKey& k : map_keys()) {
    out.append("  ")
        .append(k.name)
        .append(" = ")
        .append(write_map(k, k.values(port.maps), k.values(usual)))
        .append("\n");
  }
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const QueueConfig& queue = port.queues[tc];
    out.append("  [port.queue.").append(std::to_string(tc)).append("]\n");
    write_keys(out, "  ", queue);
    out.append("  ecn = ").append(queue.ecn ? inline_table(*queue.ecn) : "false").append("\n");
    out.append("  pfc = ").append(queue.pfc ? inline_table(*queue.pfc) : "false").append("\n");
    out.append("  ipcc = ").append(queue.ipcc ? inline_table(*queue.ipcc) : "false").append("\n");
  }
}

void write_inof(std::string& out, const InofConfig& inof) {
  out += "\n[inof]\n";
  write_keys(out, "", inof);
  out += "\n[inof.whitelist]\n";
  write_keys(out, "", inof.whitelist);
  out.append(kExceptionsKey).append(" = ").append(string_list(inof.whitelist.exceptions)).append("\n");
  for (const InofAllowConfig& entry : inof.whitelist.allow) {
    out += "  [[inof.whitelist.allow]]\n";
    write_keys(out, "  ", entry);
    out.append("  hosts = ").append(range_list(entry.hosts)).append("\n");
  }
  for (const InofZoneConfig& zone : inof.zones) {
    out += "\n[[inof.zone]]\n";
    write_keys(out, "", zone);
    out.append("hosts = ").append(range_list(zone.hosts)).append("\n");
  }
}

void write_hooks(std::string& out, const Config& config) {
  for (const PortGroup& group : config.port_groups) {
    out += "\n[[port_group]]\n";
    write_keys(out, "", group);
    out.append(kGroupPorts).append(" = ").append(list_text(group.ports, quoted)).append("\n");
  }
  for (const HookRule& rule : config.hook_rules) {
    out += "\n[[hook_flow]]\n";
    out.append(kHookDscps).append(" = ");
    out.append(list_text(rule.dscp, [](std::uint8_t dscp) { return std::to_string(dscp); })).append("\n");
    write_keys(out, "", rule);
  }
}

void write_bfd(std::string& out, const Config& config) {
  for (const BfdProfile& profile : config.bfd_profiles) {
    out += "\n[[bfd_profile]]\n";
    write_keys(out, "", profile);
  }
  for (const BfdPeerConfig& peer : config.bfd_peers) {
    out += "\n[[bfd_peer]]\n";
    write_keys(out, "", peer);
  }
}

void write_bgp(std::string& out, const Config& config) {
  for (const BgpNeighborConfig& neighbor : config.bgp_neighbors) {
    out += "\n[[bgp_neighbor]]\n";
    write_keys(out, "", neighbor);
  }
  for (const BgpFilterConfig& filter : config.bgp_filters) {
    out += "\n[[bgp_filter]]\n";
    write_keys(out, "", filter);
    for (const BgpFilterRule& rule : filter.rules) {
      out += "  [[bgp_filter.rule]]\n";
      write_keys(out, "  ", rule);
    }
  }
  for (const KeyChainConfig& chain : config.key_chains) {
    out += "\n[[key_chain]]\n";
    write_keys(out, "", chain);
    for (const net::TcpKey& key : chain.keys) {
      out += "  [[key_chain.key]]\n";
      write_keys(out, "  ", key);
    }
  }
}

const PortConfig* find_port(const Config& config, const std::string& name) {
  const auto at = std::ranges::find(config.ports, name, &PortConfig::name);
  return at == config.ports.end() ? nullptr : &*at;
}

}  // namespace

std::vector<ConfigChange> diff_config(const Config& from, const Config& to) {
  Difference diff;
  diff.keys_of("", &from, &to);
  for_sections([&]<class Section>(std::string_view name, Section Config::* member) {
    diff.keys_of(std::string(name) + ".", &(from.*member), &(to.*member));
  });
  diff.inof(from.inof, to.inof);
  diff.bgp_neighbors(from, to);
  diff.bgp_filters(from, to);
  diff.key_chains(from, to);
  for (const PortConfig& port : from.ports) {
    if (const PortConfig* same = find_port(to, port.name)) {
      diff.port(port, *same);
    } else {
      diff.add("port." + port.name, inline_table(port, "name"), "");
    }
  }
  for (const PortConfig& port : to.ports) {
    if (!find_port(from, port.name)) diff.add("port." + port.name, "", inline_table(port, "name"));
  }
  diff.hooks(from, to);
  diff.applications(from, to);
  diff.bfd(from, to);
  return diff.take();
}

std::string to_toml(const Config& config) {
  std::string out;
  write_keys(out, "", config);
  if (config.applications.empty()) out += "application = []\n";  // none, not the default ones
  for_sections([&]<class Section>(std::string_view name, Section Config::* member) {
    out.append("\n[").append(name).append("]\n");
    write_keys(out, "", config.*member);
  });
  write_bgp(out, config);
  for (const PortConfig& port : config.ports) write_port(out, port);
  write_hooks(out, config);
  for (const Application& entry : config.applications) {
    out += "\n[[application]]\n";
    write_keys(out, "", entry);
  }
  write_bfd(out, config);
  return out + to_toml(config.inof);
}

std::string to_toml(const InofConfig& config) {
  std::string out;
  write_inof(out, config);
  return out;
}

}  // namespace lossless
