// SPDX-License-Identifier: Apache-2.0
#include "tests/bpf/golden.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lossless::test {

std::vector<Row> read_golden(const std::string& name) {
  const std::string path = std::string(LL_GOLDENS) + "/" + name;
  std::ifstream file(path);
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    Row row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '\t');) row.push_back(cell);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw std::runtime_error("no rows in " + path);
  return rows;
}

std::vector<std::uint8_t> from_hex(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string to_hex(const std::vector<std::uint8_t>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const std::uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace lossless::test
