// SPDX-License-Identifier: Apache-2.0
// A port's configuration in the terms of DCBX and back.
#include <algorithm>
#include <numeric>

#include "daemon/dcbx/machine.h"

namespace lossless::dcbx {
namespace {

constexpr unsigned kAll = 100;

// Percentages in proportion to the weights, that add to 100: what rounding leaves goes to the largest
// remainders.
PerPriority<std::uint8_t> shares_of(const PortConfig& port) {
  PerPriority<std::uint8_t> out{};
  unsigned sum = 0;
  for (const QueueConfig& queue : port.queues)
    if (queue.schedule == Schedule::Wrr) sum += queue.weight;
  if (sum == 0) return out;
  std::array<std::size_t, kTcs> order{};
  std::iota(order.begin(), order.end(), 0U);
  unsigned given = 0;
  std::array<unsigned, kTcs> rest{};
  for (std::size_t tc = 0; tc < kTcs; ++tc) {
    if (port.queues[tc].schedule != Schedule::Wrr) continue;
    const unsigned part = port.queues[tc].weight * kAll;
    out[tc] = static_cast<std::uint8_t>(part / sum);
    rest[tc] = part % sum;
    given += out[tc];
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t tc) { return rest[tc]; });
  for (std::size_t i = 0; given < kAll; ++i, ++given) ++out[order[i]];
  return out;
}

}  // namespace

std::vector<App> default_apps() {
  constexpr std::uint8_t kUdp = 3;
  constexpr std::uint16_t kRoce = 4791;
  return {{.priority = 3, .selector = kUdp, .protocol = kRoce}};
}

Params local_params(const PortConfig& port, std::vector<App> apps) {
  Params out{.ets = {}, .pfc = 0, .apps = std::move(apps)};
  out.ets.priority_tc = port.maps.dot1p_tc;
  out.ets.share = shares_of(port);
  for (std::size_t tc = 0; tc < kTcs; ++tc)
    out.ets.tsa[tc] = port.queues[tc].schedule == Schedule::Wrr ? kEtsTsa : kStrict;
  for (std::size_t priority = 0; priority < kTcs; ++priority)
    if (port.queues[port.maps.dot1p_tc[priority]].pfc)
      out.pfc = static_cast<std::uint8_t>(out.pfc | 1U << priority);
  return out;
}

PortConfig operational_config(const PortConfig& port, const Operational& operational) {
  PortConfig out = port;
  const Params& params = operational.params;
  if (operational.ets == Source::Peer) {
    out.maps.dot1p_tc = params.ets.priority_tc;
    for (std::size_t tc = 0; tc < kTcs; ++tc) {
      QueueConfig& queue = out.queues[tc];
      const bool shares = params.ets.tsa[tc] == kEtsTsa;
      queue.schedule = shares ? Schedule::Wrr : Schedule::Strict;
      queue.group = shares ? kDefaultGroup : 0;
      queue.weight = shares ? std::max<unsigned>(1, params.ets.share[tc]) : 0;
    }
  }
  if (operational.pfc == Source::Local && operational.ets == Source::Local) return out;
  std::array<bool, kTcs> wanted{};
  for (std::size_t priority = 0; priority < kTcs; ++priority)
    if ((params.pfc >> priority & 1U) != 0) wanted[out.maps.dot1p_tc[priority]] = true;
  for (std::size_t tc = 0; tc < kTcs; ++tc) {
    QueueConfig& queue = out.queues[tc];
    if (!wanted[tc]) queue.pfc.reset();
    if (!wanted[tc] || queue.pfc) continue;
    queue.lossless = true;
    queue.alpha = 0;  // of a lossy queue
    queue.pfc = PfcConfig{};
  }
  return out;
}

}  // namespace lossless::dcbx
