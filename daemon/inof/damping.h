// SPDX-License-Identifier: Apache-2.0
// Flap damping, as routers do it for routes: each leave adds a penalty that halves with time. Above one
// threshold a host is held offline, below another it is let in again. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

namespace lossless::inof {

// Since any fixed moment; never goes back.
using Micros = std::chrono::microseconds;

inline constexpr double kPenalty = 1000;        // of one leave
inline constexpr double kSuppressAbove = 4500;  // the fifth leave within some seconds
inline constexpr double kReuseBelow = 1500;
inline constexpr double kMaxPenalty = 12000;  // held for 24 s after the last leave at most
inline constexpr Micros kHalfLife = std::chrono::seconds(8);

class Damping {
 public:
  struct State {
    double penalty = 0;
    Micros since{};
    bool held = false;
  };
  Damping() = default;
  explicit Damping(const State& state) : penalty_(state.penalty), since_(state.since), held_(state.held) {}
  State state() const { return {.penalty = penalty_, .since = since_, .held = held_}; }
  void leave(Micros now) {
    penalty_ = std::min(at(now) + kPenalty, kMaxPenalty);
    since_ = now;
    if (penalty_ > kSuppressAbove) held_ = true;
  }
  // Whether it is held offline at `now`.
  bool held(Micros now) {
    if (held_ && now >= release()) held_ = false;
    return held_;
  }
  // When a host that is held is let in again.
  Micros release() const {
    if (penalty_ <= kReuseBelow) return since_;
    const double halvings = std::log2(penalty_ / kReuseBelow);
    return since_ + Micros(static_cast<Micros::rep>(halvings * static_cast<double>(kHalfLife.count())));
  }

 private:
  double at(Micros now) const {
    if (penalty_ == 0) return 0;
    return penalty_ *
           std::exp2(-static_cast<double>((now - since_).count()) / static_cast<double>(kHalfLife.count()));
  }

  double penalty_ = 0;
  Micros since_{};
  bool held_ = false;
};

}  // namespace lossless::inof
