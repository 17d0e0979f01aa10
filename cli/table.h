// SPDX-License-Identifier: Apache-2.0
// The one writer of tables: typed cells in, aligned text out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lossless::cli {

enum class Tone : std::uint8_t { Plain, Head, Good, Warn, Bad, Dim };

struct Style {
  bool color = false;
  unsigned columns = 0;  // width to keep to, 0 = not limited
};

// `text` in the colour of `tone`, or as it is when the style has no colour.
std::string paint(const Style& style, Tone tone, std::string_view text);

struct Cell {
  std::string text;
  Tone tone = Tone::Plain;
  bool right = false;    // numbers are aligned right
  bool counter = false;  // takes part in the choice which rows are idle
  bool zero = false;
};

Cell text_cell(std::string_view text, Tone tone = Tone::Plain);
// A number that is set, not counted: TC, priority, MTU.
Cell number_cell(std::uint64_t n);
// A set value with its unit, already written out.
Cell value_cell(std::string text);
// A counter; `tone` shows when it isn't zero.
Cell count_cell(std::uint64_t n, Tone tone = Tone::Plain);
// Bytes that were counted or are waiting, rounded for reading.
Cell bytes_cell(std::uint64_t bytes);
// A measured rate in bits per second.
Cell rate_cell(double bits_per_second);

struct Column {
  std::string title;
  std::string group;  // columns side by side with the same group get a heading in common
  bool key = false;   // says what the row is about: repeated when the table has to be cut
};

// Rows whose counters are all zero are dimmed. A table wider than the style allows is cut between groups
// into several tables below each other, each with the key columns.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // `row` has one cell for each column.
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  std::string text(const Style& style) const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<std::vector<std::size_t>> blocks(const std::vector<std::size_t>& widths, unsigned limit) const;
  std::string group_line(const std::vector<std::size_t>& block, const std::vector<std::size_t>& widths,
                         const Style& style) const;
  std::string title_line(const std::vector<std::size_t>& block, const std::vector<std::size_t>& widths,
                         const Style& style) const;
  std::string row_line(const std::vector<Cell>& row, const std::vector<std::size_t>& block,
                       const std::vector<std::size_t>& widths, const Style& style) const;
  bool right(std::size_t column) const { return !rows_.empty() && rows_.front()[column].right; }

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "name: value" lines with the values in one column.
class Listing {
 public:
  void add(std::string name, Cell value) { lines_.push_back({std::move(name), std::move(value)}); }
  std::string text(const Style& style) const;

 private:
  struct Line {
    std::string name;
    Cell value;
  };
  std::vector<Line> lines_;
};

}  // namespace lossless::cli
