// SPDX-License-Identifier: Apache-2.0
// Numbers the way people read them. What a configuration file would say (thresholds, limits, port rates)
// is written by daemon/core/units.h, exactly; these here round.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lossless::cli {

// 1234567 -> "1,234,567".
std::string format_count(std::uint64_t n);

// Bytes with three significant digits: 12345 -> "12.3KB". Decimal units, as rates have them.
std::string human_size(std::uint64_t bytes);

// Bits per second with three significant digits: 98765432 -> "98.8Mbit/s".
std::string human_rate(double bits_per_second);

// 0 .. 1 -> "20%", "0.5%"; at most four significant digits.
std::string format_probability(double p);

// 93784000 -> "1d 02:03:04"; below a day "02:03:04".
std::string format_uptime(std::uint64_t ms);

// "-" for nothing.
std::string or_dash(const std::string& text);

// A JSON string literal with its quotes (RFC 8259 section 7); bytes that are no UTF-8 become '?'.
std::string json_string(std::string_view text);

}  // namespace lossless::cli
