// SPDX-License-Identifier: Apache-2.0
// Alarm on the rate of PFC frames of one port in one direction. Pure: samples of a counter come in, changes
// of the alarm go out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/pfc/alarm_config.h"

namespace lossless::pfc {

struct RateAlarmEvent {
  bool raised = false;  // else cleared
  std::uint64_t now_ns = 0;
  std::uint64_t rate_fps = 0;       // of the last measurement
  std::uint64_t threshold_fps = 0;  // that it passed
  bool operator==(const RateAlarmEvent&) const = default;
};

class RateAlarm {
 public:
  // `config` has passed check_rate_alarm().
  explicit RateAlarm(const RateAlarmConfig& config) : config_(config) {}

  // The counter's total at `now_ns` (CLOCK_MONOTONIC). Samples closer than the window are put together, a
  // late one is averaged over the time that really passed. A total smaller than the last starts measuring
  // anew and leaves the alarm as it is; a time not later than the last is ignored.
  std::optional<RateAlarmEvent> sample(std::uint64_t now_ns, std::uint64_t frames);

  // New thresholds; what was measured stays. An alarm that is turned off is cleared.
  std::optional<RateAlarmEvent> configure(const RateAlarmConfig& config, std::uint64_t now_ns);

  bool raised() const { return raised_; }
  std::uint64_t rate_fps() const { return rate_fps_; }  // of the last measurement, rounded down; 0 before it
  std::uint64_t times_raised() const { return times_raised_; }

 private:
  struct Point {
    std::uint64_t ns = 0;
    std::uint64_t frames = 0;
  };

  std::optional<RateAlarmEvent> judge(const Point& from, const Point& to);
  RateAlarmEvent change(bool raised, std::uint64_t now_ns);

  RateAlarmConfig config_;
  bool raised_ = false;
  std::optional<Point> from_;  // where the measurement under way began
  std::uint64_t last_ns_ = 0;
  std::uint64_t last_frames_ = 0;
  std::uint64_t beyond_ns_ = 0;  // for how long the rate has been where it changes the alarm
  std::uint64_t rate_fps_ = 0;
  std::uint64_t times_raised_ = 0;
};

// "PFC alarm raised on eth0 (rx): 12000 frames/s, threshold 10000 frames/s"
std::string alarm_text(std::string_view port, PfcDirection direction, const RateAlarmEvent& event);

}  // namespace lossless::pfc
