// SPDX-License-Identifier: Apache-2.0
// /run/lossless/<instance>/: the lock that makes an instance one daemon's, and its socket.
#pragma once

#include <string>

#include "loader/fd.h"
#include "loader/result.h"

namespace lossless {

std::string run_dir(const std::string& instance);

// Held as long as it lives. The file stays: removing a lock file that another may be waiting for is a race.
class InstanceLock {
 public:
  // Creates the folder too. The error names the process that holds the lock.
  static Result<InstanceLock> take(const std::string& instance);

 private:
  explicit InstanceLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace lossless
