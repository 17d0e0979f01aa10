// SPDX-License-Identifier: Apache-2.0
// Settings of the alarms on PFC frame rates and their limits. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lossless::pfc {

enum class PfcDirection : std::uint8_t { Rx, Tx };

// The alarm is raised after the rate was above `raise_fps` for `hold_ms`, and cleared after it was at or
// below `clear_fps` for `hold_ms`. In between it stays as it is, so a rate near a threshold doesn't flap.
struct RateAlarmConfig {
  std::uint64_t raise_fps = 0;     // frames per second, up to 1,000,000,000; 0: no alarm
  std::uint64_t clear_fps = 0;     // at most raise_fps
  std::uint32_t window_ms = 1000;  // 100 to 60000: a rate is measured over at least this long
  std::uint32_t hold_ms = 2000;    // 0 to 600000; 0: the first measurement decides
  bool operator==(const RateAlarmConfig&) const = default;
};

// Message of the first fault; names the values and what is allowed.
std::optional<std::string> check_rate_alarm(const RateAlarmConfig& config);

// Both directions of a port, as a configuration has them.
struct PfcAlarmConfig {
  std::uint64_t rx_raise_fps = 0;
  std::uint64_t rx_clear_fps = 0;
  std::uint64_t tx_raise_fps = 0;
  std::uint64_t tx_clear_fps = 0;
  std::uint32_t window_ms = 1000;
  std::uint32_t hold_ms = 2000;
  bool operator==(const PfcAlarmConfig&) const = default;

  RateAlarmConfig of(PfcDirection direction) const {
    const bool rx = direction == PfcDirection::Rx;
    return {.raise_fps = rx ? rx_raise_fps : tx_raise_fps,
            .clear_fps = rx ? rx_clear_fps : tx_clear_fps,
            .window_ms = window_ms,
            .hold_ms = hold_ms};
  }
};

std::string_view to_string(PfcDirection direction);

}  // namespace lossless::pfc
