// SPDX-License-Identifier: Apache-2.0
// Times of the calendar as configurations write them (RFC 3339, UTC alone). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lossless {

inline constexpr std::string_view kUtcForm = "a time in UTC such as \"2026-12-31T23:59:59Z\"";

// Seconds since 1970. Nothing: it is no such time, or not one of the years 1970 to 9999.
std::optional<std::int64_t> parse_utc(std::string_view text);
// parse_utc(utc_text(s)) == s for every s that parse_utc can return.
std::string utc_text(std::int64_t seconds);

}  // namespace lossless
