// SPDX-License-Identifier: Apache-2.0
// /run/lossless/<instance>/: the lock that makes an instance one daemon's, and its socket.
#pragma once

#include <optional>
#include <string>

#include "loader/fd.h"
#include "loader/result.h"

namespace lossless {

std::string run_dir(const std::string& instance);
// Where the daemon of the instance is asked to hand over (docs/restart.md).
std::string hand_over_socket(const std::string& instance);

// Held as long as it lives.
class InstanceLock {
 public:
  // Creates the folder too. Waits for half a second, since a guard (daemon/guard_io.h) holds it for moments.
  // The error names the process that holds the lock.
  static Result<InstanceLock> take(const std::string& instance);
  // The lock of an instance that no daemon runs; nothing when one does, or when there is no such instance.
  static std::optional<InstanceLock> take_abandoned(const std::string& instance);
  // Removes the lock's file, and the folder when nothing else is in it: the instance is given back. Whoever
  // opened the file before and waits for it notices that it is no longer in its place.
  void remove();

 private:
  InstanceLock(Fd fd, std::string instance) : fd_(std::move(fd)), instance_(std::move(instance)) {}
  Fd fd_;
  std::string instance_;
};

}  // namespace lossless
