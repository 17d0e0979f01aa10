// SPDX-License-Identifier: Apache-2.0
// The ports with their queues and maps. Values are merged in the order built-in default, [queue.N] or [maps],
// port; a check across values points at the port's own value where it has one.
#include <utility>

#include "daemon/core/config_reader.h"

namespace lossless {
namespace {

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
  IpccConfig ipcc;
  Origins ipcc_origins;
  std::optional<Origin> ipcc_on;  // the value that switched IPCC on
  bool faulty = false;            // an error was reported: checks across values would only repeat it
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
  Draft<DcbxConfig> dcbx;
};
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

class PortReader {
 public:
  PortReader(Reader& reader, const Config& sections)
      : reader_(reader), buffer_(sections.buffer), roce_(sections.roce), lldp_(sections.lldp.enabled) {}

  void read(const toml::table& root, Config& out);

 private:
  void read_maps(const toml::table& table, const std::string& path, PriorityMaps& out);
  void read_list(const toml::node& node, const std::string& path, const MapKey& key, PriorityMaps& out);
  void read_pairs(const toml::node& node, const std::string& path, const MapKey& key, PriorityMaps& out);
  void read_element(const toml::node& node, const std::string& path, unsigned max, std::uint8_t& out);
  void read_queues(const toml::table& table, const std::string& path, QueueDrafts& drafts);
  void read_queue(const toml::table& table, const std::string& path, QueueDraft& draft);
  void read_ecn(const toml::node& node, const std::string& path, QueueDraft& draft);
  template <class T>
  void read_feature(const toml::node& node, const std::string& path, std::string_view example, T& value,
                    Origins& origins, std::optional<Origin>& on);
  void check_schedule(const toml::table& table, const Origins& given, const QueueDraft& draft);
  Defaults read_defaults(const toml::table& root);
  void read_ports(const toml::table& root, const Defaults& defaults, Config& out);
  PortConfig read_port(const toml::table& table, std::size_t number, Defaults defaults);
  template <class T>
  void read_draft(const toml::table& parent, std::string_view name, const std::string& path, Draft<T>& draft);
  template <class T>
  T finish(const Draft<T>& draft, const std::string& port_path);
  void check_dcbx(const Draft<DcbxConfig>& draft);
  QueueConfig finish_queue(const QueueDraft& draft, const std::string& port_path);
  void check_draft(const QueueDraft& draft, const std::string& port_path);
  void check_pfc_draft(const QueueDraft& draft, const std::string& port_path);
  void check_ipcc_draft(const QueueDraft& draft, const std::string& port_path);
  void threshold_error(const ThresholdFault& fault, Origins all, const Origins& queue,
                       const std::string& port_path);

  Reader& reader_;
  const BufferConfig& buffer_;  // what queues are checked against
  const RoceConfig& roce_;
  bool lldp_;  // is on
  Names names_{reader_, "port"};
};

void PortReader::read_maps(const toml::table& table, const std::string& path, PriorityMaps& out) {
  std::vector<std::string_view> known;
  for (const MapKey& k : map_keys()) known.push_back(k.name);
  for (const auto& [name, node] : table) {
    const auto key = std::ranges::find(map_keys(), name.str(), &MapKey::name);
    if (key == map_keys().end()) {
      reader_.unknown_key(name, path, known);
    } else if (key->list) {
      read_list(node, join(path, key->name), *key, out);
    } else {
      read_pairs(node, join(path, key->name), *key, out);
    }
  }
}

void PortReader::read_list(const toml::node& node, const std::string& path, const MapKey& key,
                           PriorityMaps& out) {
  const toml::array* array = node.as_array();
  const Origin origin = origin_of(path, node.source());
  if (!array) return reader_.fault(origin, "is " + std::string(kind_of(node)), allowed(key));
  if (array->size() != key.size) {
    return reader_.fault(origin, "has " + std::to_string(array->size()) + " elements", allowed(key));
  }
  for (unsigned i = 0; i < key.size; ++i) {
    read_element((*array)[i], join(path, std::to_string(i)), key.max, key.entries(out)[i]);
  }
}

void PortReader::read_pairs(const toml::node& node, const std::string& path, const MapKey& key,
                            PriorityMaps& out) {
  const toml::table* table = node.as_table();
  if (!table)
    return reader_.fault(origin_of(path, node.source()), "is " + std::string(kind_of(node)), allowed(key));
  for (const auto& [name, value] : *table) {
    if (const auto from = small_number(name.str(), key.size)) {
      read_element(value, join(path, name.str()), key.max, key.entries(out)[*from]);
    } else {
      reader_.unknown_number(name, path, key.size, "a DSCP");
    }
  }
}

void PortReader::read_element(const toml::node& node, const std::string& path, unsigned max,
                              std::uint8_t& out) {
  const Rule rule(Rule::Type::Integer, 0, max);
  const auto raw = scalar_of(node);
  const auto value = raw ? apply_rule(rule, *raw) : std::unexpected("is " + std::string(kind_of(node)));
  if (!value) return reader_.fault(origin_of(path, node.source()), value.error(), allowed(rule));
  out = static_cast<std::uint8_t>(std::get<std::int64_t>(*value));
}

void PortReader::read_queues(const toml::table& table, const std::string& path, QueueDrafts& drafts) {
  for (const auto& [name, node] : table) {
    const auto tc = small_number(name.str(), kTcs);
    if (!tc) {
      reader_.unknown_number(name, path, kTcs, "the TC");
    } else if (const toml::table* queue = reader_.table_at(table, name.str(), path)) {
      read_queue(*queue, join(path, name.str()), drafts[*tc]);
    }
  }
}

void PortReader::read_queue(const toml::table& table, const std::string& path, QueueDraft& draft) {
  const std::size_t errors_before = reader_.error_count();
  Origins given;
  reader_.read_keys(table, path, kQueueTables, draft.queue, given);
  check_schedule(table, given, draft);
  for (const auto& [key, origin] : given) draft.origins[key] = origin;
  if (const toml::node* ecn = table.get("ecn")) read_ecn(*ecn, join(path, "ecn"), draft);
  if (const toml::node* pfc = table.get("pfc"))
    read_feature(*pfc, join(path, "pfc"), "{ xoff = \"100KB\", headroom = \"40KB\" }", draft.pfc,
                 draft.pfc_origins, draft.pfc_on);
  if (const toml::node* ipcc = table.get("ipcc"))
    read_feature(*ipcc, join(path, "ipcc"), "{ low = \"100KB\", high = \"400KB\" }", draft.ipcc,
                 draft.ipcc_origins, draft.ipcc_on);
  if (reader_.error_count() > errors_before) draft.faulty = true;
}

// Strict priority has no share: a weight or group that stands beside it is a misunderstanding.
void PortReader::check_schedule(const toml::table& table, const Origins& given, const QueueDraft& draft) {
  const bool unreadable = table.contains("schedule") && !given.contains("schedule");
  if (draft.queue.schedule == Schedule::Wrr || unreadable) return;
  for (const std::string_view key : {"group", "weight"}) {
    const auto at = given.find(key);
    if (at == given.end()) continue;
    reader_.fault(
        at->second,
        "is given but the queue is strict; a strict queue is served before all others and has no share",
        "leave it out, or schedule = \"wrr\"");
  }
}

void PortReader::read_ecn(const toml::node& node, const std::string& path, QueueDraft& draft) {
  const Origin origin = origin_of(path, node.source());
  const toml::table* table = node.as_table();
  if (table) {
    Origins given;
    reader_.read_keys(*table, path, {}, draft.ecn, given);
    for (const auto& [key, at] : given) draft.ecn_origins[key] = at;
    draft.ecn_on = origin;
    return;
  }
  const auto* flag = node.as_boolean();
  if (!flag || flag->get()) {
    const std::string what = flag ? "does not say where marking begins" : "is " + std::string(kind_of(node));
    return reader_.fault(origin, what,
                         "a table such as { kmin = \"100KB\", kmax = \"400KB\", pmax = 0.2 }, or false");
  }
  draft.ecn = {};
  draft.ecn_origins.clear();
  draft.ecn_on.reset();
}

// A table, true (everything worked out from the port), or false.
template <class T>
void PortReader::read_feature(const toml::node& node, const std::string& path, std::string_view example,
                              T& value, Origins& origins, std::optional<Origin>& on) {
  const Origin origin = origin_of(path, node.source());
  if (const toml::table* table = node.as_table()) {
    Origins given;
    reader_.read_keys(*table, path, {}, value, given);
    for (const auto& [key, at] : given) origins[key] = at;
    on = origin;
    return;
  }
  const auto* flag = node.as_boolean();
  if (!flag) {
    return reader_.fault(origin, "is " + std::string(kind_of(node)),
                         "a table such as " + std::string(example) + ", true, or false");
  }
  on.reset();
  if (flag->get()) {
    on = origin;
    return;
  }
  value = {};
  origins.clear();
}

template <class T>
void PortReader::read_draft(const toml::table& parent, std::string_view name, const std::string& path,
                            Draft<T>& draft) {
  const toml::table* table = reader_.table_at(parent, name, path);
  if (!table) return;
  const std::size_t errors_before = reader_.error_count();
  Origins given;
  reader_.read_keys(*table, join(path, name), {}, draft.value, given);
  for (const auto& [key, origin] : given) draft.origins[key] = origin;
  if (reader_.error_count() > errors_before) draft.faulty = true;
}

template <class T>
T PortReader::finish(const Draft<T>& draft, const std::string& port_path) {
  if (draft.faulty) return draft.value;
  if (const auto fault = find_fault(draft.value)) threshold_error(*fault, draft.origins, {}, port_path);
  return draft.value;
}

PortConfig PortReader::read_port(const toml::table& table, std::size_t number, Defaults defaults) {
  PortConfig port;
  port.maps = defaults.maps;
  // The path names the port before its name was checked, as far as the name is usable.
  const Rule& name_rule = keys<PortConfig>().front().rule;
  const auto* name = table.get_as<std::string>("name");
  const bool usable = name && apply_rule(name_rule, name->get());
  const std::string path = usable ? "port." + name->get() : "port[" + std::to_string(number) + "]";

  Origins given;
  reader_.read_keys(table, path, kPortTables, port, given);
  reader_.require_key(table, path, "name", "the interface to manage");
  names_.add(port.name, given);
  if (const toml::table* own = reader_.table_at(table, "maps", path))
    read_maps(*own, path + ".maps", port.maps);
  if (const toml::table* own = reader_.table_at(table, "queue", path))
    read_queues(*own, path + ".queue", defaults.queues);
  read_draft(table, "watchdog", path, defaults.watchdog);
  read_draft(table, "pfc_alarm", path, defaults.pfc_alarm);
  read_draft(table, "dcbx", path, defaults.dcbx);
  for (unsigned tc = 0; tc < kTcs; ++tc) port.queues[tc] = finish_queue(defaults.queues[tc], path);
  port.watchdog = finish(defaults.watchdog, path);
  port.pfc_alarm = finish(defaults.pfc_alarm, path);
  if (const auto fault = find_weights_fault(port))
    reader_.error(given.at("weights").begin, path + ".weights: " + *fault);
  if (const auto fault = find_dcb_fault(port)) reader_.error(given.at("dcb").begin, path + ".dcb: " + *fault);
  port.dcbx = finish(defaults.dcbx, path);
  check_dcbx(defaults.dcbx);
  return port;
}

void PortReader::check_dcbx(const Draft<DcbxConfig>& draft) {
  if (!draft.value.on || lldp_) return;
  const Origin& at = draft.origins.at("on");
  reader_.error(at.begin, at.path +
                              ": true needs the LLDP agent, which DCBX is part of; allowed: enabled = true "
                              "under [lldp]");
}

void PortReader::read_ports(const toml::table& root, const Defaults& defaults, Config& out) {
  static const std::string kCount = "1 to " + std::to_string(kMaxPorts) + " ports, each under [[port]]";
  const toml::node* node = root.get("port");
  if (!node) return reader_.error({}, "port: the file names none; allowed: " + kCount);
  const Origin origin = origin_of("port", node->source());
  const toml::array* array = node->as_array();
  if (!array) return reader_.fault(origin, "is " + std::string(kind_of(*node)), kCount);
  if (array->empty()) return reader_.fault(origin, "names no port", kCount);
  std::size_t number = 0;
  for (const toml::node& element : *array) {
    const toml::table* port = element.as_table();
    const Origin at = origin_of("port[" + std::to_string(++number) + "]", element.source());
    if (number > static_cast<std::size_t>(kMaxPorts)) {
      return reader_.fault(at, "is one too many of " + std::to_string(array->size()) + " ports", kCount);
    }
    if (port) {
      out.ports.push_back(read_port(*port, number, defaults));
    } else {
      reader_.fault(at, "is " + std::string(kind_of(element)), "a table, under [[port]]");
    }
  }
}

// What holds in the end. `port_path` tells a port's own values from the defaults for all.
QueueConfig PortReader::finish_queue(const QueueDraft& draft, const std::string& port_path) {
  check_draft(draft, port_path);
  QueueConfig queue = draft.queue;
  if (queue.schedule == Schedule::Strict) queue.group = queue.weight = 0;
  if (draft.ecn_on) queue.ecn = draft.ecn;
  if (draft.pfc_on) queue.pfc = draft.pfc;
  if (draft.ipcc_on) queue.ipcc = draft.ipcc;
  return queue;
}

void PortReader::check_draft(const QueueDraft& draft, const std::string& port_path) {
  if (draft.faulty) return;
  if (draft.ecn_on) {
    bool complete = true;
    for (const std::string_view key : {"kmin", "kmax", "pmax"}) {
      if (draft.ecn_origins.contains(key)) continue;
      complete = false;
      reader_.error(draft.ecn_on->begin,
                    draft.ecn_on->path + ": lacks '" + std::string(key) + "'; ECN needs kmin, kmax and pmax");
    }
    if (!complete) return;
    if (const auto found = find_ecn_fault(draft.ecn, draft.queue.limit_bytes))
      return threshold_error(*found, draft.ecn_origins, draft.origins, port_path);
  }
  if (const auto found = find_alpha_fault(draft.queue, buffer_))
    return threshold_error(*found, draft.origins, draft.origins, port_path);
  check_pfc_draft(draft, port_path);
  check_ipcc_draft(draft, port_path);
}

void PortReader::check_ipcc_draft(const QueueDraft& draft, const std::string& port_path) {
  if (!draft.ipcc_on) return;
  if (!roce_.flows)
    return reader_.error(draft.ipcc_on->begin,
                         draft.ipcc_on->path +
                             ": IPCC tells the senders of flows, and [roce] flows is false; "
                             "allowed: flows = true, or no ipcc");
  QueueConfig queue = draft.queue;
  queue.ipcc = draft.ipcc;
  if (draft.pfc_on) queue.pfc = draft.pfc;
  const auto found = find_ipcc_fault(queue);
  if (!found) return;
  Origins all = draft.ipcc_origins;
  all.insert(draft.pfc_origins.begin(), draft.pfc_origins.end());
  threshold_error(*found, std::move(all), draft.origins, port_path);
}

void PortReader::check_pfc_draft(const QueueDraft& draft, const std::string& port_path) {
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
void PortReader::threshold_error(const ThresholdFault& fault, Origins all, const Origins& queue,
                                 const std::string& port_path) {
  if (const auto limit = queue.find("limit"); limit != queue.end()) all.insert(*limit);
  const Origin* at = &all.at(fault.key);
  const auto other = fault.against.empty() ? all.end() : all.find(fault.against);
  const auto own = [&](const Origin& o) { return o.path.starts_with(port_path + "."); };
  if (other == all.end()) {
    const std::string where = fault.against == "limit" ? " (the default limit)" : "";
    return reader_.error(at->begin, at->path + ": " + fault.message + where);
  }
  const Origin* second = &other->second;
  if (!own(*at) && own(*second)) std::swap(at, second);
  reader_.error(at->begin, at->path + ": " + fault.message + " (see " + second->path + " at line " +
                               std::to_string(second->begin.line) + ")");
}

Defaults PortReader::read_defaults(const toml::table& root) {
  Defaults defaults;
  defaults.maps = default_maps();
  if (const toml::table* table = reader_.table_at(root, "maps", "")) read_maps(*table, "maps", defaults.maps);
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    QueueDraft& draft = defaults.queues[tc];
    draft.queue = default_queue(tc);
    // A strict queue that becomes wrr takes the defaults of the others.
    draft.queue.group = kDefaultGroup;
    draft.queue.weight = kDefaultWeight;
  }
  if (const toml::table* table = reader_.table_at(root, "queue", ""))
    read_queues(*table, "queue", defaults.queues);
  read_draft(root, "watchdog", "", defaults.watchdog);
  read_draft(root, "pfc_alarm", "", defaults.pfc_alarm);
  read_draft(root, "dcbx", "", defaults.dcbx);
  return defaults;
}

void PortReader::read(const toml::table& root, Config& out) {
  const Defaults defaults = read_defaults(root);
  read_ports(root, defaults, out);
  if (!out.ports.empty()) return;
  for (const QueueDraft& draft : defaults.queues) check_draft(draft, "port");
}

}  // namespace

void read_ports(Reader& reader, const toml::table& root, Config& out) {
  PortReader(reader, out).read(root, out);
}

}  // namespace lossless
