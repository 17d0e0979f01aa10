// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/config_rule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "daemon/core/units.h"

namespace lossless {
namespace {

using Result = std::expected<Scalar, std::string>;

std::unexpected<std::string> wrong_type(const Scalar& raw) {
  return std::unexpected("is " + std::string(kind(raw)));
}

Result in_range(const Rule& rule, std::uint64_t value) {
  const bool off = rule.type == Rule::Type::Rate && value == 0;
  if (off) return std::int64_t{0};
  if (value < static_cast<std::uint64_t>(rule.min)) return std::unexpected("is too small");
  if (value > static_cast<std::uint64_t>(rule.max)) return std::unexpected("is too large");
  return static_cast<std::int64_t>(value);
}

Result apply_integer(const Rule& rule, const Scalar& raw) {
  const auto* value = std::get_if<std::int64_t>(&raw);
  if (!value) return wrong_type(raw);
  if (*value < 0) return std::unexpected("is negative");
  return in_range(rule, static_cast<std::uint64_t>(*value));
}

// A size or a rate: a plain integer, or a string with a unit.
Result apply_quantity(const Rule& rule, const Scalar& raw) {
  const auto* text = std::get_if<std::string>(&raw);
  if (!text) return apply_integer(rule, raw);
  const auto value = rule.type == Rule::Type::Size ? parse_size(*text) : parse_rate(*text);
  if (!value) return std::unexpected(value.error());
  return in_range(rule, *value);
}

Result apply_probability(const Scalar& raw) {
  const auto* value = std::get_if<double>(&raw);
  if (!value) return wrong_type(raw);
  if (std::isnan(*value)) return std::unexpected("is not a number");
  if (*value <= 0) return std::unexpected(*value < 0 ? "is negative" : "is too small");
  if (*value > 1) return std::unexpected("is too large");
  return *value;
}

Result apply_choice(const Rule& rule, const Scalar& raw) {
  const auto* text = std::get_if<std::string>(&raw);
  if (!text) return wrong_type(raw);
  const auto choice = std::ranges::find(rule.choices, *text);
  if (choice == rule.choices.end()) return std::unexpected("is not one of the choices");
  return static_cast<std::int64_t>(choice - rule.choices.begin());
}

Result apply_mode(const Scalar& raw) {
  const auto* text = std::get_if<std::string>(&raw);
  if (!text) return wrong_type(raw);
  unsigned mode = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, mode, 8);
  if (error != std::errc{} || stop != end || text->size() < 3 || text->size() > 4) {
    return std::unexpected("is not an octal mode");
  }
  if (mode > 0777) return std::unexpected("is too large");
  return std::int64_t{mode};
}

std::string choices(std::span<const std::string_view> list) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text += i + 1 == list.size() ? " or " : ", ";
    text += quoted(list[i]);
  }
  return text;
}

std::string float_text(double value) {
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  if (error != std::errc{}) return {};
  std::string text(buffer.data(), end);
  // A number without point or exponent would read back as an integer.
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string mode_text(std::int64_t mode) {
  std::string text = "\"0000\"";
  for (std::size_t i = 4; i > 1; --i, mode >>= 3) text[i] = static_cast<char>('0' + (mode & 7));
  return text;
}

}  // namespace

std::string_view kind(const Scalar& value) {
  static constexpr std::array<std::string_view, 4> kKinds{"a boolean", "an integer", "a float", "a string"};
  return kKinds[value.index()];
}

std::string quoted(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    if (byte < 0x20 || byte == 0x7f) {
      out.append("\\u00").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string allowed(const Rule& rule) {
  const auto size = [](std::int64_t v) { return format_size(static_cast<std::uint64_t>(v)); };
  const auto rate = [](std::int64_t v) { return format_rate(static_cast<std::uint64_t>(v)); };
  switch (rule.type) {
    case Rule::Type::Bool:
      return "true or false";
    case Rule::Type::Integer:
      return "an integer from " + std::to_string(rule.min) + " to " + std::to_string(rule.max);
    case Rule::Type::Probability:
      return "a float above 0.0, up to 1.0";
    case Rule::Type::Size:
      return "an integer of bytes or a string such as \"100KB\", from " + size(rule.min) + " to " +
             size(rule.max);
    case Rule::Type::Rate:
      return "0 (not limited), or an integer of bit/s or a string such as \"2.5gbit\", from " +
             rate(rule.min) + " to " + rate(rule.max);
    case Rule::Type::Choice:
      return choices(rule.choices);
    case Rule::Type::Mode:
      return "a string of 3 or 4 octal digits, up to \"0777\"";
    case Rule::Type::Text:
      return std::string(rule.form);
  }
  return {};
}

std::expected<Scalar, std::string> apply_rule(const Rule& rule, const Scalar& raw) {
  switch (rule.type) {
    case Rule::Type::Bool:
      if (!std::holds_alternative<bool>(raw)) return wrong_type(raw);
      return raw;
    case Rule::Type::Integer:
      return apply_integer(rule, raw);
    case Rule::Type::Probability:
      return apply_probability(raw);
    case Rule::Type::Size:
    case Rule::Type::Rate:
      return apply_quantity(rule, raw);
    case Rule::Type::Choice:
      return apply_choice(rule, raw);
    case Rule::Type::Mode:
      return apply_mode(raw);
    case Rule::Type::Text:
      break;
  }
  const auto* text = std::get_if<std::string>(&raw);
  if (!text) return wrong_type(raw);
  if (!rule.valid(*text)) return std::unexpected("is not allowed");
  return raw;
}

std::string as_toml(const Rule& rule, const Scalar& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* number = std::get_if<double>(&value)) return float_text(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  const std::int64_t number = std::get<std::int64_t>(value);
  switch (rule.type) {
    case Rule::Type::Size:
      return quoted(format_size(static_cast<std::uint64_t>(number)));
    case Rule::Type::Rate:
      return number == 0 ? "0" : quoted(format_rate(static_cast<std::uint64_t>(number)));
    case Rule::Type::Choice:
      return quoted(rule.choices[static_cast<std::size_t>(number)]);
    case Rule::Type::Mode:
      return mode_text(number);
    default:
      return std::to_string(number);
  }
}

}  // namespace lossless
