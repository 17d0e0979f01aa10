// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/watchdog_config.h"

namespace lossless::pfc {
namespace {

struct Range {
  const char* name;
  std::uint32_t min;
  std::uint32_t max;
  const char* unit;
};

std::optional<std::string> check_range(const Range& range, std::uint32_t value) {
  if (value >= range.min && value <= range.max) return std::nullopt;
  return std::string("PFC watchdog ") + range.name + " " + std::to_string(value) + range.unit +
         " is out of range, must be " + std::to_string(range.min) + " to " + std::to_string(range.max) +
         range.unit;
}

}  // namespace

std::optional<std::string> check_watchdog(const WatchdogConfig& config) {
  if (auto fault = check_range({"detection time", 100, 5000, " ms"}, config.detection_ms)) return fault;
  if (auto fault = check_range({"recovery time", 100, 60'000, " ms"}, config.recovery_ms)) return fault;
  if (auto fault = check_range({"poll interval", 10, 5000, " ms"}, config.poll_ms)) return fault;
  if (auto fault = check_range({"trigger limit", 0, 100, ""}, config.trigger_limit)) return fault;
  if (auto fault = check_range({"trigger window", 1000, 3'600'000, " ms"}, config.window_ms)) return fault;
  if (config.poll_ms > config.detection_ms) {
    return "PFC watchdog poll interval " + std::to_string(config.poll_ms) +
           " ms is longer than its detection time " + std::to_string(config.detection_ms) +
           " ms: a deadlock would be seen late, must be at most as long";
  }
  return std::nullopt;
}

std::string_view to_string(WatchdogAction action) {
  switch (action) {
    case WatchdogAction::Drop:
      return "drop";
    case WatchdogAction::Forward:
      return "forward";
    case WatchdogAction::Alert:
      return "alert";
  }
  return "?";
}

std::string_view to_string(RecoveryMode mode) { return mode == RecoveryMode::Auto ? "auto" : "manual"; }

}  // namespace lossless::pfc
