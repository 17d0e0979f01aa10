// SPDX-License-Identifier: Apache-2.0
// losslessd as one object: start, run until told to stop, leave the datapath in place.
#pragma once

#include <string>

#include "daemon/core/config.h"
#include "daemon/restart/named_fd.h"
#include "loader/result.h"

namespace lossless {

// Runs the daemon on `config`, which was read from `config_file`. Returns when it was told to end
// (SIGTERM, SIGINT, detach of everything, another process that took over), or with the reason why it could
// not start. `inherited`: what the process before left (docs/restart.md).
Status run_daemon(Config config, const std::string& config_file, restart::NamedFds inherited);

}  // namespace lossless
