// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/tcp_md5_io.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace lossless::net {

std::uint64_t find_counter(std::string_view text, std::string_view group, std::string_view name) {
  std::istringstream lines{std::string(text)};
  std::string names;
  std::string values;
  while (std::getline(lines, names) && std::getline(lines, values)) {
    if (!names.starts_with(group)) continue;
    std::istringstream heads(names);
    std::istringstream numbers(values);
    std::string head;
    std::string number;
    while (heads >> head && numbers >> number)
      if (head == name) return std::stoull(number);
  }
  return 0;
}

TcpMd5Counters tcp_md5_counters() {
  std::ifstream file("/proc/self/net/netstat");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto of = [&](std::string_view name) { return find_counter(text, "TcpExt:", name); };
  return {.failures = of("TCPMD5Failure"),
          .not_found = of("TCPMD5NotFound"),
          .unexpected = of("TCPMD5Unexpected")};
}

}  // namespace lossless::net
