// SPDX-License-Identifier: Apache-2.0
// Waits for grace periods of the kernel's RCU, on a thread of its own since one takes some 10 to 30 ms, and
// longer when a processor stands still. Owned by the event loop's thread.
#pragma once

#include <future>

#include "daemon/pfc/drift.h"

namespace lossless::pfc {

class GracePeriodWaiter {
 public:
  // Begins one, if none is under way.
  void begin();
  // How many began and ended by now.
  const GracePeriods& now();

 private:
  GracePeriods periods_;
  std::future<void> under_way_;  // waits for its thread when it goes
};

}  // namespace lossless::pfc
