// SPDX-License-Identifier: Apache-2.0
// [[bgp_filter]] and [[bgp_neighbor]]; [bgp] itself is nothing but plain keys.
#include <utility>
#include <vector>

#include "daemon/core/config_reader.h"

namespace lossless {
namespace {

struct Known {
  AddressRange range;
  std::string text;
  std::string interface;
  bool password = false;
  bool key_chain = false;

  bool overlaps(const Known& other) const {
    return interface == other.interface && range.first <= other.range.last && other.range.first <= range.last;
  }
};

class NeighborReader {
 public:
  NeighborReader(Reader& reader, Config& config) : reader_(reader), config_(config) {}

  void read(const toml::table& table, const std::string& path) {
    const std::size_t before = reader_.error_count();
    BgpNeighborConfig neighbor;
    Origins given;
    reader_.read_keys(table, path, {}, neighbor, given);
    reader_.require_key(table, path, "address", "of the neighbour, or a range of those that may connect");
    reader_.check_together(table, path, given, before, neighbor);
    check_address(neighbor, given);
    check_name(neighbor.key_chain, given, "key_chain", config_.key_chains);
    check_name(neighbor.import_filter, given, "import", config_.bgp_filters);
    check_name(neighbor.export_filter, given, "export", config_.bgp_filters);
    config_.bgp_neighbors.push_back(std::move(neighbor));
  }

 private:
  // Two ranges must not overlap; an address of its own may lie in a range.
  void check_address(const BgpNeighborConfig& neighbor, const Origins& given) {
    const auto range = parse_range(neighbor.address);
    if (!range || !given.contains("address")) return;
    const Known mine{*range, neighbor.address, neighbor.interface, !neighbor.password.empty(),
                     !neighbor.key_chain.empty()};
    for (const Known& other : known_) {
      if (!other.overlaps(mine)) continue;
      if (other.range.single() == range->single())
        reader_.fault(given.at("address"), "is what " + quoted(other.text) + " has already",
                      "each address once");
      // The kernel has one kind of signature for each address.
      if ((other.password && mine.key_chain) || (other.key_chain && mine.password))
        reader_.fault(given.at(mine.password ? "password" : "key_chain"),
                      "does not go with " + quoted(other.text) + ", which is signed in the other way",
                      "password or key_chain for all that overlap");
      break;
    }
    known_.push_back(mine);
  }

  template <class Named>
  void check_name(const std::string& name, const Origins& given, std::string_view key,
                  const std::vector<Named>& all) {
    if (!given.contains(key) || std::ranges::find(all, name, &Named::name) != all.end()) return;
    std::string names;
    for (const Named& one : all) names.append(names.empty() ? "" : ", ").append(one.name);
    reader_.fault(given.at(key), "is not there",
                  names.empty() ? "the name of a table that is there; there is none" : names);
  }

  Reader& reader_;
  Config& config_;
  std::vector<Known> known_;
};

void read_filters(Reader& reader, const toml::table& root, Config& out) {
  Names names(reader, "filter");
  reader.read_tables(root, "bgp_filter", "", kMaxBgpFilters,
                     [&](const toml::table& table, const std::string& path) {
                       BgpFilterConfig filter;
                       Origins given;
                       reader.read_keys(table, path, kBgpFilterTables, filter, given);
                       reader.require_key(table, path, "name", "by which neighbours refer to it");
                       names.add(filter.name, given);
                       reader.read_tables(table, "rule", path, kMaxBgpFilterRules,
                                          [&](const toml::table& entry, const std::string& at) {
                                            const std::size_t before = reader.error_count();
                                            BgpFilterRule rule;
                                            Origins origins;
                                            reader.read_keys(entry, at, {}, rule, origins);
                                            reader.require_key(entry, at, "action", "permit or deny");
                                            reader.check_together(entry, at, origins, before, rule);
                                            filter.rules.push_back(std::move(rule));
                                          });
                       out.bgp_filters.push_back(std::move(filter));
                     });
}

}  // namespace

void read_bgp(Reader& reader, const toml::table& root, Config& out) {
  read_filters(reader, root, out);
  NeighborReader neighbors(reader, out);
  reader.read_tables(root, "bgp_neighbor", "", kMaxBgpNeighbors,
                     [&](const toml::table& table, const std::string& path) { neighbors.read(table, path); });
}

}  // namespace lossless
