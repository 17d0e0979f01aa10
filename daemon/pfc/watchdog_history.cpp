// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/watchdog_history.h"

#include <algorithm>

namespace lossless::pfc {

void WatchdogHistory::add(const Deadlock& deadlock) { ring_[added_++ % kEntries] = deadlock; }

Deadlock& WatchdogHistory::newest() { return ring_[(added_ - 1) % kEntries]; }

std::vector<Deadlock> WatchdogHistory::entries() const {
  std::vector<Deadlock> list;
  const std::uint64_t kept = std::min<std::uint64_t>(added_, kEntries);
  list.reserve(kept);
  for (std::uint64_t i = added_ - kept; i < added_; ++i) list.push_back(ring_[i % kEntries]);
  return list;
}

std::string_view to_string(OffReason reason) {
  switch (reason) {
    case OffReason::None:
      return "none";
    case OffReason::TriggerLimit:
      return "trigger-limit";
    case OffReason::Manual:
      return "manual";
  }
  return "?";
}

std::string_view to_string(DeadlockEnd end) {
  switch (end) {
    case DeadlockEnd::Ongoing:
      return "ongoing";
    case DeadlockEnd::StormOver:
      return "storm-over";
    case DeadlockEnd::Operator:
      return "operator";
    case DeadlockEnd::PortDown:
      return "port-down";
    case DeadlockEnd::Escape:
      return "escape";
    case DeadlockEnd::Config:
      return "config";
    case DeadlockEnd::NotLossless:
      return "not-lossless";
    case DeadlockEnd::Stopped:
      return "stopped";
  }
  return "?";
}

}  // namespace lossless::pfc
