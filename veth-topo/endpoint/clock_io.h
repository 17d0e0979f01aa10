// SPDX-License-Identifier: Apache-2.0
// The clock the engine runs on.
#pragma once

#include <ctime>

#include "veth-topo/endpoint/types.h"

namespace lossless::endpoint {

inline Nanos monotonic_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<Nanos>(t.tv_sec) * kSecond + static_cast<Nanos>(t.tv_nsec);
}

}  // namespace lossless::endpoint
