// SPDX-License-Identifier: Apache-2.0
// Keeps a real-time thread on the CPU where its events happen: woken there it runs at once, woken on another
// CPU only after an interrupt to that one, and after that one has left its sleep.
#pragma once

#include <cstdint>

namespace lossless::pfc {

class FollowCpu {
 public:
  void saw_event(std::uint32_t cpu);
  // Moves the calling thread after kSteady events in a row on one other CPU. Its affinity stays as it is, so
  // an operator's choice of CPUs holds. The scheduler leaves a real-time thread where it is as long as it
  // can.
  void move_if_due();

 private:
  static constexpr unsigned kSteady = 4;
  std::uint32_t cpu_ = 0;  // of the last event
  unsigned in_a_row_ = 0;
};

}  // namespace lossless::pfc
