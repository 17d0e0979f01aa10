// SPDX-License-Identifier: Apache-2.0
// The text of a configuration file, for messages about it. Lines and columns count from 1, columns count
// characters (code points), a tab is one.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lossless {

struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  auto operator<=>(const Position&) const = default;
};

class SourceText {
 public:
  // `text` must outlive the object.
  explicit SourceText(std::string_view text);

  // What stands between two positions, shortened with "..." at the end of a line or after some 60 bytes;
  // empty if there is no such place.
  std::string excerpt(Position begin, Position end) const;

 private:
  std::optional<std::size_t> offset(Position p) const;

  std::string_view text_;
  std::vector<std::size_t> lines_;  // offset of each line
};

// For a message, which must be one line of valid UTF-8 whatever the file holds: control characters and bytes
// that are no UTF-8 become "?".
std::string printable(std::string_view text);
// At most some 60 bytes of it, not cut inside a character.
std::string shortened(std::string_view text);

// The place of a dotted key (a.b.c) with more parts than any sane file has, if there is one. The TOML
// parser builds a table in a table for each and would run out of stack taking them down again.
inline constexpr unsigned kMaxKeyParts = 16;
std::optional<Position> find_deep_key(std::string_view text);

// The known name that is most like `name`, if one is like it at all.
std::optional<std::string_view> nearest(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace lossless
