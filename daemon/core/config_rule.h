// SPDX-License-Identifier: Apache-2.0
// What a key of the configuration may hold. Type, range, the sentence about what is allowed, and the way
// the value is written in a file all come from one rule.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace lossless {

// A value of the file, before or after a rule was applied. After: sizes are bytes, rates bit/s, choices
// their index, modes their bits, all as integers.
using Scalar = std::variant<bool, std::int64_t, double, std::string>;

struct Rule {
  enum class Type : std::uint8_t { Bool, Integer, Probability, Size, Rate, Choice, Mode, Text };
  Type type = Type::Bool;
  std::int64_t min = 0;  // Integer; Size in bytes; Rate in bit/s, and 0 besides
  std::int64_t max = 0;
  std::span<const std::string_view> choices;  // Choice
  bool (*valid)(std::string_view) = nullptr;  // Text
  std::string_view form;                      // Text: what is allowed, in words

  constexpr explicit Rule(Type of, std::int64_t lowest = 0, std::int64_t highest = 0)
      : type(of), min(lowest), max(highest) {}
  constexpr explicit Rule(std::span<const std::string_view> names) : type(Type::Choice), choices(names) {}
  constexpr Rule(bool (*check)(std::string_view), std::string_view words)
      : type(Type::Text), valid(check), form(words) {}
};

// What is allowed, in words: "an integer from 1 to 100".
std::string allowed(const Rule& rule);

// The value in its final unit, or what is wrong with it, as the end of a sentence that begins with the
// value: "is a string", "is out of range".
std::expected<Scalar, std::string> apply_rule(const Rule& rule, const Scalar& raw);

// The value as a file would write it: 100KB and strings in quotes, a float with its point.
std::string as_toml(const Rule& rule, const Scalar& value);

// A TOML basic string.
std::string quoted(std::string_view text);

// "a boolean", "an integer", "a float", "a string".
std::string_view kind(const Scalar& value);

}  // namespace lossless
