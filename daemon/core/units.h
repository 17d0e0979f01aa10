// SPDX-License-Identifier: Apache-2.0
// Sizes and rates as people write them. Exact: everything is computed in integers.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace lossless {

// Bytes from "100KB", "1.5MiB", "3000". Units: B, KB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of
// 1024), in that spelling; none means bytes. Decimals are fine as long as the result is whole. The error
// continues a sentence that begins with the value: "is negative".
std::expected<std::uint64_t, std::string> parse_size(std::string_view text);

// Bits per second from "2.5gbit", "100Mbit", "1000000". Units: bit, kbit, mbit, gbit (powers of 1000), in
// upper or lower case; none means bit/s. Errors as for parse_size.
std::expected<std::uint64_t, std::string> parse_rate(std::string_view text);

// The shortest exact text: 100000 -> "100KB", 1048576 -> "1MiB", 1500 -> "1500B". parse_size reads it back.
std::string format_size(std::uint64_t bytes);
// The same for rates: 2500000000 -> "2500mbit". parse_rate reads it back.
std::string format_rate(std::uint64_t bits_per_second);

}  // namespace lossless
