// SPDX-License-Identifier: Apache-2.0
// Keeps the one-key escape over a restart of the daemon: a file in the instance's run directory.
#pragma once

#include <string>

#include "daemon/pfc/watchdog_escape.h"
#include "loader/result.h"

namespace lossless::pfc {

// What the file says; off without a file. A file that cannot be read counts as on, and is said in the log.
Escape load_escape(const std::string& path);
// Off removes the file.
Status save_escape(const std::string& path, const Escape& escape);

}  // namespace lossless::pfc
