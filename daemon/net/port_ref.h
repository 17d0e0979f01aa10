// SPDX-License-Identifier: Apache-2.0
// A managed port as protocols know it.
#pragma once

#include <string>

#include "daemon/core/wire.h"

namespace lossless::net {

struct PortRef {
  int ifindex = 0;
  std::string name;
  Mac mac{};  // source of what is sent on it
  bool operator==(const PortRef&) const = default;
};

}  // namespace lossless::net
