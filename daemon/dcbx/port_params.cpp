// SPDX-License-Identifier: Apache-2.0
// A port's configuration in the terms of DCBX and back.
#include <algorithm>

#include "daemon/core/shares.h"
#include "daemon/dcbx/machine.h"

namespace lossless::dcbx {
namespace {

// All WRR groups together: DCBX knows one.
PerPriority<std::uint8_t> shares_of(const PortConfig& port) {
  std::array<unsigned, kTcs> weights{};
  for (std::size_t tc = 0; tc < kTcs; ++tc)
    if (port.queues[tc].schedule == Schedule::Wrr) weights[tc] = port.queues[tc].weight;
  return percent_shares(weights);
}

}  // namespace

std::vector<App> apps_of(const std::vector<Application>& applications) {
  std::vector<App> out;
  out.reserve(applications.size());
  for (const Application& a : applications)
    out.push_back({.priority = static_cast<std::uint8_t>(a.priority),
                   .selector = selector_of(a.field),
                   .protocol = static_cast<std::uint16_t>(a.protocol)});
  return out;
}

namespace {

// Entries by DSCP are the port's map, the others its application table.
void take_applications(const std::vector<App>& apps, PortConfig& out) {
  constexpr std::uint8_t kDscpSelector = 5;
  out.applications.emplace();
  for (const App& app : apps) {
    if (app.selector == kDscpSelector && app.protocol < kDscps)
      out.maps.dscp_dot1p[app.protocol] = app.priority;
    if (app.selector < 1 || app.selector > 4 || out.applications->size() == kMaxApplications) continue;
    out.applications->push_back({.field = static_cast<AppField>(app.selector - 1),
                                 .protocol = app.protocol,
                                 .priority = app.priority});
  }
}

}  // namespace

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
  if (operational.apps == Source::Peer) take_applications(params.apps, out);
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
