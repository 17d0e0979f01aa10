// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/watchdog_escape.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace lossless::pfc {
namespace {

// escape 1
// on 1767225600
// port swp1 24
constexpr std::string_view kHeader = "escape 1";
constexpr std::size_t kMaxPortName = 15;  // IFNAMSIZ - 1

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<std::uint64_t> number(std::string_view text, std::uint64_t max) {
  std::uint64_t value = 0;
  const char* begin = std::to_address(text.begin());
  const char* end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc{} || stop != end || value > max) return std::nullopt;
  return value;
}

bool is_port_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxPortName && std::ranges::all_of(name, [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != 0x7f && c != '/';
  });
}

std::unexpected<std::string> fault(std::size_t line, const std::string& what) {
  return std::unexpected("line " + std::to_string(line) + ": " + what);
}

}  // namespace

void Escape::turn_on(const std::map<std::string, TcMask>& ports, std::uint64_t now_s) {
  if (!on_) {
    on_ = true;
    since_s_ = now_s;
    kept_.clear();
  }
  kept_.insert(ports.begin(), ports.end());
}

std::map<std::string, TcMask> Escape::turn_off() {
  on_ = false;
  since_s_ = 0;
  return std::exchange(kept_, {});
}

void Escape::set_port(const std::string& port, TcMask mask) {
  if (on_) kept_[port] = mask;
}

void Escape::remove_port(const std::string& port) { kept_.erase(port); }

std::string Escape::to_text() const {
  std::string text = std::string(kHeader) + "\n";
  text += on_ ? "on " + std::to_string(since_s_) + "\n" : "off\n";
  for (const auto& [port, mask] : kept_) text += "port " + port + " " + std::to_string(mask) + "\n";
  return text;
}

std::expected<Escape, std::string> parse_escape(std::string_view text) {
  const std::vector<std::string_view> lines = split(text, '\n');
  if (lines[0] != kHeader) return fault(1, "must be \"" + std::string(kHeader) + "\"");
  if (lines.size() < 3 || !lines.back().empty()) return fault(lines.size(), "the text ends too early");
  Escape escape;
  if (lines[1].starts_with("on ")) {
    const auto since = number(lines[1].substr(3), std::numeric_limits<std::uint64_t>::max());
    if (!since) return fault(2, "the time is not a number");
    escape.on_ = true;
    escape.since_s_ = *since;
  } else if (lines[1] != "off") {
    return fault(2, "must be \"on SECONDS\" or \"off\"");
  }
  for (std::size_t i = 2; i + 1 < lines.size(); ++i) {
    const std::vector<std::string_view> words = split(lines[i], ' ');
    if (!escape.on_ || words.size() != 3 || words[0] != "port" || !is_port_name(words[1])) {
      return fault(i + 1, "must be \"port NAME MASK\", and none while it is off");
    }
    const auto mask = number(words[2], std::numeric_limits<TcMask>::max());
    if (!mask) return fault(i + 1, "the mask must be 0 to 255");
    if (!escape.kept_.emplace(words[1], static_cast<TcMask>(*mask)).second) {
      return fault(i + 1, "port " + std::string(words[1]) + " is there twice");
    }
  }
  return escape;
}

}  // namespace lossless::pfc
