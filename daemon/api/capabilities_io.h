// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lossless.pb.h>

#include <vector>

#include "daemon/port/service.h"

namespace lossless::api {

// What this kernel and these ports can do, and what slows them down. Probes; takes some 50 ms.
v1::GetCapabilitiesReply find_capabilities(const std::vector<port::Port>& ports);

}  // namespace lossless::api
