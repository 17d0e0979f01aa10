// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/follow_cpu_io.h"

#include <sched.h>

namespace lossless::pfc {

void FollowCpu::saw_event(std::uint32_t cpu) {
  in_a_row_ = cpu == cpu_ ? in_a_row_ + 1 : 1;
  cpu_ = cpu;
}

void FollowCpu::move_if_due() {
  if (in_a_row_ < kSteady || cpu_ >= CPU_SETSIZE || static_cast<int>(cpu_) == sched_getcpu()) return;
  in_a_row_ = 0;  // once; where it cannot be moved to, not again for each event
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) || !CPU_ISSET(cpu_, &allowed)) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu_, &one);
  if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace lossless::pfc
