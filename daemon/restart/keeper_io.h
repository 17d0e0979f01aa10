// SPDX-License-Identifier: Apache-2.0
// Keeps the saved state of one subject what it is, for the case that the daemon is killed: written at the end
// of an event where that costs little, else after a pause of twenty times what it costs. Only where a service
// manager may have a fd store; a planned hand-over writes in any case.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "daemon/core/wake_timer.h"
#include "daemon/restart/image.h"
#include "daemon/restart/state_file_io.h"

namespace lossless::restart {

class Keeper {
 public:
  Keeper(asio::io_context& loop, Kind kind) : timer_(loop), kind_(kind) {}

  // From now on; `encode` gives the whole image.
  void start(std::function<Bytes()> encode);
  // Something will be another than what was written, or may be.
  void begin() {
    if (file_) file_->outdate();
  }
  // The event is over, and `changed` something.
  void end(bool changed);
  // Now, for a hand-over. Also without start().
  Result<int> write(const Bytes& image);
  // Nothing is written any more.
  void stop();

 private:
  void save();

  WakeTimer timer_;
  Kind kind_;
  std::function<Bytes()> encode_;
  std::optional<StateFile> file_;
  std::chrono::steady_clock::time_point not_before_{};
  bool stale_ = false;  // the file is not what there is
};

}  // namespace lossless::restart
