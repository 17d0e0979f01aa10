// SPDX-License-Identifier: Apache-2.0
// IP addresses as the kernel's socket calls have them. Pure.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "daemon/core/address.h"

namespace lossless {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// `scope`: ifindex of a link-local IPv6 address, 0: none.
SocketAddress to_socket_address(const IpAddress& address, std::uint16_t port = 0, unsigned scope = 0);
// Of AF_INET6 or AF_INET.
IpAddress to_ip(const sockaddr_storage& from);

}  // namespace lossless
