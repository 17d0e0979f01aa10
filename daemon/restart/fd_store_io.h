// SPDX-License-Identifier: Apache-2.0
// The fd store of the service manager (sd_pid_notify_with_fds(3), sd_listen_fds(3)): keeps descriptors while
// the service restarts, and hands them to the next process.
#pragma once

#include <string>

#include "daemon/restart/named_fd.h"

namespace lossless::restart {

class FdStore {
 public:
  // Whether a service manager listens. One without a fd store passes over what it is told.
  static bool is_there();
  static void keep(const std::string& name, int fd);
  // It goes from the store; whoever else has it keeps it.
  static void drop(const std::string& name);
  // Waits until the service manager has taken what it was told before, at most 5 s.
  static void settle();
  // What the last process left there. The environment's word for it is taken away.
  static NamedFds take();
};

}  // namespace lossless::restart
