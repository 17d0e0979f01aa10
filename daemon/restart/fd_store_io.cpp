// SPDX-License-Identifier: Apache-2.0
#include "daemon/restart/fd_store_io.h"

#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>

#include <cstdlib>

#include "loader/result.h"

namespace lossless::restart {
namespace {

constexpr std::uint64_t kSettleUs = 5'000'000;

}  // namespace

bool FdStore::is_there() {
  const char* socket = std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return socket && *socket;
}

void FdStore::keep(const std::string& name, int fd) {
  if (!is_there()) return;
  const std::string state = "FDSTORE=1\nFDNAME=" + name;
  if (const int sent = sd_pid_notify_with_fds(0, 0, state.c_str(), &fd, 1); sent < 0)
    spdlog::warn("fd store: {} is not kept: {}", name, errno_text(-sent));
}

void FdStore::drop(const std::string& name) {
  if (is_there()) (void)sd_notify(0, ("FDSTOREREMOVE=1\nFDNAME=" + name).c_str());
}

void FdStore::settle() {
  if (is_there()) (void)sd_notify_barrier(0, kSettleUs);
}

NamedFds FdStore::take() {
  NamedFds out;
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(1, &names);
  for (int i = 0; i < count; ++i) {
    out.push_back({names && names[i] ? names[i] : "", Fd(SD_LISTEN_FDS_START + i)});
    if (names) std::free(names[i]);
  }
  std::free(static_cast<void*>(names));
  return out;
}

}  // namespace lossless::restart
