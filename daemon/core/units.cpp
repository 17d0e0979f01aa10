// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/units.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace lossless {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// Printed is the largest unit that divides the value.
constexpr std::array<Unit, 7> kSizes{{{"B", 1},
                                      {"KB", 1'000},
                                      {"MB", 1'000'000},
                                      {"GB", 1'000'000'000},
                                      {"KiB", 1ULL << 10},
                                      {"MiB", 1ULL << 20},
                                      {"GiB", 1ULL << 30}}};
constexpr std::array<Unit, 4> kRates{
    {{"bit", 1}, {"kbit", 1'000}, {"mbit", 1'000'000}, {"gbit", 1'000'000'000}}};

using Wide = unsigned __int128;

// Of either part: below 10^20, so that Wide holds it times any unit. 2^64-1 has 20 digits.
constexpr std::size_t kMaxDigits = 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view take_digits(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

Wide to_number(std::string_view digits) {
  Wide n = 0;
  for (const char c : digits) n = n * 10 + static_cast<unsigned>(c - '0');
  return n;
}

std::string names(std::span<const Unit> units) {
  std::string list;
  for (const Unit& u : units) list.append(list.empty() ? "" : ", ").append(u.name);
  return list;
}

// A number as it is written: whole.fraction, no sign, no exponent.
struct Decimal {
  Wide whole = 0;
  Wide fraction = 0;
  Wide scale = 1;  // 10^(digits of fraction)
};

std::expected<Decimal, std::string> take_decimal(std::string_view& text) {
  if (text.starts_with('-')) return std::unexpected("is negative");
  std::string_view whole = take_digits(text);
  if (whole.empty()) return std::unexpected("does not begin with a number");
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take_digits(text);
    if (fraction.empty()) return std::unexpected("has no digit after the point");
  }
  while (whole.size() > 1 && whole.front() == '0') whole.remove_prefix(1);
  while (fraction.ends_with('0')) fraction.remove_suffix(1);
  if (whole.size() > kMaxDigits) return std::unexpected("is too large");
  if (fraction.size() > kMaxDigits) return std::unexpected("has too many decimals");
  Decimal d{.whole = to_number(whole), .fraction = to_number(fraction)};
  for (std::size_t i = 0; i < fraction.size(); ++i) d.scale *= 10;
  return d;
}

std::expected<std::uint64_t, std::string> scale(const Decimal& d, std::uint64_t factor,
                                                std::string_view quantity) {
  const Wide part = d.fraction * factor;
  if (part % d.scale != 0) return std::unexpected("is not a whole number of " + std::string(quantity));
  const Wide value = d.whole * factor + part / d.scale;
  if (value > std::numeric_limits<std::uint64_t>::max()) return std::unexpected("is too large");
  return static_cast<std::uint64_t>(value);
}

std::expected<std::uint64_t, std::string> parse(std::string_view text, std::span<const Unit> units,
                                                bool any_case, std::string_view quantity) {
  if (text.empty()) return std::unexpected("is empty");
  const auto number = take_decimal(text);
  if (!number) return std::unexpected(number.error());
  if (text.starts_with(' ')) text.remove_prefix(1);
  if (text.empty()) return scale(*number, 1, quantity);
  const auto same = [&](const Unit& u) {
    return any_case ? std::ranges::equal(u.name, text, {}, {}, to_lower) : u.name == text;
  };
  const auto unit = std::ranges::find_if(units, same);
  if (unit == units.end()) {
    return std::unexpected("has no known unit (units are " + names(units) + ")");
  }
  return scale(*number, unit->factor, quantity);
}

std::string format(std::uint64_t value, std::span<const Unit> units) {
  const Unit* best = units.data();
  if (value != 0) {
    for (const Unit& u : units) {
      if (value % u.factor == 0 && u.factor > best->factor) best = &u;
    }
  }
  return std::to_string(value / best->factor).append(best->name);
}

}  // namespace

std::expected<std::uint64_t, std::string> parse_size(std::string_view text) {
  return parse(text, kSizes, false, "bytes");
}

std::expected<std::uint64_t, std::string> parse_rate(std::string_view text) {
  return parse(text, kRates, true, "bit/s");
}

std::string format_size(std::uint64_t bytes) { return format(bytes, kSizes); }
std::string format_rate(std::uint64_t bits_per_second) { return format(bits_per_second, kRates); }

}  // namespace lossless
