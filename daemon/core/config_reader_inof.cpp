// SPDX-License-Identifier: Apache-2.0
// [inof]: zones, and the white list of hosts.
#include <utility>

#include "daemon/core/config_reader.h"

namespace lossless {
namespace {

std::vector<AddressRange> read_ranges(Reader& reader, const toml::table& table, const std::string& path) {
  std::vector<AddressRange> out;
  const toml::node* node = table.get(kHostsKey.name);
  if (!node) return out;
  const std::string whole = join(path, kHostsKey.name);
  const toml::array* array = node->as_array();
  if (!array || array->size() > kHostsKey.max) {
    reader.fault(
        origin_of(whole, node->source()),
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
      reader.fault(at, range.error(), kRangeForm);
    }
  }
  std::ranges::sort(out);
  const auto [first, last] = std::ranges::unique(out);
  out.erase(first, last);
  return out;
}

void read_whitelist(Reader& reader, const toml::table& table, const std::string& path,
                    InofWhitelistConfig& out) {
  Origins given;
  reader.read_keys(table, path, kWhitelistTables, out, given);
  const Rule& name_rule = keys<InofAllowConfig>().front().rule;
  if (const auto* exceptions = reader.array_at(table, kExceptionsKey, path, "an array of interface names")) {
    for (const toml::node& element : *exceptions) {
      const auto raw = scalar_of(element);
      const auto name =
          raw ? apply_rule(name_rule, *raw) : std::unexpected("is " + std::string(kind_of(element)));
      if (name) {
        out.exceptions.push_back(std::get<std::string>(*name));
      } else {
        reader.fault(origin_of(join(path, kExceptionsKey), element.source()), name.error(),
                     allowed(name_rule));
      }
    }
  }
  reader.read_tables(table, "allow", path, static_cast<std::size_t>(kMaxPorts),
                     [&](const toml::table& entry, const std::string& at) {
                       InofAllowConfig allow;
                       Origins ignored;
                       reader.read_keys(entry, at, kHostsTables, allow, ignored);
                       reader.require_key(entry, at, "port", "the interface that the hosts may join on");
                       reader.require_key(entry, at, "hosts", "those that may join");
                       allow.hosts = read_ranges(reader, entry, at);
                       out.allow.push_back(std::move(allow));
                     });
}

}  // namespace

void read_inof(Reader& reader, const toml::table& table, InofConfig& out) {
  Origins given;
  reader.read_keys(table, "inof", kInofTables, out, given);
  if (const toml::table* list = reader.table_at(table, "whitelist", "inof"))
    read_whitelist(reader, *list, "inof.whitelist", out.whitelist);
  Names names(reader, "zone");
  reader.read_tables(table, "zone", "inof", kMaxInofZones,
                     [&](const toml::table& entry, const std::string& at) {
                       InofZoneConfig zone;
                       Origins origins;
                       reader.read_keys(entry, at, kHostsTables, zone, origins);
                       reader.require_key(entry, at, "name", "by which the zone is shown");
                       zone.hosts = read_ranges(reader, entry, at);
                       names.add(zone.name, origins);
                       out.zones.push_back(std::move(zone));
                     });
  std::ranges::sort(out.zones, {}, &InofZoneConfig::name);
}

}  // namespace lossless
