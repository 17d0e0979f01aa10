// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>

#include "cli/format.h"
#include "daemon/core/config_source.h"

namespace lossless::cli {
namespace {

constexpr std::size_t kGap = 2;  // spaces between columns

// Characters on the screen: bytes that don't continue a UTF-8 sequence.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::size_t used = width_of(text);
  const std::string fill(width > used ? width - used : 0, ' ');
  return right ? fill + std::string(text) : std::string(text) + fill;
}

// Nobody needs blanks at the end of a line.
void finish_line(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
  line += '\n';
}

bool idle(const std::vector<Cell>& row) {
  bool counted = false;
  for (const Cell& cell : row) {
    if (cell.counter && !cell.zero) return false;
    counted |= cell.counter;
  }
  return counted;
}

}  // namespace

std::string paint(const Style& style, Tone tone, std::string_view text) {
  if (!style.color || tone == Tone::Plain || text.empty()) return std::string(text);
  std::string_view code;
  switch (tone) {
    case Tone::Head:
      code = "1";
      break;
    case Tone::Good:
      code = "32";
      break;
    case Tone::Warn:
      code = "33";
      break;
    case Tone::Bad:
      code = "31";
      break;
    case Tone::Dim:
      code = "2";
      break;
    case Tone::Plain:
      break;
  }
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

Cell text_cell(std::string_view text, Tone tone) { return {.text = printable(text), .tone = tone}; }

Cell number_cell(std::uint64_t n) { return {.text = std::to_string(n), .right = true}; }

Cell value_cell(std::string text) { return {.text = std::move(text), .right = true}; }

Cell count_cell(std::uint64_t n, Tone tone) {
  return {.text = format_count(n),
          .tone = n == 0 ? Tone::Plain : tone,
          .right = true,
          .counter = true,
          .zero = n == 0};
}

Cell bytes_cell(std::uint64_t bytes) {
  return {.text = human_size(bytes), .right = true, .counter = true, .zero = bytes == 0};
}

Cell rate_cell(double bits_per_second) {
  return {.text = human_rate(bits_per_second), .right = true, .counter = true, .zero = bits_per_second == 0};
}

void Table::add(std::vector<Cell> row) {
  row.resize(columns_.size());
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> out;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = width_of(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[c].text));
    out.push_back(width);
  }
  // A heading longer than its columns widens the last of them.
  for (std::size_t c = 0; c < columns_.size();) {
    std::size_t end = c;
    std::size_t span = 0;
    for (; end < columns_.size() && columns_[end].group == columns_[c].group; ++end) span += out[end] + kGap;
    const std::size_t need = width_of(columns_[c].group) + kGap;
    if (need > span) out[end - 1] += need - span;
    c = end;
  }
  return out;
}

// Which columns go into which table, for a screen of `limit` characters.
std::vector<std::vector<std::size_t>> Table::blocks(const std::vector<std::size_t>& widths,
                                                    unsigned limit) const {
  std::vector<std::size_t> keys;
  std::size_t key_width = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (!columns_[c].key) continue;
    keys.push_back(c);
    key_width += widths[c] + kGap;
  }
  std::vector<std::vector<std::size_t>> out{keys};
  std::size_t used = key_width;
  for (std::size_t c = 0; c < columns_.size();) {
    if (columns_[c].key) {
      ++c;
      continue;
    }
    std::size_t end = c;
    std::size_t span = 0;
    for (; end < columns_.size() && !columns_[end].key && columns_[end].group == columns_[c].group; ++end) {
      span += widths[end] + kGap;
    }
    if (limit > 0 && used + span > limit + kGap && out.back().size() > keys.size()) {
      out.push_back(keys);
      used = key_width;
    }
    for (; c < end; ++c) out.back().push_back(c);
    used += span;
  }
  return out;
}

std::string Table::group_line(const std::vector<std::size_t>& block, const std::vector<std::size_t>& widths,
                              const Style& style) const {
  std::string line;
  bool any = false;
  for (std::size_t i = 0; i < block.size();) {
    const std::string& group = columns_[block[i]].group;
    std::size_t span = 0;
    for (; i < block.size() && columns_[block[i]].group == group; ++i) span += widths[block[i]] + kGap;
    any |= !group.empty();
    std::string heading = group;
    // A line under the heading's columns shows what belongs to it.
    if (!group.empty()) {
      heading += ' ';
      while (width_of(heading) + kGap < span) heading += '-';
    }
    line += padded(heading, span, false);
  }
  if (!any) return {};
  finish_line(line);
  line.pop_back();
  return paint(style, Tone::Dim, line) + '\n';
}

std::string Table::title_line(const std::vector<std::size_t>& block, const std::vector<std::size_t>& widths,
                              const Style& style) const {
  std::string line;
  for (const std::size_t c : block) {
    line += padded(columns_[c].title, widths[c], right(c)) + std::string(kGap, ' ');
  }
  finish_line(line);
  line.pop_back();
  return paint(style, Tone::Head, line) + '\n';
}

std::string Table::row_line(const std::vector<Cell>& row, const std::vector<std::size_t>& block,
                            const std::vector<std::size_t>& widths, const Style& style) const {
  const bool dim = idle(row);
  std::string line;
  std::size_t blanks = 0;  // owed before the next text, so that none end the line
  for (const std::size_t c : block) {
    const Cell& cell = row[c];
    const std::size_t fill = widths[c] - std::min(widths[c], width_of(cell.text));
    if (cell.right) blanks += fill;
    if (!cell.text.empty()) {
      const Tone tone = dim && cell.tone == Tone::Plain ? Tone::Dim : cell.tone;
      line += std::string(blanks, ' ') + paint(style, tone, cell.text);
      blanks = 0;
    }
    if (!cell.right) blanks += fill;
    blanks += kGap;
  }
  return line + '\n';
}

std::string Table::text(const Style& style) const {
  const auto all_widths = widths();
  std::string out;
  for (const auto& block : blocks(all_widths, style.columns)) {
    if (!out.empty()) out += '\n';
    out += group_line(block, all_widths, style);
    out += title_line(block, all_widths, style);
    for (const auto& row : rows_) out += row_line(row, block, all_widths, style);
  }
  return out;
}

std::string Listing::text(const Style& style) const {
  std::size_t width = 0;
  for (const auto& line : lines_) width = std::max(width, width_of(line.name));
  std::string out;
  for (const auto& line : lines_) {
    const Tone tone = line.value.counter && line.value.zero ? Tone::Dim : line.value.tone;
    out += paint(style, Tone::Head, padded(line.name, width, false)) + "  " +
           paint(style, tone, line.value.text) + '\n';
  }
  return out;
}

}  // namespace lossless::cli
