// SPDX-License-Identifier: Apache-2.0
// Descriptors that go from one daemon to the next, with the names that systemd's fd store knows them by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/restart/image.h"
#include "loader/fd.h"

namespace lossless::restart {

struct NamedFd {
  std::string name;
  Fd fd;
};
using NamedFds = std::vector<NamedFd>;

// One that somebody else owns.
struct Lent {
  std::string name;
  int fd = -1;
};

inline std::string state_name(Kind kind) { return "state-" + std::string(to_string(kind)); }
// Of sockets; a number that no other socket has follows.
inline constexpr std::string_view kBgpSocket = "bgp-";

}  // namespace lossless::restart
