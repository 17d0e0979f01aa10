// SPDX-License-Identifier: Apache-2.0
// The guard: a small process beside the daemon that outlives it and opens the gates it left closed.
#pragma once

#include <string>

#include "loader/fd.h"
#include "loader/result.h"

namespace lossless {

// Starts the guard of an instance. It sleeps until the returned descriptor is closed, by us or by the kernel
// because we died, then does open_abandoned_gates() and ends. Call before any thread is started, in the
// network namespace of the instance; nobody needs to wait for it.
Result<Fd> start_guard(const std::string& instance);

}  // namespace lossless
