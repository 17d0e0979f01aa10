// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/alarm.h"

namespace lossless::pfc {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

// Exact, also where the rate in whole frames per second would round a threshold away.
bool above(std::uint64_t frames, std::uint64_t elapsed_ns, std::uint64_t fps) {
  return static_cast<Wide>(frames) * kNsPerSecond > static_cast<Wide>(fps) * elapsed_ns;
}

}  // namespace

std::optional<RateAlarmEvent> RateAlarm::sample(std::uint64_t now_ns, std::uint64_t frames) {
  if (from_ && now_ns <= last_ns_) return std::nullopt;
  const bool reset = from_ && frames < last_frames_;
  last_ns_ = now_ns;
  last_frames_ = frames;
  const Point now{.ns = now_ns, .frames = frames};
  if (!from_ || reset) {
    from_ = now;
    return std::nullopt;
  }
  if (now_ns - from_->ns < config_.window_ms * kNsPerMs) return std::nullopt;
  const Point from = *from_;
  from_ = now;
  return judge(from, now);
}

std::optional<RateAlarmEvent> RateAlarm::judge(const Point& from, const Point& to) {
  const std::uint64_t frames = to.frames - from.frames;
  const std::uint64_t elapsed = to.ns - from.ns;
  rate_fps_ = static_cast<std::uint64_t>(static_cast<Wide>(frames) * kNsPerSecond / elapsed);
  if (config_.raise_fps == 0) return std::nullopt;
  const bool beyond =
      raised_ ? !above(frames, elapsed, config_.clear_fps) : above(frames, elapsed, config_.raise_fps);
  if (!beyond) {
    beyond_ns_ = 0;
    return std::nullopt;
  }
  beyond_ns_ += elapsed;
  if (beyond_ns_ < config_.hold_ms * kNsPerMs) return std::nullopt;
  return change(!raised_, to.ns);
}

RateAlarmEvent RateAlarm::change(bool raised, std::uint64_t now_ns) {
  raised_ = raised;
  beyond_ns_ = 0;
  times_raised_ += raised ? 1 : 0;
  return {.raised = raised,
          .now_ns = now_ns,
          .rate_fps = rate_fps_,
          .threshold_fps = raised ? config_.raise_fps : config_.clear_fps};
}

std::optional<RateAlarmEvent> RateAlarm::configure(const RateAlarmConfig& config, std::uint64_t now_ns) {
  config_ = config;
  beyond_ns_ = 0;
  if (config.raise_fps == 0 && raised_) return change(false, now_ns);
  return std::nullopt;
}

std::string alarm_text(std::string_view port, PfcDirection direction, const RateAlarmEvent& event) {
  return std::string("PFC alarm ") + (event.raised ? "raised" : "cleared") + " on " + std::string(port) +
         " (" + std::string(to_string(direction)) + "): " + std::to_string(event.rate_fps) +
         " frames/s, threshold " + std::to_string(event.threshold_fps) + " frames/s";
}

}  // namespace lossless::pfc
