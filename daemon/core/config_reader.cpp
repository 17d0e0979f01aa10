// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/config_reader.h"

#include <utility>

namespace lossless {
namespace {

constexpr std::size_t kMaxErrors = 1000;

}  // namespace

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

void Reader::error(Position at, std::string_view message) {
  errors_.push_back({file_, at.line, at.column, printable(message)});
}

void Reader::fault(const Origin& at, std::string_view what, std::string_view allowed) {
  const std::string written = source_.excerpt(at.begin, at.end);
  std::string message = at.path + ": ";
  message.append(written.empty() ? "this" : written).append(" ").append(what);
  error(at.begin, message.append("; allowed: ").append(allowed));
}

void Names::add(const std::string& name, const Origins& given) {
  const auto at = given.find("name");
  if (at == given.end()) return;
  const auto [first, is_new] = first_.emplace(name, at->second.begin);
  if (is_new) return;
  std::string what = "is a second ";
  what.append(kind_)
      .append(" of that name; the first is at line ")
      .append(std::to_string(first->second.line));
  reader_.fault(at->second, what.append(", column ").append(std::to_string(first->second.column)),
                "each name once");
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

const toml::table* Reader::table_at(const toml::table& parent, std::string_view name,
                                    const std::string& path) {
  const toml::node* node = parent.get(name);
  if (!node) return nullptr;
  if (!node->is_table())
    fault(origin_of(join(path, name), node->source()), "is " + std::string(kind_of(*node)), "a table");
  return node->as_table();
}

const toml::array* Reader::array_at(const toml::table& parent, std::string_view name, const std::string& path,
                                    std::string_view allowed) {
  const toml::node* node = parent.get(name);
  if (!node) return nullptr;
  if (!node->is_array())
    fault(origin_of(join(path, name), node->source()), "is " + std::string(kind_of(*node)), allowed);
  return node->as_array();
}

void Reader::require_key(const toml::table& table, const std::string& path, std::string_view key,
                         std::string_view what) {
  if (table.contains(key)) return;
  error(to_position(table.source().begin),
        path + ": lacks '" + std::string(key) + "'" + (what.empty() ? "" : ", " + std::string(what)));
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

}  // namespace lossless
