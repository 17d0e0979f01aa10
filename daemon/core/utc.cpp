// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/utc.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace lossless {
namespace {

namespace ch = std::chrono;

constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:ddZ";

bool has_shape(std::string_view text) {
  if (text.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return false;
  }
  return true;
}

unsigned number(std::string_view text, std::size_t at, std::size_t digits) {
  unsigned out = 0;
  std::from_chars(text.data() + at, text.data() + at + digits, out);
  return out;
}

}  // namespace

std::optional<std::int64_t> parse_utc(std::string_view text) {
  if (!has_shape(text)) return std::nullopt;
  const ch::year_month_day day(ch::year(static_cast<int>(number(text, 0, 4))), ch::month(number(text, 5, 2)),
                               ch::day(number(text, 8, 2)));
  const unsigned hour = number(text, 11, 2);
  const unsigned minute = number(text, 14, 2);
  const unsigned second = number(text, 17, 2);
  if (!day.ok() || day.year() < ch::year(1970) || hour > 23 || minute > 59 || second > 59)
    return std::nullopt;
  const auto at = ch::sys_days(day) + ch::hours(hour) + ch::minutes(minute) + ch::seconds(second);
  return at.time_since_epoch().count();
}

std::string utc_text(std::int64_t seconds) {
  const ch::sys_seconds at{ch::seconds(seconds)};
  const auto days = ch::floor<ch::days>(at);
  const ch::year_month_day day(days);
  const ch::hh_mm_ss time(at - days);
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(day.year()),
                static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return out.data();
}

}  // namespace lossless
