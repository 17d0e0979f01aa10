// SPDX-License-Identifier: Apache-2.0
// TOML text -> Config: every table goes to its reader.
#define TOML_IMPLEMENTATION
#include <utility>

#include "daemon/core/config_reader.h"

namespace lossless {
namespace {

InofConfig read_inof_only(Reader& reader, const toml::table& root) {
  InofConfig config;
  for (const auto& [name, node] : root)
    if (name.str() != "inof") reader.unknown_key(name, "", {"inof"});
  if (const toml::table* inof = reader.table_at(root, "inof", "")) read_inof(reader, *inof, config);
  return config;
}

Config read_config(Reader& reader, const toml::table& root) {
  Config config;
  Origins given;
  reader.read_keys(root, "", kTopTables, config, given);
  for_sections([&]<class Section>(std::string_view name, Section Config::* member) {
    if (const toml::table* table = reader.table_at(root, name, ""))
      reader.read_section(*table, name, config.*member);
  });
  if (config.api.socket.empty()) config.api.socket = default_socket(config.instance);

  if (const toml::table* inof = reader.table_at(root, "inof", "")) {
    read_inof(reader, *inof, config.inof);
    if (config.inof.on && !config.lldp.enabled)
      reader.error(
          to_position(inof->source().begin),
          "inof.on: true needs the LLDP agent, by which hosts are found; allowed: enabled = true under "
          "[lldp]");
  }

  read_key_chains(reader, root, config);
  read_bgp(reader, root, config);
  read_ports(reader, root, config);
  read_hooks(reader, root, config);
  read_applications(reader, root, config);
  read_bfd(reader, root, config);
  return config;
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
  return parse<Config>(text, file, read_config);
}

std::expected<InofConfig, ConfigErrors> parse_inof(std::string_view text, const std::string& file) {
  return parse<InofConfig>(text, file, read_inof_only);
}

}  // namespace lossless
