// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/config_source.h"

#include <algorithm>
#include <array>

namespace lossless {
namespace {

constexpr std::size_t kMaxExcerpt = 60;
constexpr std::string_view kBom = "\xEF\xBB\xBF";

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Bytes of the UTF-8 character `text` begins with, 0 if it begins with none. RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF.
std::size_t character_size(std::string_view text) {
  struct Form {
    unsigned char first_min, first_max, second_min, second_max;
    std::size_t size;
  };
  static constexpr std::array<Form, 8> kForms{{{0xC2, 0xDF, 0x80, 0xBF, 2},
                                               {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                               {0xE1, 0xEC, 0x80, 0xBF, 3},
                                               {0xED, 0xED, 0x80, 0x9F, 3},
                                               {0xEE, 0xEF, 0x80, 0xBF, 3},
                                               {0xF0, 0xF0, 0x90, 0xBF, 4},
                                               {0xF1, 0xF3, 0x80, 0xBF, 4},
                                               {0xF4, 0xF4, 0x80, 0x8F, 4}}};
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return 1;
  for (const Form& f : kForms) {
    if (first < f.first_min || first > f.first_max || text.size() < f.size) continue;
    const auto second = static_cast<unsigned char>(text[1]);
    const bool rest = std::ranges::all_of(text.substr(1, f.size - 1), continues_character);
    if (rest && second >= f.second_min && second <= f.second_max) return f.size;
  }
  return 0;
}

// Offset behind the string that begins at `at`. A string that doesn't end well is a syntax error, so it
// does not matter where that one is taken to end.
std::size_t skip_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string fence(3, quote);
  const bool multi_line = text.substr(at, 3) == fence;
  std::size_t i = at + (multi_line ? 3 : 1);
  for (; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (multi_line && text.substr(i, 3) == fence) {
      i += 3;
      // Up to two quotes may stand before the closing three.
      for (int n = 0; n < 2 && i < text.size() && text[i] == quote; ++n) ++i;
      return i;
    } else if (!multi_line && (text[i] == quote || text[i] == '\n')) {
      return i + 1;
    }
  }
  return text.size();
}

Position position_of(std::string_view text, std::size_t at) {
  Position p{1, 1};
  for (std::size_t i = text.starts_with(kBom) ? kBom.size() : 0; i < at; ++i) {
    if (text[i] == '\n') {
      p = {p.line + 1, 1};
    } else if (!continues_character(text[i])) {
      ++p.column;
    }
  }
  return p;
}

// Edits (insert, delete, replace, swap neighbours) that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

SourceText::SourceText(std::string_view text) : text_(text) {
  lines_.push_back(text.starts_with(kBom) ? kBom.size() : 0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') lines_.push_back(i + 1);
  }
}

std::optional<std::size_t> SourceText::offset(Position p) const {
  if (p.line == 0 || p.column == 0 || p.line > lines_.size()) return std::nullopt;
  std::size_t at = lines_[p.line - 1];
  for (std::uint32_t column = 1; column < p.column; ++column) {
    if (at >= text_.size() || text_[at] == '\n') return at;
    ++at;
    while (at < text_.size() && continues_character(text_[at])) ++at;
  }
  return at;
}

std::string SourceText::excerpt(Position begin, Position end) const {
  const auto from = offset(begin);
  const auto to = offset(end);
  if (!from || !to || *to <= *from) return {};
  std::string_view part = text_.substr(*from, *to - *from);
  const std::size_t line_end = part.find_first_of("\r\n");
  const bool cut = line_end != std::string_view::npos;
  if (cut) part = part.substr(0, line_end);
  part = part.substr(0, part.find_last_not_of(" \t") + 1);
  return shortened(part) + (cut ? "..." : "");
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const bool plain = size > 0 && !is_control(text.front());
    out.append(plain ? text.substr(0, size) : "?");
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::string shortened(std::string_view text) {
  if (text.size() <= kMaxExcerpt) return std::string(text);
  std::size_t size = kMaxExcerpt;
  while (size > 0 && continues_character(text[size])) --size;
  return std::string(text.substr(0, size)) + "...";
}

std::optional<Position> find_deep_key(std::string_view text) {
  unsigned parts = 1;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = skip_string(text, i);
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '.' && ++parts > kMaxKeyParts) return position_of(text, i);
    if (std::string_view("\n=[]{},").find(c) != std::string_view::npos) parts = 1;
    ++i;
  }
  return std::nullopt;
}

std::optional<std::string_view> nearest(std::string_view name, const std::vector<std::string_view>& known) {
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (const std::string_view k : known) {
    const std::size_t most = 1 + k.size() / 4;
    if (name.size() > k.size() + most) continue;
    const std::size_t distance = edit_distance(name, k);
    if (distance > most || (best && distance >= best_distance)) continue;
    best = k;
    best_distance = distance;
  }
  return best;
}

}  // namespace lossless
