// SPDX-License-Identifier: Apache-2.0
// A mutex between a real-time thread and an ordinary one: who holds it runs with the priority of who waits.
#pragma once

#include <pthread.h>

namespace lossless {

class PiMutex {
 public:
  PiMutex() {
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex_, &how);
    pthread_mutexattr_destroy(&how);
  }
  ~PiMutex() { pthread_mutex_destroy(&mutex_); }
  PiMutex(const PiMutex&) = delete;
  PiMutex& operator=(const PiMutex&) = delete;
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_{};
};

}  // namespace lossless
