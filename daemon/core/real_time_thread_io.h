// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

namespace lossless {

struct RealTimeThread {
  std::thread thread;
  int error = 0;  // errno of why it has no real-time priority; 0: it has
};

// A thread with a name of up to 15 bytes and, if that is allowed, a SCHED_FIFO priority (1 to 99). It takes
// no signals: those are for the event loop.
RealTimeThread start_real_time_thread(const char* name, int priority, std::function<void()> run);

}  // namespace lossless
