// SPDX-License-Identifier: Apache-2.0
#include "cli/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "daemon/core/config_source.h"

namespace lossless::cli {
namespace {

// Three significant digits and a decimal prefix; whole numbers below 1000.
std::string scaled(double value, std::string_view unit) {
  static constexpr std::array<std::string_view, 7> kPrefixes{"", "K", "M", "G", "T", "P", "E"};
  std::size_t step = 0;
  // 999.5 would round to "1000": it belongs to the next prefix already.
  while (value >= 999.5 && step + 1 < kPrefixes.size()) {
    value /= 1000;
    ++step;
  }
  int decimals = 0;
  if (step > 0 && value < 9.995) {
    decimals = 2;
  } else if (step > 0 && value < 99.95) {
    decimals = 1;
  }
  return fmt::format("{:.{}f}{}{}", value, decimals, kPrefixes[step], unit);
}

}  // namespace

std::string format_count(std::uint64_t n) {
  const std::string digits = std::to_string(n);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string human_size(std::uint64_t bytes) { return scaled(static_cast<double>(bytes), "B"); }

std::string human_rate(double bits_per_second) { return scaled(bits_per_second, "bit/s"); }

std::string format_probability(double p) { return fmt::format("{:.4g}%", p * 100); }

std::string format_uptime(std::uint64_t ms) {
  const std::uint64_t s = ms / 1000;
  const std::string clock = fmt::format("{:02}:{:02}:{:02}", s / 3600 % 24, s / 60 % 60, s % 60);
  return s < 86400 ? clock : fmt::format("{}d {}", s / 86400, clock);
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    if (byte == '"' || byte == '\\') {
      out.append("\\").append(text.substr(0, 1));
      text.remove_prefix(1);
    } else if (byte < 0x20) {
      out += fmt::format("\\u{:04x}", byte);
      text.remove_prefix(1);
    } else {
      // As far as nothing needs an escape; what isn't UTF-8 would break the document.
      const auto special = std::ranges::find_if(
          text, [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; });
      const auto size = static_cast<std::size_t>(special - text.begin());
      out += printable(text.substr(0, size));
      text.remove_prefix(size);
    }
  }
  return out + '"';
}

}  // namespace lossless::cli
