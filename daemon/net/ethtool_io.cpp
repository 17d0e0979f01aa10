// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/ethtool_io.h"

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "loader/fd.h"

namespace lossless::net {
namespace {

constexpr std::uint32_t kMaxCounters = 100'000;

// Room for a struct of ethtool with what follows it, aligned for either.
template <class Head>
struct Request {
  explicit Request(std::size_t following) : words((sizeof(Head) + following) / sizeof(std::uint64_t) + 1) {}
  Head* head() { return reinterpret_cast<Head*>(words.data()); }
  const std::uint8_t* following() const {
    return reinterpret_cast<const std::uint8_t*>(words.data()) + sizeof(Head);
  }
  std::vector<std::uint64_t> words;
};

bool ask(int fd, const std::string& interface, void* data) {
  ifreq request{};
  interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_data = static_cast<char*>(data);
  return ioctl(fd, SIOCETHTOOL, &request) == 0;
}

std::uint32_t count_of(int fd, const std::string& interface) {
  Request<ethtool_sset_info> info(sizeof(std::uint32_t));
  info.head()->cmd = ETHTOOL_GSSET_INFO;
  info.head()->sset_mask = 1ULL << ETH_SS_STATS;
  if (!ask(fd, interface, info.head()) || info.head()->sset_mask == 0) return 0;
  std::uint32_t count = 0;
  std::memcpy(&count, info.following(), sizeof count);
  return std::min(count, kMaxCounters);
}

}  // namespace

std::map<std::string, std::uint64_t> driver_counters(const std::string& interface) {
  std::map<std::string, std::uint64_t> out;
  const Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::uint32_t count = fd ? count_of(fd.get(), interface) : 0;
  if (count == 0) return out;
  Request<ethtool_gstrings> names(std::size_t{count} * ETH_GSTRING_LEN);
  names.head()->cmd = ETHTOOL_GSTRINGS;
  names.head()->string_set = ETH_SS_STATS;
  names.head()->len = count;
  Request<ethtool_stats> values(std::size_t{count} * sizeof(std::uint64_t));
  values.head()->cmd = ETHTOOL_GSTATS;
  values.head()->n_stats = count;
  if (!ask(fd.get(), interface, names.head()) || !ask(fd.get(), interface, values.head())) return out;
  // A driver may have another number of them by now.
  const std::uint32_t have = std::min({count, names.head()->len, values.head()->n_stats});
  for (std::uint32_t i = 0; i < have; ++i) {
    const auto* name = reinterpret_cast<const char*>(names.following()) + std::size_t{i} * ETH_GSTRING_LEN;
    std::uint64_t value = 0;
    std::memcpy(&value, values.following() + i * sizeof value, sizeof value);
    out.emplace(std::string(name, strnlen(name, ETH_GSTRING_LEN)), value);
  }
  return out;
}

}  // namespace lossless::net
