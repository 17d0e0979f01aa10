// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/dcb_record.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "daemon/net/dcb_plan.h"

namespace lossless::net {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void append_hex(std::string& out, const std::vector<std::uint8_t>& bytes) {
  for (const std::uint8_t byte : bytes) {
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  out += '\n';
}

std::optional<std::vector<std::uint8_t>> parse_hex(std::string_view line) {
  std::vector<std::uint8_t> out;
  out.reserve(line.size() / 2);
  if (line.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < line.size(); i += 2) {
    const std::size_t high = kHex.find(line[i]);
    const std::size_t low = kHex.find(line[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out.push_back(static_cast<std::uint8_t>(high << 4U | low));
  }
  return out;
}

// What comes before the first `end`, which is taken off `text` with it.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view out = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return out;
}

bool parse_head(std::string_view line, DcbRecord& out) {
  const std::string_view number = take_until(line, ' ');
  const auto done = std::from_chars(number.begin(), number.end(), out.ifindex);
  if (done.ec != std::errc() || done.ptr != number.end() || out.ifindex <= 0) return false;
  while (!line.empty()) {
    const std::string_view name = take_until(line, ' ');
    const auto* part = std::ranges::find(kDcbParts, name, [](DcbPart p) { return to_string(p); });
    if (part == std::end(kDcbParts)) return false;
    out.parts = static_cast<DcbParts>(out.parts | set_of(*part));
  }
  return true;
}

}  // namespace

std::string to_text(const DcbRecord& record) {
  std::string out = std::to_string(record.ifindex);
  for (const DcbPart part : kDcbParts)
    if (record.parts & set_of(part)) out.append(" ").append(to_string(part));
  out += '\n';
  for (const auto& answer : record.answers) append_hex(out, answer);
  return out;
}

std::optional<DcbRecord> parse_record(std::string_view text) {
  DcbRecord out;
  if (!text.ends_with('\n') || !parse_head(take_until(text, '\n'), out)) return std::nullopt;
  while (!text.empty()) {
    auto answer = parse_hex(take_until(text, '\n'));
    if (!answer) return std::nullopt;
    out.answers.push_back(std::move(*answer));
  }
  return out;
}

std::optional<DcbState> state_of(const DcbRecord& record) {
  DcbState out;
  for (const auto& answer : record.answers) {
    if (answer.size() < sizeof(nlmsghdr)) return std::nullopt;
    std::vector<std::uint32_t> aligned(answer.size() / sizeof(std::uint32_t) + 1);
    std::memcpy(aligned.data(), answer.data(), answer.size());
    auto* header = reinterpret_cast<nlmsghdr*>(aligned.data());
    if (header->nlmsg_len != answer.size() || !read_dcb(header, out)) return std::nullopt;
  }
  if (record.answers.empty()) return std::nullopt;
  return out;
}

}  // namespace lossless::net
