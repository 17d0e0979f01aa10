// SPDX-License-Identifier: Apache-2.0
// Tells when a counter of the buffer model has drifted: it holds bytes that no packet does. Pure: what was
// seen comes in, buffer_model_io looks and sets right.
//
// A packet is counted before it is in a queue and after it has left one, so for a moment it is in the model
// and in no queue. A processor that stands still just then (its hypervisor gave it to others) makes that
// moment as long as it likes, so no time tells such a packet from drift. A grace period does: whoever was on
// that way when it began is through when it ends.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "bpf/abi.h"

namespace lossless::pfc {

// RCU's grace periods that we asked for, one after the other. All that ran on any processor with softirqs
// held off when one began has left that section when it has ended.
struct GracePeriods {
  std::uint64_t begun = 0, ended = 0;
};

// What one row of (port, TC) holds, in bytes.
struct Level {
  std::uint64_t bytes = 0, headroom = 0;
  bool operator==(const Level&) const = default;
};

// Packets of the queues in which a row's packets can be, all of them together.
struct Queues {
  std::uint64_t waiting = 0;
  std::uint64_t passed = 0;  // sent or dropped since the queues are there
};

// A look at one row: its level before and after the queues were read.
struct Look {
  Level before, after;
  Queues queues;
};

// Something that was seen, and how many grace periods had begun by then.
template <class Seen>
struct Sighting {
  Seen seen;
  std::uint64_t begun = 0;
};

class DriftWatch {
 public:
  using Looks = std::map<std::uint32_t, Look>;  // by row
  using Sums = std::array<std::uint64_t, LL_POOLS>;

  // Rows that have drifted: twice the same level and no packet waiting, none having passed between the two
  // looks, in which a whole grace period lies. Rows that are not among the looks are forgotten.
  std::vector<std::uint32_t> rows(const Looks& looks, const GracePeriods& now);
  // What to take out of each pool: the same was too much twice, with a whole grace period in between.
  // `too_much`: what a pool holds above the sum of its rows, modulo 2^64.
  Sums pools(const Sums& too_much, const GracePeriods& now);
  // The rows moved: what was too much may have been on its way between a row and its pool.
  void forget_pools() { pools_ = {}; }

  // Whether there is something that waits for a grace period.
  bool suspects_rows() const { return !rows_.empty(); }
  bool suspects() const;

 private:
  struct Row {
    Level level;
    std::uint64_t passed = 0;
    bool operator==(const Row&) const = default;
  };
  std::map<std::uint32_t, Sighting<Row>> rows_;
  std::array<std::optional<Sighting<std::uint64_t>>, LL_POOLS> pools_;
};

}  // namespace lossless::pfc
