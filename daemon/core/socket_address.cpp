// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/socket_address.h"

#include <netinet/in.h>

#include <cstring>

namespace lossless {

SocketAddress to_socket_address(const IpAddress& address, std::uint16_t port, unsigned scope) {
  SocketAddress out;
  if (address.v6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    in.sin6_scope_id = scope;
    std::memcpy(&in.sin6_addr, address.bytes.data(), sizeof in.sin6_addr);
    std::memcpy(&out.storage, &in, sizeof in);
    out.size = sizeof in;
  } else {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    std::memcpy(&in.sin_addr, address.bytes.data(), sizeof in.sin_addr);
    std::memcpy(&out.storage, &in, sizeof in);
    out.size = sizeof in;
  }
  return out;
}

IpAddress to_ip(const sockaddr_storage& from) {
  if (from.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &from, sizeof in);
    return IpAddress::v6_of({in.sin6_addr.s6_addr, 16});
  }
  sockaddr_in in{};
  std::memcpy(&in, &from, sizeof in);
  return IpAddress::v4_of({reinterpret_cast<const std::uint8_t*>(&in.sin_addr), 4});
}

}  // namespace lossless
