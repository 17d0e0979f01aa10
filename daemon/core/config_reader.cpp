// SPDX-License-Identifier: Apache-2.0
// TOML text -> Config. Values are merged in the order built-in default, [queue.N] or [maps], port; each
// value remembers where it was written, so that a check across values can point at the right one.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "daemon/core/config.h"
#include "daemon/core/config_keys.h"
#include "daemon/core/config_source.h"
#include "daemon/core/config_toml.h"

namespace lossless {
namespace {

constexpr std::size_t kMaxErrors = 1000;

// Where a value was written. No line: nowhere, it is a built-in default.
struct Origin {
  std::string path;
  Position begin;
  Position end;
};
using Origins = std::map<std::string_view, Origin>;  // by key name

// One queue while layers are merged onto it.
struct QueueDraft {
  QueueConfig queue;  // group and weight hold what applies under wrr, even while strict
  Origins origins;
  EcnConfig ecn;
  Origins ecn_origins;
  std::optional<Origin> ecn_on;  // the table that switched ECN on
  PfcConfig pfc;
  Origins pfc_origins;
  std::optional<Origin> pfc_on;  // the value that switched PFC on
  bool faulty = false;           // an error was reported: checks across values would only repeat it
};
using QueueDrafts = std::array<QueueDraft, kTcs>;

// Settings of a port that have a common default in a table of the same name: what holds so far, and where
// each value was written.
template <class T>
struct Draft {
  T value;
  Origins origins;
  bool faulty = false;
};
// What ports begin with.
struct Defaults {
  PriorityMaps maps;
  QueueDrafts queues;
  Draft<pfc::WatchdogConfig> watchdog;
  Draft<pfc::PfcAlarmConfig> pfc_alarm;
};

Position to_position(const toml::source_position& p) { return {p.line, p.column}; }

Origin origin_of(const std::string& path, const toml::source_region& region) {
  return {path, to_position(region.begin), to_position(region.end)};
}

std::optional<Scalar> scalar_of(const toml::node& node) {
  if (const auto* b = node.as_boolean()) return b->get();
  if (const auto* i = node.as_integer()) return i->get();
  if (const auto* f = node.as_floating_point()) return f->get();
  if (const auto* s = node.as_string()) return s->get();
  return std::nullopt;
}

std::string_view kind_of(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  if (const auto scalar = scalar_of(node)) return kind(*scalar);
  return "a date or time";
}

std::string join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

// 0 to count-1 without leading zeros.
std::optional<unsigned> small_number(std::string_view text, unsigned count) {
  if (text.empty() || text.size() > 2 || (text.size() == 2 && text[0] == '0')) return std::nullopt;
  unsigned n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + static_cast<unsigned>(c - '0');
  }
  if (n >= count) return std::nullopt;
  return n;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : source_(text), file_(file) {}

  Config read(const toml::table& root);
  InofConfig read_inof_only(const toml::table& root);
  // In file order, each once, at most kMaxErrors of them.
  ConfigErrors take_errors();
  void error(Position at, std::string_view message);

 private:
  void fault(const Origin& at, std::string_view what, std::string_view allowed);
  void unknown_key(const toml::key& key, const std::string& path, const std::vector<std::string_view>& known);
  void unknown_number(const toml::key& key, const std::string& path, unsigned count,
                      std::string_view meaning);

  const toml::table* table_at(const toml::table& parent, std::string_view name, const std::string& path);
  const toml::array* array_at(const toml::table& parent, std::string_view name, const std::string& path,
                              std::string_view allowed);
  template <class T>
  void read_keys(const toml::table& table, const std::string& path, std::span<const std::string_view> tables,
                 T& out, Origins& given);
  template <class Section>
  void read_section(const toml::table& table, std::string_view name, Section& out);
  void read_maps(const toml::table& table, const std::string& path, PriorityMaps& out);
  void read_list(const toml::node& node, const std::string& path, const MapKey& key, PriorityMaps& out);
  void read_pairs(const toml::node& node, const std::string& path, const MapKey& key, PriorityMaps& out);
  void read_element(const toml::node& node, const std::string& path, unsigned max, std::uint8_t& out);
  void read_queues(const toml::table& table, const std::string& path, QueueDrafts& drafts);
  void read_queue(const toml::table& table, const std::string& path, QueueDraft& draft);
  void read_ecn(const toml::node& node, const std::string& path, QueueDraft& draft);
  void read_pfc(const toml::node& node, const std::string& path, QueueDraft& draft);
  void check_schedule(const toml::table& table, const Origins& given, const QueueDraft& draft);
  Defaults read_defaults(const toml::table& root);
  void read_ports(const toml::table& root, const Defaults& defaults, Config& out);
  PortConfig read_port(const toml::table& table, std::size_t number, Defaults defaults);
  template <class T>
  void read_draft(const toml::table& parent, std::string_view name, const std::string& path, Draft<T>& draft);
  template <class T>
  T finish(const Draft<T>& draft, const std::string& port_path);
  void check_name(const PortConfig& port, const Origins& given, const toml::table& table,
                  const std::string& path);
  void read_inof(const toml::table& table, InofConfig& out);
  void read_whitelist(const toml::table& table, const std::string& path, InofWhitelistConfig& out);
  std::vector<AddressRange> read_ranges(const toml::table& table, const std::string& path);
  // Each table of [[NAME]]; the path has its number.
  template <class Each>
  void read_tables(const toml::table& parent, std::string_view name, const std::string& path, std::size_t max,
                   const Each& each);
  void read_groups(const toml::table& root, Config& out);
  void read_hook_rules(const toml::table& root, Config& out);
  template <class Each>
  bool read_array(const toml::table& table, const std::string& path, std::string_view key,
                  std::string_view allowed, Origins& given, const Each& each);
  void require_key(const toml::table& table, const std::string& path, std::string_view key,
                   std::string_view what = {});
  void check_hooks(const Config& config);
  QueueConfig finish_queue(const QueueDraft& draft, const std::string& port_path);
  void check_draft(const QueueDraft& draft, const std::string& port_path);
  void check_pfc_draft(const QueueDraft& draft, const std::string& port_path);
  void threshold_error(const ThresholdFault& fault, Origins all, const Origins& queue,
                       const std::string& port_path);

  SourceText source_;
  const std::string& file_;
  ConfigErrors errors_;
  std::map<std::string, Origin> names_;  // ports so far
  BufferConfig buffer_;                  // what queues are checked against
  std::vector<Origins> groups_;          // of the port groups
  std::vector<Origins> rules_;           // of the hook rules
};

void Reader::error(Position at, std::string_view message) {
  errors_.push_back({file_, at.line, at.column, printable(message)});
}

// "queue.3.weight: 101 is too large; allowed: an integer from 1 to 100"
void Reader::fault(const Origin& at, std::string_view what, std::string_view allowed) {
  const std::string written = source_.excerpt(at.begin, at.end);
  std::string message = at.path + ": ";
  message.append(written.empty() ? "this" : written).append(" ").append(what);
  error(at.begin, message.append("; allowed: ").append(allowed));
}

void Reader::unknown_key(const toml::key& key, const std::string& path,
                         const std::vector<std::string_view>& known) {
  std::string message =
      "unknown key '" + shortened(key.str()) + "' " + (path.empty() ? "at the top level" : "in " + path);
  if (const auto like = nearest(key.str(), known)) {
    message.append("; did you mean '").append(*like).append("'?");
  } else {
    message += "; known keys: ";
    for (std::size_t i = 0; i < known.size(); ++i) message.append(i > 0 ? ", " : "").append(known[i]);
  }
  error(to_position(key.source().begin), message);
}

void Reader::unknown_number(const toml::key& key, const std::string& path, unsigned count,
                            std::string_view meaning) {
  std::string message = "unknown key '" + shortened(key.str()) + "' in " + path + "; allowed: 0 to ";
  message.append(std::to_string(count - 1)).append(" (").append(meaning).append(")");
  error(to_position(key.source().begin), message);
}

// The table `name` below `parent`; nullptr if there is none, or something else in its place.
const toml::table* Reader::table_at(const toml::table& parent, std::string_view name,
                                    const std::string& path) {
  const toml::node* node = parent.get(name);
  if (!node) return nullptr;
  if (!node->is_table())
    fault(origin_of(join(path, name), node->source()), "is " + std::string(kind_of(*node)), "a table");
  return node->as_table();
}

// The array `name` below `parent`; nullptr if there is none, or something else in its place.
const toml::array* Reader::array_at(const toml::table& parent, std::string_view name, const std::string& path,
                                    std::string_view allowed) {
  const toml::node* node = parent.get(name);
  if (!node) return nullptr;
  if (!node->is_array())
    fault(origin_of(join(path, name), node->source()), "is " + std::string(kind_of(*node)), allowed);
  return node->as_array();
}

// Reads the plain keys of one table; `tables` are the keys below it that others read.
template <class T>
void Reader::read_keys(const toml::table& table, const std::string& path,
                       std::span<const std::string_view> tables, T& out, Origins& given) {
  std::vector<std::string_view> known;
  for (const Key<T>& k : keys<T>()) known.push_back(k.name);
  known.insert(known.end(), tables.begin(), tables.end());
  for (const auto& [name, node] : table) {
    const auto key = std::ranges::find(keys<T>(), name.str(), &Key<T>::name);
    if (key == keys<T>().end()) {
      if (std::ranges::find(tables, name.str()) == tables.end()) unknown_key(name, path, known);
      continue;
    }
    const Origin origin = origin_of(join(path, key->name), node.source());
    const auto raw = scalar_of(node);
    const auto value =
        raw ? apply_rule(key->rule, *raw) : std::unexpected("is " + std::string(kind_of(node)));
    if (!value) {
      fault(origin, value.error(), allowed(key->rule));
      continue;
    }
    key->set(out, *value);
    given[key->name] = origin;
  }
}

template <class Section>
void Reader::read_section(const toml::table& table, std::string_view name, Section& out) {
  const std::size_t errors_before = errors_.size();
  Origins given;
  read_keys(table, std::string(name), {}, out, given);
  if constexpr (requires { find_fault(out); }) {
    const auto found = errors_.size() == errors_before ? find_fault(out) : std::nullopt;
    if (!found) return;
    const auto at = given.find(found->key);
    const Position begin = at == given.end() ? to_position(table.source().begin) : at->second.begin;
    error(begin, join(std::string(name), found->key) + ": " + found->message);
  }
}

void Reader::read_maps(const toml::table& table, const std::string& path, PriorityMaps& out) {
  std::vector<std::string_view> known;
  for (const MapKey& k : map_keys()) known.push_back(k.name);
  for (const auto& [name, node] : table) {
    const auto key = std::ranges::find(map_keys(), name.str(), &MapKey::name);
    if (key == map_keys().end()) {
      unknown_key(name, path, known);
    } else if (key->list) {
      read_list(node, join(path, key->name), *key, out);
    } else {
      read_pairs(node, join(path, key->name), *key, out);
    }
  }
}

void Reader::read_list(const toml::node& node, const std::string& path, const MapKey& key,
                       PriorityMaps& out) {
  const toml::array* array = node.as_array();
  const Origin origin = origin_of(path, node.source());
  if (!array) return fault(origin, "is " + std::string(kind_of(node)), allowed(key));
  if (array->size() != key.size) {
    return fault(origin, "has " + std::to_string(array->size()) + " elements", allowed(key));
  }
  for (unsigned i = 0; i < key.size; ++i) {
    read_element((*array)[i], join(path, std::to_string(i)), key.max, key.entries(out)[i]);
  }
}

void Reader::read_pairs(const toml::node& node, const std::string& path, const MapKey& key,
                        PriorityMaps& out) {
  const toml::table* table = node.as_table();
  if (!table) return fault(origin_of(path, node.source()), "is " + std::string(kind_of(node)), allowed(key));
  for (const auto& [name, value] : *table) {
    if (const auto from = small_number(name.str(), key.size)) {
      read_element(value, join(path, name.str()), key.max, key.entries(out)[*from]);
    } else {
      unknown_number(name, path, key.size, "a DSCP");
    }
  }
}

void Reader::read_element(const toml::node& node, const std::string& path, unsigned max, std::uint8_t& out) {
  const Rule rule(Rule::Type::Integer, 0, max);
  const auto raw = scalar_of(node);
  const auto value = raw ? apply_rule(rule, *raw) : std::unexpected("is " + std::string(kind_of(node)));
  if (!value) return fault(origin_of(path, node.source()), value.error(), allowed(rule));
  out = static_cast<std::uint8_t>(std::get<std::int64_t>(*value));
}

void Reader::read_queues(const toml::table& table, const std::string& path, QueueDrafts& drafts) {
  for (const auto& [name, node] : table) {
    const auto tc = small_number(name.str(), kTcs);
    if (!tc) {
      unknown_number(name, path, kTcs, "the TC");
    } else if (const toml::table* queue = table_at(table, name.str(), path)) {
      read_queue(*queue, join(path, name.str()), drafts[*tc]);
    }
  }
}

void Reader::read_queue(const toml::table& table, const std::string& path, QueueDraft& draft) {
  const std::size_t errors_before = errors_.size();
  Origins given;
  read_keys(table, path, kQueueTables, draft.queue, given);
  check_schedule(table, given, draft);
  for (const auto& [key, origin] : given) draft.origins[key] = origin;
  if (const toml::node* ecn = table.get("ecn")) read_ecn(*ecn, join(path, "ecn"), draft);
  if (const toml::node* pfc = table.get("pfc")) read_pfc(*pfc, join(path, "pfc"), draft);
  if (errors_.size() > errors_before) draft.faulty = true;
}

// Strict priority has no share: a weight or group that stands beside it is a misunderstanding.
void Reader::check_schedule(const toml::table& table, const Origins& given, const QueueDraft& draft) {
  const bool unreadable = table.contains("schedule") && !given.contains("schedule");
  if (draft.queue.schedule == Schedule::Wrr || unreadable) return;
  for (const std::string_view key : {"group", "weight"}) {
    const auto at = given.find(key);
    if (at == given.end()) continue;
    fault(at->second,
          "is given but the queue is strict; a strict queue is served before all others and has no share",
          "leave it out, or schedule = \"wrr\"");
  }
}

void Reader::read_ecn(const toml::node& node, const std::string& path, QueueDraft& draft) {
  const Origin origin = origin_of(path, node.source());
  const toml::table* table = node.as_table();
  if (table) {
    Origins given;
    read_keys(*table, path, {}, draft.ecn, given);
    for (const auto& [key, at] : given) draft.ecn_origins[key] = at;
    draft.ecn_on = origin;
    return;
  }
  const auto* flag = node.as_boolean();
  if (!flag || flag->get()) {
    const std::string what = flag ? "does not say where marking begins" : "is " + std::string(kind_of(node));
    return fault(origin, what,
                 "a table such as { kmin = \"100KB\", kmax = \"400KB\", pmax = 0.2 }, or false");
  }
  draft.ecn = {};
  draft.ecn_origins.clear();
  draft.ecn_on.reset();
}

// A table, true (everything worked out from the port), or false.
void Reader::read_pfc(const toml::node& node, const std::string& path, QueueDraft& draft) {
  const Origin origin = origin_of(path, node.source());
  if (const toml::table* table = node.as_table()) {
    Origins given;
    read_keys(*table, path, {}, draft.pfc, given);
    for (const auto& [key, at] : given) draft.pfc_origins[key] = at;
    draft.pfc_on = origin;
    return;
  }
  const auto* flag = node.as_boolean();
  if (!flag) {
    return fault(origin, "is " + std::string(kind_of(node)),
                 "a table such as { xoff = \"100KB\", headroom = \"40KB\" }, true, or false");
  }
  draft.pfc_on.reset();
  if (flag->get()) {
    draft.pfc_on = origin;
    return;
  }
  draft.pfc = {};
  draft.pfc_origins.clear();
}

template <class T>
void Reader::read_draft(const toml::table& parent, std::string_view name, const std::string& path,
                        Draft<T>& draft) {
  const toml::table* table = table_at(parent, name, path);
  if (!table) return;
  const std::size_t errors_before = errors_.size();
  Origins given;
  read_keys(*table, join(path, name), {}, draft.value, given);
  for (const auto& [key, origin] : given) draft.origins[key] = origin;
  if (errors_.size() > errors_before) draft.faulty = true;
}

template <class T>
T Reader::finish(const Draft<T>& draft, const std::string& port_path) {
  if (draft.faulty) return draft.value;
  if (const auto fault = find_fault(draft.value)) threshold_error(*fault, draft.origins, {}, port_path);
  return draft.value;
}

PortConfig Reader::read_port(const toml::table& table, std::size_t number, Defaults defaults) {
  PortConfig port;
  port.maps = defaults.maps;
  // The path names the port before its name was checked, as far as the name is usable.
  const Rule& name_rule = keys<PortConfig>().front().rule;
  const auto* name = table.get_as<std::string>("name");
  const bool usable = name && apply_rule(name_rule, name->get());
  const std::string path = usable ? "port." + name->get() : "port[" + std::to_string(number) + "]";

  Origins given;
  read_keys(table, path, kPortTables, port, given);
  check_name(port, given, table, path);
  if (const toml::table* own = table_at(table, "maps", path)) read_maps(*own, path + ".maps", port.maps);
  if (const toml::table* own = table_at(table, "queue", path))
    read_queues(*own, path + ".queue", defaults.queues);
  read_draft(table, "watchdog", path, defaults.watchdog);
  read_draft(table, "pfc_alarm", path, defaults.pfc_alarm);
  for (unsigned tc = 0; tc < kTcs; ++tc) port.queues[tc] = finish_queue(defaults.queues[tc], path);
  port.watchdog = finish(defaults.watchdog, path);
  port.pfc_alarm = finish(defaults.pfc_alarm, path);
  return port;
}

void Reader::check_name(const PortConfig& port, const Origins& given, const toml::table& table,
                        const std::string& path) {
  const auto at = given.find("name");
  if (at == given.end()) {
    return require_key(table, path, "name", "the interface to manage");
  }
  const auto [first, is_new] = names_.emplace(port.name, at->second);
  if (is_new) return;
  const Position& p = first->second.begin;
  fault(at->second,
        "is a second port of that name; the first is at line " + std::to_string(p.line) + ", column " +
            std::to_string(p.column),
        "each interface once");
}

void Reader::read_ports(const toml::table& root, const Defaults& defaults, Config& out) {
  static const std::string kCount = "1 to " + std::to_string(kMaxPorts) + " ports, each under [[port]]";
  const toml::node* node = root.get("port");
  if (!node) return error({}, "port: the file names none; allowed: " + kCount);
  const Origin origin = origin_of("port", node->source());
  const toml::array* array = node->as_array();
  if (!array) return fault(origin, "is " + std::string(kind_of(*node)), kCount);
  if (array->empty()) return fault(origin, "names no port", kCount);
  std::size_t number = 0;
  for (const toml::node& element : *array) {
    const toml::table* port = element.as_table();
    const Origin at = origin_of("port[" + std::to_string(++number) + "]", element.source());
    if (number > static_cast<std::size_t>(kMaxPorts)) {
      return fault(at, "is one too many of " + std::to_string(array->size()) + " ports", kCount);
    }
    if (port) {
      out.ports.push_back(read_port(*port, number, defaults));
    } else {
      fault(at, "is " + std::string(kind_of(element)), "a table, under [[port]]");
    }
  }
}

template <class Each>
void Reader::read_tables(const toml::table& parent, std::string_view name, const std::string& path,
                         std::size_t max, const Each& each) {
  const std::string whole = join(path, name);
  const std::string many = "up to " + std::to_string(max) + " tables, each under [[" + whole + "]]";
  const toml::array* array = array_at(parent, name, path, many);
  if (!array) return;
  std::size_t number = 0;
  for (const toml::node& element : *array) {
    const std::string at = whole + "[" + std::to_string(++number) + "]";
    if (number > max) return fault(origin_of(at, element.source()), "is one too many", many);
    if (const toml::table* table = element.as_table()) {
      each(*table, at);
    } else {
      fault(origin_of(at, element.source()), "is " + std::string(kind_of(element)),
            "a table, under [[" + whole + "]]");
    }
  }
}

std::vector<AddressRange> Reader::read_ranges(const toml::table& table, const std::string& path) {
  std::vector<AddressRange> out;
  const toml::node* node = table.get(kHostsKey.name);
  if (!node) return out;
  const std::string whole = join(path, kHostsKey.name);
  const toml::array* array = node->as_array();
  if (!array || array->size() > kHostsKey.max) {
    fault(origin_of(whole, node->source()),
          array ? "has " + std::to_string(array->size()) + " elements" : "is " + std::string(kind_of(*node)),
          allowed(kHostsKey));
    return out;
  }
  for (const toml::node& element : *array) {
    const Origin at = origin_of(join(whole, std::to_string(out.size())), element.source());
    const auto* text = element.as_string();
    const auto range =
        text ? parse_range(text->get()) : std::unexpected("is " + std::string(kind_of(element)));
    if (range) {
      out.push_back(*range);
    } else {
      fault(at, range.error(), kRangeForm);
    }
  }
  std::ranges::sort(out);
  const auto [first, last] = std::ranges::unique(out);
  out.erase(first, last);
  return out;
}

void Reader::read_whitelist(const toml::table& table, const std::string& path, InofWhitelistConfig& out) {
  Origins given;
  read_keys(table, path, kWhitelistTables, out, given);
  const Rule& name_rule = keys<InofAllowConfig>().front().rule;
  if (const auto* exceptions = array_at(table, kExceptionsKey, path, "an array of interface names")) {
    for (const toml::node& element : *exceptions) {
      const auto raw = scalar_of(element);
      const auto name =
          raw ? apply_rule(name_rule, *raw) : std::unexpected("is " + std::string(kind_of(element)));
      if (name) {
        out.exceptions.push_back(std::get<std::string>(*name));
      } else {
        fault(origin_of(join(path, kExceptionsKey), element.source()), name.error(), allowed(name_rule));
      }
    }
  }
  read_tables(table, "allow", path, static_cast<std::size_t>(kMaxPorts),
              [&](const toml::table& entry, const std::string& at) {
                InofAllowConfig allow;
                Origins ignored;
                read_keys(entry, at, kHostsTables, allow, ignored);
                require_key(entry, at, "port", "the interface that the hosts may join on");
                require_key(entry, at, "hosts", "those that may join");
                allow.hosts = read_ranges(entry, at);
                out.allow.push_back(std::move(allow));
              });
}

void Reader::read_inof(const toml::table& table, InofConfig& out) {
  Origins given;
  read_keys(table, "inof", kInofTables, out, given);
  if (const toml::table* list = table_at(table, "whitelist", "inof"))
    read_whitelist(*list, "inof.whitelist", out.whitelist);
  std::set<std::string> names;
  read_tables(table, "zone", "inof", kMaxInofZones, [&](const toml::table& entry, const std::string& at) {
    InofZoneConfig zone;
    Origins origins;
    read_keys(entry, at, kHostsTables, zone, origins);
    require_key(entry, at, "name", "by which the zone is shown");
    zone.hosts = read_ranges(entry, at);
    if (!zone.name.empty() && !names.insert(zone.name).second)
      fault(origins["name"], "is a second zone of that name", "each zone once");
    out.zones.push_back(std::move(zone));
  });
  std::ranges::sort(out.zones, {}, &InofZoneConfig::name);
}

// The elements of an array, each of which `each` takes or refuses. False after a fault; a key that is not
// there is none.
template <class Each>
bool Reader::read_array(const toml::table& table, const std::string& path, std::string_view key,
                        std::string_view allowed, Origins& given, const Each& each) {
  if (!table.contains(key)) return true;
  const toml::array* array = array_at(table, key, path, allowed);
  if (!array) return false;
  const Origin origin = origin_of(join(path, key), array->source());
  if (array->empty()) return fault(origin, "is empty", allowed), false;
  for (const toml::node& element : *array) {
    if (each(element)) continue;
    return fault(origin_of(origin.path, element.source()), "is not allowed here", allowed), false;
  }
  given[key] = origin;
  return true;
}

// `what` the key is for, where its name does not say it.
void Reader::require_key(const toml::table& table, const std::string& path, std::string_view key,
                         std::string_view what) {
  if (table.contains(key)) return;
  error(to_position(table.source().begin),
        path + ": lacks '" + std::string(key) + "'" + (what.empty() ? "" : ", " + std::string(what)));
}

void Reader::read_groups(const toml::table& root, Config& out) {
  static constexpr std::array kTables{kGroupPorts};
  read_tables(root, "port_group", "", kMaxPortGroups, [&](const toml::table& table, const std::string& path) {
    PortGroup group;
    Origins given;
    read_keys(table, path, kTables, group, given);
    for (const std::string_view key : {std::string_view("name"), kGroupPorts}) require_key(table, path, key);
    read_array(table, path, kGroupPorts, kGroupPortsAllowed, given, [&](const toml::node& node) {
      const auto* name = node.as_string();
      if (name) group.ports.push_back(name->get());
      return name != nullptr;
    });
    out.port_groups.push_back(std::move(group));
    groups_.push_back(std::move(given));
  });
}

void Reader::read_hook_rules(const toml::table& root, Config& out) {
  static constexpr std::array kTables{kHookDscps};
  read_tables(root, "hook_flow", "", kMaxHookRules, [&](const toml::table& table, const std::string& path) {
    HookRule rule;
    Origins given;
    read_keys(table, path, kTables, rule, given);
    for (const std::string_view key : {kHookDscps, std::string_view("to_dscp"), std::string_view("tc")})
      require_key(table, path, key);
    if (!given.contains("dot1p")) rule.dot1p = rule.tc;
    read_array(table, path, kHookDscps, kHookDscpsAllowed, given, [&](const toml::node& node) {
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
void Reader::check_hooks(const Config& config) {
  for (const HookFault& found : find_hook_faults(config)) {
    const Origins& given = (found.in_rule ? rules_ : groups_)[found.index];
    const auto at = given.find(found.key);
    if (at == given.end()) continue;
    error(at->second.begin, at->second.path + ": " + found.message);
  }
}

// What holds in the end. `port_path` tells a port's own values from the defaults for all.
QueueConfig Reader::finish_queue(const QueueDraft& draft, const std::string& port_path) {
  check_draft(draft, port_path);
  QueueConfig queue = draft.queue;
  if (queue.schedule == Schedule::Strict) queue.group = queue.weight = 0;
  if (draft.ecn_on) queue.ecn = draft.ecn;
  if (draft.pfc_on) queue.pfc = draft.pfc;
  return queue;
}

void Reader::check_draft(const QueueDraft& draft, const std::string& port_path) {
  if (draft.faulty) return;
  if (draft.ecn_on) {
    bool complete = true;
    for (const std::string_view key : {"kmin", "kmax", "pmax"}) {
      if (draft.ecn_origins.contains(key)) continue;
      complete = false;
      error(draft.ecn_on->begin,
            draft.ecn_on->path + ": lacks '" + std::string(key) + "'; ECN needs kmin, kmax and pmax");
    }
    if (!complete) return;
    if (const auto found = find_ecn_fault(draft.ecn, draft.queue.limit_bytes))
      return threshold_error(*found, draft.ecn_origins, draft.origins, port_path);
  }
  if (const auto found = find_alpha_fault(draft.queue, buffer_))
    return threshold_error(*found, draft.origins, draft.origins, port_path);
  check_pfc_draft(draft, port_path);
}

void Reader::check_pfc_draft(const QueueDraft& draft, const std::string& port_path) {
  if (!draft.pfc_on) return;
  QueueConfig queue = draft.queue;
  queue.pfc = draft.pfc;
  if (draft.ecn_on) queue.ecn = draft.ecn;
  const auto found = find_pfc_fault(queue, buffer_);
  if (!found) return;
  Origins all = draft.pfc_origins;
  if (const auto at = draft.origins.find("guaranteed"); at != draft.origins.end()) all.insert(*at);
  all.insert(draft.ecn_origins.begin(), draft.ecn_origins.end());
  all.try_emplace("", *draft.pfc_on);  // of a fault that is no key's
  threshold_error(*found, std::move(all), draft.origins, port_path);
}

// Points at the port's own value if it has one of the two: that is where the order was broken.
void Reader::threshold_error(const ThresholdFault& fault, Origins all, const Origins& queue,
                             const std::string& port_path) {
  if (const auto limit = queue.find("limit"); limit != queue.end()) all.insert(*limit);
  const Origin* at = &all.at(fault.key);
  const auto other = fault.against.empty() ? all.end() : all.find(fault.against);
  const auto own = [&](const Origin& o) { return o.path.starts_with(port_path + "."); };
  if (other == all.end()) {
    const std::string where = fault.against == "limit" ? " (the default limit)" : "";
    return error(at->begin, at->path + ": " + fault.message + where);
  }
  const Origin* second = &other->second;
  if (!own(*at) && own(*second)) std::swap(at, second);
  error(at->begin, at->path + ": " + fault.message + " (see " + second->path + " at line " +
                       std::to_string(second->begin.line) + ")");
}

InofConfig Reader::read_inof_only(const toml::table& root) {
  InofConfig config;
  for (const auto& [name, node] : root)
    if (name.str() != "inof") unknown_key(name, "", {"inof"});
  if (const toml::table* inof = table_at(root, "inof", "")) read_inof(*inof, config);
  return config;
}

Config Reader::read(const toml::table& root) {
  Config config;
  Origins given;
  read_keys(root, "", kTopTables, config, given);
  for_sections([&]<class Section>(std::string_view name, Section Config::* member) {
    if (const toml::table* table = table_at(root, name, "")) read_section(*table, name, config.*member);
  });
  if (config.api.socket.empty()) config.api.socket = default_socket(config.instance);

  buffer_ = config.buffer;
  if (const toml::table* inof = table_at(root, "inof", "")) {
    read_inof(*inof, config.inof);
    if (config.inof.on && !config.lldp.enabled)
      error(to_position(inof->source().begin),
            "inof.on: true needs the LLDP agent, by which hosts are found; allowed: enabled = true under "
            "[lldp]");
  }

  const Defaults defaults = read_defaults(root);
  read_ports(root, defaults, config);
  read_groups(root, config);
  read_hook_rules(root, config);
  if (errors_.empty()) check_hooks(config);
  if (config.ports.empty()) {
    for (const QueueDraft& draft : defaults.queues) check_draft(draft, "port");
  }
  return config;
}

Defaults Reader::read_defaults(const toml::table& root) {
  Defaults defaults;
  defaults.maps = default_maps();
  if (const toml::table* table = table_at(root, "maps", "")) read_maps(*table, "maps", defaults.maps);
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    QueueDraft& draft = defaults.queues[tc];
    draft.queue = default_queue(tc);
    // A strict queue that becomes wrr takes the defaults of the others.
    draft.queue.group = kDefaultGroup;
    draft.queue.weight = kDefaultWeight;
  }
  if (const toml::table* table = table_at(root, "queue", "")) read_queues(*table, "queue", defaults.queues);
  read_draft(root, "watchdog", "", defaults.watchdog);
  read_draft(root, "pfc_alarm", "", defaults.pfc_alarm);
  return defaults;
}

ConfigErrors Reader::take_errors() {
  std::ranges::sort(errors_);
  // A fault in the defaults shows once in every port.
  const auto [first, last] = std::ranges::unique(errors_);
  errors_.erase(first, last);
  if (errors_.size() > kMaxErrors) {
    const std::size_t more = errors_.size() - kMaxErrors;
    const Position at{errors_[kMaxErrors].line, errors_[kMaxErrors].column};
    errors_.resize(kMaxErrors);
    error(at, "and " + std::to_string(more) + " more errors from here on");
  }
  return std::move(errors_);
}

// What `read` makes of the root table, if nothing is wrong with the text.
template <class T, class Read>
std::expected<T, ConfigErrors> parse(std::string_view text, const std::string& file, const Read& read) {
  Reader reader(text, file);
  if (const auto deep = find_deep_key(text)) {
    reader.error(*deep, "a dotted key with more than " + std::to_string(kMaxKeyParts) +
                            " parts; no key here has so many");
    return std::unexpected(reader.take_errors());
  }
  const toml::parse_result result = toml::parse(text);
  if (!result) {
    const toml::parse_error& error = result.error();
    reader.error(to_position(error.source().begin), "not valid TOML: " + std::string(error.description()));
    return std::unexpected(reader.take_errors());
  }
  T value = read(reader, result.table());
  ConfigErrors errors = reader.take_errors();
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return value;
}

}  // namespace

std::expected<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file) {
  return parse<Config>(text, file, [](Reader& reader, const toml::table& root) { return reader.read(root); });
}

std::expected<InofConfig, ConfigErrors> parse_inof(std::string_view text, const std::string& file) {
  return parse<InofConfig>(
      text, file, [](Reader& reader, const toml::table& root) { return reader.read_inof_only(root); });
}

}  // namespace lossless
