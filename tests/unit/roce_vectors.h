// SPDX-License-Identifier: Apache-2.0
// The frames of tests/data/roce/vectors.tsv, whose ICRC was computed by others.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace lossless::endpoint {

struct RoceVector {
  std::string name;
  unsigned opcode = 0;
  unsigned qp = 0;
  unsigned psn = 0;
  unsigned payload = 0;
  std::vector<std::uint8_t> frame;
};

inline std::vector<std::uint8_t> from_hex(const std::string& hex) {
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return out;
}

inline std::vector<RoceVector> roce_vectors() {
  std::ifstream in(LL_TEST_DATA "/roce/vectors.tsv");
  std::vector<RoceVector> out;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    RoceVector v;
    std::string hex;
    fields >> v.name >> v.opcode >> v.qp >> v.psn >> v.payload >> hex;
    v.frame = from_hex(hex);
    out.push_back(std::move(v));
  }
  return out;
}

inline const RoceVector& roce_vector(const std::string& name) {
  static const auto all = roce_vectors();
  for (const RoceVector& v : all) {
    if (v.name == name) return v;
  }
  throw std::runtime_error("no vector " + name);
}

}  // namespace lossless::endpoint
