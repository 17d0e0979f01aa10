// SPDX-License-Identifier: Apache-2.0
#include "cli/offline_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#if __has_include("loader/detach_io.h")
#include "loader/detach_io.h"
#endif

namespace lossless::cli {
namespace {

std::expected<void, Failure> enter_netns(const Environment& env, const std::string& name) {
  if (name.find('/') != std::string::npos || name == "." || name == "..") {
    return usage_failure(fmt::format("--netns '{}': a name as `ip netns list` shows it, not a path", name));
  }
  const std::string path = env.netns_dir + "/" + name;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool entered = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (entered) return {};
  return std::unexpected(Failure{error == ENOENT ? "NOT_FOUND" : "FAILED_PRECONDITION",
                                 fmt::format("cannot enter network namespace '{}' ({}): {}", name, path,
                                             std::generic_category().message(error)),
                                 kFailed});
}

}  // namespace

std::expected<std::vector<std::string>, Failure> detach_offline(const Environment& env,
                                                                const std::string& instance,
                                                                const std::string& netns) {
  if (!netns.empty()) {
    if (auto entered = enter_netns(env, netns); !entered) return std::unexpected(entered.error());
  }
#if __has_include("loader/detach_io.h")
  auto detached = detach_instance(instance);
  if (!detached) return std::unexpected(Failure{"FAILED_PRECONDITION", detached.error(), kFailed});
  return *detached;
#else
  return std::unexpected(Failure{
      "UNIMPLEMENTED", fmt::format("instance '{}': this losslessctl was built without the loader", instance),
      kFailed});
#endif
}

}  // namespace lossless::cli
