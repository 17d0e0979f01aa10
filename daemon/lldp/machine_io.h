// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/lldp/local.h"

namespace lossless::lldp {

// Host name, kernel and IP forwarding of this network namespace.
Machine read_machine();

}  // namespace lossless::lldp
