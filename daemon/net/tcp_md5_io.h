// SPDX-License-Identifier: Apache-2.0
// What the kernel counts of segments that it dropped for their TCP-MD5 signature (RFC 2385).
#pragma once

#include <cstdint>
#include <string_view>

namespace lossless::net {

// Of all connections of this network namespace, since it is there: the kernel does not say whose.
struct TcpMd5Counters {
  std::uint64_t failures = 0;    // wrong signature: the passwords differ
  std::uint64_t not_found = 0;   // no signature where one is due
  std::uint64_t unexpected = 0;  // one where none is due
};
TcpMd5Counters tcp_md5_counters();

// A counter of /proc/net/netstat: of the line of values below the line of names, each beginning with `group`.
// 0 where there is none of that name.
std::uint64_t find_counter(std::string_view text, std::string_view group, std::string_view name);

}  // namespace lossless::net
