// SPDX-License-Identifier: Apache-2.0
// One timer for each of many ids, in a heap with lazy removal: moving a timer later costs nothing. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "veth-topo/endpoint/types.h"

namespace lossless::endpoint {

class Timers {
 public:
  explicit Timers(std::size_t ids) : armed_(ids, kNever) {}

  // The id wants to be looked at no later than `when`.
  void arm(std::uint32_t id, Nanos when) {
    if (when >= armed_[id]) return;
    armed_[id] = when;
    heap_.emplace(when, id);
  }
  // An id whose time has come; it is not armed any more. Call until nothing comes.
  std::optional<std::uint32_t> pop(Nanos now) {
    while (!heap_.empty() && heap_.top().first <= now) {
      const auto [when, id] = heap_.top();
      heap_.pop();
      if (armed_[id] != when) continue;
      armed_[id] = kNever;
      return id;
    }
    return std::nullopt;
  }
  // May be earlier than the next one that pop() gives.
  Nanos next() const { return heap_.empty() ? kNever : heap_.top().first; }

 private:
  using Entry = std::pair<Nanos, std::uint32_t>;
  std::vector<Nanos> armed_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace lossless::endpoint
