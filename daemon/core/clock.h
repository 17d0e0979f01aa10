// SPDX-License-Identifier: Apache-2.0
// The one clock of the datapath and of everything that is compared with its times.
#pragma once

#include <cstdint>
#include <ctime>

#include "daemon/core/nanos.h"

namespace lossless {

// CLOCK_MONOTONIC in ns, as bpf_ktime_get_ns() has it.
inline std::uint64_t monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecondNs + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace lossless
