// SPDX-License-Identifier: Apache-2.0
#include "cli/offline_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "daemon/net/detach_io.h"

namespace lossless::cli {
namespace {

std::expected<void, Failure> enter_netns(const Environment& env, const std::string& name) {
  const std::string path = name.find('/') == std::string::npos ? env.netns_dir + "/" + name : name;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool entered = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (entered) return {};
  return std::unexpected(Failure{
      error == ENOENT ? "NOT_FOUND" : "FAILED_PRECONDITION",
      fmt::format("cannot enter network namespace {}: {}", path, std::generic_category().message(error)),
      kFailed});
}

}  // namespace

std::expected<std::vector<std::string>, Failure> detach_offline(const Environment& env,
                                                                const std::string& instance,
                                                                const std::string& netns) {
  if (!netns.empty()) {
    if (auto entered = enter_netns(env, netns); !entered) return std::unexpected(entered.error());
  }
  auto detached = net::detach_instance(instance);
  if (!detached) return std::unexpected(Failure{"FAILED_PRECONDITION", detached.error(), kFailed});
  return *detached;
}

}  // namespace lossless::cli
