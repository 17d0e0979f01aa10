// SPDX-License-Identifier: Apache-2.0
// Tables of packets made by scapy (scripts/goldens).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lossless::test {

using Row = std::vector<std::string>;

// Rows of tests/bpf/goldens/NAME without comments; throws when it cannot be read or has no rows.
std::vector<Row> read_golden(const std::string& name);
std::vector<std::uint8_t> from_hex(const std::string& hex);
std::string to_hex(const std::vector<std::uint8_t>& bytes);

}  // namespace lossless::test
