// SPDX-License-Identifier: Apache-2.0
// How tables of the configuration are read: each value remembers where it was written, and each fault names
// the value, the place and what is allowed. The subjects' own tables are read in config_reader_SUBJECT.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/core/config_keys.h"
#include "daemon/core/config_source.h"
#include "daemon/core/config_toml.h"

namespace lossless {

// Where a value was written. No line: nowhere, it is a built-in default.
struct Origin {
  std::string path;
  Position begin;
  Position end;
};
using Origins = std::map<std::string_view, Origin>;  // by key name

Position to_position(const toml::source_position& p);
Origin origin_of(const std::string& path, const toml::source_region& region);
std::optional<Scalar> scalar_of(const toml::node& node);
std::string_view kind_of(const toml::node& node);  // "a table", "an integer"
std::string join(const std::string& path, std::string_view key);

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : source_(text), file_(file) {}

  // In file order, each once, at most 1000 of them.
  ConfigErrors take_errors();
  std::size_t error_count() const { return errors_.size(); }

  void error(Position at, std::string_view message);
  // "queue.3.weight: 101 is too large; allowed: an integer from 1 to 100"
  void fault(const Origin& at, std::string_view what, std::string_view allowed);
  void unknown_key(const toml::key& key, const std::string& path, const std::vector<std::string_view>& known);
  void unknown_number(const toml::key& key, const std::string& path, unsigned count,
                      std::string_view meaning);

  // The table or array `name` below `parent`; nullptr if there is none, or something else in its place.
  const toml::table* table_at(const toml::table& parent, std::string_view name, const std::string& path);
  const toml::array* array_at(const toml::table& parent, std::string_view name, const std::string& path,
                              std::string_view allowed);
  // Reads the plain keys of one table; `tables` are the keys below it that others read.
  template <class T>
  void read_keys(const toml::table& table, const std::string& path, std::span<const std::string_view> tables,
                 T& out, Origins& given);
  // What find_fault() says of values together, if all of them could be read: no error since there were
  // `errors_before`.
  template <class T>
  void check_together(const toml::table& table, const std::string& path, const Origins& given,
                      std::size_t errors_before, const T& value);
  // A table of plain keys, and what its find_fault() says of them together.
  template <class Section>
  void read_section(const toml::table& table, std::string_view name, Section& out);
  // Each table of [[NAME]]; the path has its number.
  template <class Each>
  void read_tables(const toml::table& parent, std::string_view name, const std::string& path, std::size_t max,
                   const Each& each);
  // The elements of an array, each of which `each` takes or refuses. False after a fault; a key that is not
  // there is none.
  template <class Each>
  bool read_array(const toml::table& table, const std::string& path, std::string_view key,
                  std::string_view allowed, Origins& given, const Each& each);
  // `what` the key is for, where its name does not say it.
  void require_key(const toml::table& table, const std::string& path, std::string_view key,
                   std::string_view what = {});

 private:
  SourceText source_;
  const std::string& file_;
  ConfigErrors errors_;
};

// The names of one kind of tables, each of which may be there once.
class Names {
 public:
  // `kind` of table, as a fault names it; static text.
  Names(Reader& reader, std::string_view kind) : reader_(reader), kind_(kind) {}
  // The table's `name`, unless it is missing or not valid. A second one is a fault that says where the first
  // is.
  void add(const std::string& name, const Origins& given);

 private:
  Reader& reader_;
  std::string_view kind_;
  std::map<std::string, Position> first_;
};

// The subjects' tables.
void read_ports(Reader& reader, const toml::table& root, Config& out);  // after [buffer]
void read_hooks(Reader& reader, const toml::table& root, Config& out);  // after the ports
void read_applications(Reader& reader, const toml::table& root, Config& out);
void read_bfd(Reader& reader, const toml::table& root, Config& out);  // after [bfd]
void read_key_chains(Reader& reader, const toml::table& root, Config& out);
void read_bgp(Reader& reader, const toml::table& root, Config& out);  // after the key chains
void read_inof(Reader& reader, const toml::table& table, InofConfig& out);

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

template <class T>
void Reader::check_together(const toml::table& table, const std::string& path, const Origins& given,
                            std::size_t errors_before, const T& value) {
  const auto found = errors_.size() == errors_before ? find_fault(value) : std::nullopt;
  if (!found) return;
  const auto at = given.find(found->key);
  const Position begin = at == given.end() ? to_position(table.source().begin) : at->second.begin;
  error(begin, join(path, found->key) + ": " + found->message);
}

template <class Section>
void Reader::read_section(const toml::table& table, std::string_view name, Section& out) {
  const std::size_t errors_before = errors_.size();
  Origins given;
  read_keys(table, std::string(name), {}, out, given);
  if constexpr (requires { find_fault(out); })
    check_together(table, std::string(name), given, errors_before, out);
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

}  // namespace lossless
