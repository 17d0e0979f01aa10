// SPDX-License-Identifier: Apache-2.0
// Giving everything back without a daemon.
#pragma once

#include <string>
#include <vector>

#include "loader/result.h"

namespace lossless::net {

// Removes links, queue trees, maps and pins of an instance in the current network namespace, and returns
// the names of the interfaces it gave back. Refuses while a losslessd runs the instance. An instance that
// is not there is an error.
Result<std::vector<std::string>> detach_instance(const std::string& instance);

}  // namespace lossless::net
