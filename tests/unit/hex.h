// SPDX-License-Identifier: Apache-2.0
// Bytes from hex text, spaces between them allowed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lossless::test {

inline std::vector<std::uint8_t> from_hex(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != ' ' && c != '\n') digits += c;
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return out;
}

}  // namespace lossless::test
