// SPDX-License-Identifier: Apache-2.0
// Who sends when: the pace of a link, and round robin among the queue pairs of a host. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "veth-topo/endpoint/types.h"

namespace lossless::endpoint {

// A link that sends `bps` bits per second of frames without FCS. Time lost while there was something to
// send (a late wake-up) may be caught up to `burst_ns`.
class LinkPacer {
 public:
  LinkPacer(std::uint64_t bps, Nanos burst_ns) : bps_(bps), burst_ns_(burst_ns) {}
  bool ready(Nanos now) const { return next_ <= now; }
  Nanos next() const { return next_; }
  void sent(std::uint64_t bytes, Nanos now) {
    if (next_ + burst_ns_ < now) next_ = now - burst_ns_;
    next_ += serialization_ns(bytes, bps_);
  }

 private:
  std::uint64_t bps_;
  Nanos burst_ns_;
  Nanos next_ = 0;
};

// Queue pairs that want to send: those whose time has come take turns, the others wait for their time.
class RoundRobin {
 public:
  // Adds a queue pair that is in neither queue.
  void add(std::uint32_t id, Nanos when) {
    if (when == 0) {
      ready_.push_back(id);
    } else {
      waiting_.emplace(when, id);
    }
  }
  // Moves those whose time has come to the end of the line.
  void advance(Nanos now) {
    while (!waiting_.empty() && waiting_.top().first <= now) {
      ready_.push_back(waiting_.top().second);
      waiting_.pop();
    }
  }
  bool has_ready() const { return !ready_.empty(); }
  std::uint32_t pop() {
    const std::uint32_t id = ready_.front();
    ready_.pop_front();
    return id;
  }
  // 0: somebody is ready; kNever: nobody wants to send.
  Nanos next() const {
    if (!ready_.empty()) return 0;
    return waiting_.empty() ? kNever : waiting_.top().first;
  }

 private:
  using Entry = std::pair<Nanos, std::uint32_t>;
  std::deque<std::uint32_t> ready_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting_;
};

}  // namespace lossless::endpoint
