// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/queue_tree.h"

#include <algorithm>
#include <set>

#include "daemon/core/wire.h"

namespace lossless::port {
namespace {

// HTB timers fire late by up to a scheduler tick on a busy machine; tokens for one millisecond keep the
// configured rate all the same.
constexpr std::uint64_t kBurstDivisor = 1000;
constexpr std::uint64_t kMaxQuantum = 10'000'000;

std::uint32_t burst_of(std::uint64_t rate, unsigned frame) {
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(rate / kBurstDivisor, 2ULL * frame, 256U << 20));
}

// The higher, the earlier it is served: strict TCs above all groups, and groups by the highest TC in them.
unsigned rank_tc(const PortConfig& config, unsigned tc) {
  const QueueConfig& queue = config.queues[tc];
  if (queue.schedule == Schedule::Strict) return kTcs + tc;
  unsigned highest = tc;
  for (unsigned other = tc; other < kTcs; ++other)
    if (config.queues[other].schedule == Schedule::Wrr && config.queues[other].group == queue.group)
      highest = other;
  return highest;
}

unsigned lowest_weight(const PortConfig& config, unsigned group) {
  unsigned lowest = 100;
  for (const QueueConfig& queue : config.queues)
    if (queue.schedule == Schedule::Wrr && queue.group == group) lowest = std::min(lowest, queue.weight);
  return std::max(lowest, 1U);
}

}  // namespace

QueueTree plan_tree(const PortConfig& config, unsigned mtu) {
  const unsigned frame = longest_frame(mtu);
  QueueTree tree;
  if (config.rate_bps) tree.rate = config.rate_bps / 8;
  tree.burst = burst_of(tree.rate, frame);

  std::set<unsigned, std::greater<>> ranks;
  for (unsigned tc = 0; tc < kTcs; ++tc) ranks.insert(rank_tc(config, tc));
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const QueueConfig& queue = config.queues[tc];
    TreeClass& out = tree.classes[tc];
    out.prio = static_cast<std::uint8_t>(std::distance(ranks.begin(), ranks.find(rank_tc(config, tc))));
    out.limit_bytes = queue.limit_bytes;
    if (queue.max_rate_bps) {
      out.ceil = queue.max_rate_bps / 8;
      out.ceil_burst = burst_of(out.ceil, frame);
    }
    const std::uint64_t quantum = queue.schedule == Schedule::Strict ? frame
                                                                     : std::uint64_t{frame} * queue.weight /
                                                                           lowest_weight(config, queue.group);
    out.quantum = static_cast<std::uint32_t>(std::min(quantum, kMaxQuantum));
  }
  return tree;
}

}  // namespace lossless::port
