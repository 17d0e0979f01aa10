// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/alarm_config.h"

namespace lossless::pfc {
namespace {

constexpr std::uint64_t kMaxRate = 1'000'000'000;

std::string out_of_range(const char* name, std::uint64_t value, const char* range) {
  return std::string("PFC alarm ") + name + " " + std::to_string(value) + " is out of range, must be " +
         range;
}

}  // namespace

std::optional<std::string> check_rate_alarm(const RateAlarmConfig& config) {
  if (config.raise_fps > kMaxRate) {
    return out_of_range("threshold", config.raise_fps, "0 to 1000000000 frames/s");
  }
  if (config.window_ms < 100 || config.window_ms > 60'000) {
    return out_of_range("window", config.window_ms, "100 to 60000 ms");
  }
  if (config.hold_ms > 600'000) return out_of_range("hold time", config.hold_ms, "0 to 600000 ms");
  if (config.clear_fps > config.raise_fps) {
    return "PFC alarm clear threshold " + std::to_string(config.clear_fps) +
           " frames/s is above the raise threshold " + std::to_string(config.raise_fps) +
           " frames/s: the alarm would be raised and cleared by the same rate, must be at most as high";
  }
  return std::nullopt;
}

std::string_view to_string(PfcDirection direction) { return direction == PfcDirection::Rx ? "rx" : "tx"; }

}  // namespace lossless::pfc
