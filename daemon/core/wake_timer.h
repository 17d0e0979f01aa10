// SPDX-License-Identifier: Apache-2.0
// Wakes a pure state machine at the time it names.
#pragma once

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <utility>

namespace lossless {

class WakeTimer {
 public:
  explicit WakeTimer(asio::io_context& loop) : timer_(loop) {}

  // Calls `wake` once, on the loop, at `when` or at once where that is over; instead of what was asked for
  // before. Nothing: not at all.
  template <class Wake>
  void set(std::optional<std::chrono::steady_clock::time_point> when, Wake wake) {
    if (!when) return cancel();
    timer_.expires_at(std::max(*when, std::chrono::steady_clock::now()));
    timer_.async_wait([wake = std::move(wake)](const asio::error_code& error) {
      if (!error) wake();
    });
  }
  void cancel() { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
};

}  // namespace lossless
