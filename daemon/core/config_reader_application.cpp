// SPDX-License-Identifier: Apache-2.0
// [[application]].
#include <utility>

#include "daemon/core/config_reader.h"

namespace lossless {

// A file that names none has the default ones; an empty array takes them away.
void read_applications(Reader& reader, const toml::table& root, Config& out) {
  if (!root.contains("application")) return;
  out.applications.clear();
  std::map<std::pair<AppField, unsigned>, Position> known;
  reader.read_tables(
      root, "application", "", kMaxApplications, [&](const toml::table& table, const std::string& path) {
        const std::size_t errors_before = reader.error_count();
        Application entry;
        Origins given;
        reader.read_keys(table, path, {}, entry, given);
        for (const std::string_view key : {"field", "protocol", "priority"})
          reader.require_key(table, path, key);
        if (reader.error_count() > errors_before) return;
        const Origin& at = given["protocol"];
        const auto [first, is_new] = known.emplace(std::pair(entry.field, entry.protocol), at.begin);
        if (!is_new)
          reader.fault(at, "has a priority already, at line " + std::to_string(first->second.line),
                       "each protocol of a field once");
        out.applications.push_back(entry);
      });
}

}  // namespace lossless
