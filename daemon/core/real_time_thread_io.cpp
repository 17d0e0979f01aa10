// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/real_time_thread_io.h"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace lossless {

RealTimeThread start_real_time_thread(const char* name, int priority, std::function<void()> run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  RealTimeThread out{.thread = std::thread(std::move(run))};
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(out.thread.native_handle(), name);
  const sched_param parameters{.sched_priority = priority};
  out.error = pthread_setschedparam(out.thread.native_handle(), SCHED_FIFO, &parameters);
  return out;
}

}  // namespace lossless
