// SPDX-License-Identifier: Apache-2.0
// The file that keeps what was changed at run time: <state folder>/<instance>/inof.toml, the tables under
// [inof] as a configuration has them. The state folder is systemd's $STATE_DIRECTORY, /var/lib/lossless
// without it.
#pragma once

#include <optional>
#include <string>

#include "daemon/core/config.h"
#include "loader/result.h"

namespace lossless::inof {

std::string state_file(const std::string& instance);
// Replaces the file as a whole: after a crash there is the old one or the new one.
Status write_state(const std::string& path, const InofConfig& config);
// Nothing: there is no file. The error names it and what is wrong with it.
Result<std::optional<InofConfig>> read_state(const std::string& path);
// The file and its folder, if nothing else is in it. Absent is fine.
void remove_state(const std::string& path);

}  // namespace lossless::inof
