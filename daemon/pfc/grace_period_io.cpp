// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/grace_period_io.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace lossless::pfc {
namespace {

using namespace std::chrono_literals;

// The kernel answers this call at the end of a grace period (membarrier(2)). Where it refuses (nohz_full), a
// time stands for it that is longer than a processor is usually taken away for.
void wait_for_grace_period() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0) std::this_thread::sleep_for(500ms);
}

}  // namespace

void GracePeriodWaiter::begin() {
  if (now(); under_way_.valid()) return;
  periods_.begun++;
  under_way_ = std::async(std::launch::async, wait_for_grace_period);
}

const GracePeriods& GracePeriodWaiter::now() {
  if (under_way_.valid() && under_way_.wait_for(0s) == std::future_status::ready) {
    under_way_.get();
    periods_.ended++;
  }
  return periods_;
}

}  // namespace lossless::pfc
