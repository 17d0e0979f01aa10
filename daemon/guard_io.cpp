// SPDX-License-Identifier: Apache-2.0
#include "daemon/guard_io.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "daemon/pfc/gates_io.h"

namespace lossless {
namespace {

// A signal for the daemon's process group, such as Ctrl-C, must not end the guard with the daemon.
void ignore_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

// Sockets that the service manager handed to the daemon would stay open with us when it is gone.
void close_others(int kept) {
  constexpr unsigned kFirst = STDERR_FILENO + 1;
  const auto at = static_cast<unsigned>(kept);
  if (at > kFirst) (void)close_range(kFirst, at - 1, 0);
  (void)close_range(at + 1, ~0U, 0);
}

[[noreturn]] void run_guard(const std::string& instance, const Fd& alive) {
  ignore_signals();
  prctl(PR_SET_NAME, "lossless-guard");
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  close_others(alive.get());
  char byte = 0;
  while (read(alive.get(), &byte, 1) < 0 && errno == EINTR) {
  }
  const auto opened = pfc::open_abandoned_gates(instance);
  if (!opened) spdlog::error("guard of instance {}: {}", instance, opened.error());
  if (opened && *opened > 0)
    spdlog::warn("guard of instance {}: opened {} queues that the daemon left stopped", instance, *opened);
  _exit(opened ? 0 : 1);
}

}  // namespace

Result<Fd> start_guard(const std::string& instance) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC)) return fail_errno("cannot start the guard", errno);
  Fd alive(ends[0]);
  Fd ours(ends[1]);
  const pid_t child = fork();
  if (child < 0) return fail_errno("cannot start the guard", errno);
  if (child == 0) {
    ours.reset();
    run_guard(instance, alive);
  }
  return ours;
}

}  // namespace lossless
