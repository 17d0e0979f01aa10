// SPDX-License-Identifier: Apache-2.0
// The deadlocks of one (port, TC): a ring of the newest. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/pfc/watchdog_config.h"

namespace lossless::pfc {

// Why a TC whose PFC is off stays so after its storm.
enum class OffReason : std::uint8_t {
  None,          // it doesn't
  TriggerLimit,  // too many deadlocks within the window
  Manual,        // the recovery mode is manual
};

// What ended a deadlock.
enum class DeadlockEnd : std::uint8_t {
  Ongoing,      // nothing yet
  StormOver,    // the peer let go, the recovery time is over (action alert: the queue moves again)
  Operator,     // `recover` command
  PortDown,     // the link went away and with it the pause
  Escape,       // PFC was turned off on all ports
  Config,       // the watchdog was turned off, or its action changed between alert and the others
  NotLossless,  // the TC is no longer lossless
  Stopped,      // the daemon ended
};

// Times are CLOCK_MONOTONIC in ns.
struct Deadlock {
  std::uint64_t since_ns = 0;         // stuck since then, as far as measured
  std::uint64_t detected_ns = 0;      // at least the detection time later
  std::uint64_t ended_ns = 0;         // 0 while it goes on
  std::uint64_t backlog_bytes = 0;    // waiting when detected
  std::uint64_t dropped_packets = 0;  // by the action, until now or until the end
  std::uint32_t periods = 0;  // recovery times that it took; more than 1: the storm outlasted the first
  WatchdogAction action = WatchdogAction::Drop;
  OffReason off = OffReason::None;
  DeadlockEnd end = DeadlockEnd::Ongoing;
  bool operator==(const Deadlock&) const = default;
};

class WatchdogHistory {
 public:
  static constexpr std::size_t kEntries = 32;  // the oldest makes room

  void add(const Deadlock& deadlock);
  // The newest entry, to be brought up to date while it goes on; at least one must have been added.
  Deadlock& newest();
  std::vector<Deadlock> entries() const;  // oldest first
  std::uint64_t added() const { return added_; }

 private:
  std::array<Deadlock, kEntries> ring_{};
  std::uint64_t added_ = 0;
};

std::string_view to_string(OffReason reason);
std::string_view to_string(DeadlockEnd end);

}  // namespace lossless::pfc
