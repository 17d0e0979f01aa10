// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/dcb_record.h"

#include <charconv>
#include <cstring>

namespace lossless::net {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::size_t kMaxAnswer = 1U << 16U;

std::string hex_line(const std::vector<std::uint8_t>& bytes) {
  std::string out;
  out.reserve(2 * bytes.size() + 1);
  for (const std::uint8_t byte : bytes) {
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out + '\n';
}

// One answer into `state`; false: it is none.
bool read_line(std::string_view line, DcbState& state) {
  if (line.size() % 2 != 0 || line.size() < 2 * sizeof(nlmsghdr) || line.size() > 2 * kMaxAnswer)
    return false;
  std::vector<std::uint32_t> words(line.size() / 8 + 1);  // aligned as netlink has it
  auto* bytes = reinterpret_cast<std::uint8_t*>(words.data());
  for (std::size_t i = 0; i < line.size() / 2; ++i) {
    const std::size_t high = kHex.find(line[2 * i]);
    const std::size_t low = kHex.find(line[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    bytes[i] = static_cast<std::uint8_t>(high << 4U | low);
  }
  auto* header = reinterpret_cast<nlmsghdr*>(words.data());
  return header->nlmsg_len == line.size() / 2 && read_dcb(header, state);
}

}  // namespace

std::string record_text(int ifindex, const DcbAnswers& answers) {
  std::string out = std::to_string(ifindex) + '\n';
  for (const auto& answer : answers) out += hex_line(answer);
  return out;
}

std::optional<DcbRecord> parse_record(std::string_view text) {
  DcbRecord out;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;  // cut off
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (first) {
      const auto done = std::from_chars(line.begin(), line.end(), out.ifindex);
      if (done.ec != std::errc() || done.ptr != line.end() || out.ifindex <= 0) return std::nullopt;
      first = false;
    } else if (!read_line(line, out.state)) {
      return std::nullopt;
    }
  }
  if (first || out.state == DcbState{}) return std::nullopt;
  return out;
}

}  // namespace lossless::net
