// SPDX-License-Identifier: Apache-2.0
// Settings of the PFC deadlock watchdog and their limits. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace lossless::pfc {

// What happens to the packets of a deadlocked TC while it recovers.
enum class WatchdogAction : std::uint8_t {
  Drop,     // PFC off, packets dropped: frees the buffers of the cycle
  Forward,  // PFC off, packets sent in spite of the peer's pause
  Alert,    // nothing but a report
};

// Who gives the TC its PFC back after a deadlock.
enum class RecoveryMode : std::uint8_t {
  Auto,    // the watchdog, after the recovery time
  Manual,  // an operator, by command
};

struct WatchdogConfig {
  bool on = false;                   // it may drop packets of a lossless TC: that is asked for, not assumed
  std::uint32_t detection_ms = 200;  // 100 to 5000
  std::uint32_t recovery_ms = 400;   // 100 to 60000
  std::uint32_t poll_ms = 100;       // 10 to 5000, at most detection_ms
  WatchdogAction action = WatchdogAction::Drop;
  RecoveryMode mode = RecoveryMode::Auto;
  std::uint32_t trigger_limit =
      10;  // 0 to 100: this many deadlocks within the window force PFC off; 0: never
  std::uint32_t window_ms = 60'000;  // 1000 to 3600000
  bool operator==(const WatchdogConfig&) const = default;
};

// Message of the first fault; names the value and what is allowed.
std::optional<std::string> check_watchdog(const WatchdogConfig& config);

// One setting changed, for commands that set one at a time: the configuration with it, or the message.
// Whichever of the two comes last, a poll longer than the detection time is refused.
std::expected<WatchdogConfig, std::string> with_detection(WatchdogConfig config, std::uint32_t detection_ms);
std::expected<WatchdogConfig, std::string> with_poll(WatchdogConfig config, std::uint32_t poll_ms);

std::string_view to_string(WatchdogAction action);
std::string_view to_string(RecoveryMode mode);

}  // namespace lossless::pfc
