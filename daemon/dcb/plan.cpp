// SPDX-License-Identifier: Apache-2.0
#include "daemon/dcb/plan.h"

#include <algorithm>
#include <utility>

#include "daemon/core/config_keys.h"
#include "daemon/core/shares.h"

namespace lossless::dcb {
namespace {

using net::DcbApps;
using net::DcbState;
using net::kPriorities;

static_assert(kPriorities == kTcs);
constexpr std::uint8_t kCeeStrict = 15;  // the group that is served first
constexpr unsigned kGroups = 2;
constexpr unsigned kFramesBeside = 2;  // one that was begun, one that is still to be read

template <class... Bits>
constexpr std::uint8_t flags(Bits... bits) {
  return static_cast<std::uint8_t>((bits | ...));
}

bool in_group(const QueueConfig& queue, unsigned group) {
  return queue.schedule == Schedule::Wrr && queue.group == group;
}

std::uint8_t pfc_priorities(const PortInput& input) {
  const PortConfig& port = input.port;
  unsigned bits = 0;
  for (unsigned priority = 0; priority < kPriorities; ++priority)
    if (const unsigned tc = port.maps.dot1p_tc[priority]; port.queues[tc].pfc && !(input.withheld >> tc & 1U))
      bits |= 1U << priority;
  return static_cast<std::uint8_t>(bits);
}

net::DcbEts wanted_ets(const PortConfig& port, net::DcbEts ets) {
  ets.share = shares_of(port);
  for (unsigned tc = 0; tc < kTcs; ++tc)
    ets.tsa[tc] = port.queues[tc].schedule == Schedule::Wrr ? IEEE_8021QAZ_TSA_ETS : IEEE_8021QAZ_TSA_STRICT;
  ets.priority_tc = port.maps.dot1p_tc;
  return ets;
}

// Buffer 0 has what no lossless TC needs.
net::DcbBuffers wanted_buffers(const PortInput& input, net::DcbBuffers buffers) {
  buffers.bytes = {};
  buffers.priority_buffer = {};
  std::uint64_t taken = 0;
  std::uint8_t next = 1;
  for (unsigned tc = 0; tc < kTcs && next < kPriorities; ++tc) {
    if (!input.port.queues[tc].pfc) continue;
    const std::uint64_t bytes = input.headroom_bytes[tc] + kFramesBeside * input.frame_bytes;
    buffers.bytes[next] = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, UINT32_MAX));
    taken += buffers.bytes[next];
    for (unsigned priority = 0; priority < kPriorities; ++priority)
      if (input.port.maps.dot1p_tc[priority] == tc) buffers.priority_buffer[priority] = next;
    ++next;
  }
  if (taken < buffers.total_bytes) buffers.bytes[0] = static_cast<std::uint32_t>(buffers.total_bytes - taken);
  return buffers;
}

// Where nothing else applies, drivers take priority 0, or the one of EtherType 0.
DcbApps wanted_apps(const PortInput& input, bool has_trust) {
  DcbApps apps;
  const auto add = [&](std::uint8_t selector, unsigned protocol, unsigned priority) {
    apps.push_back({.selector = selector,
                    .protocol = static_cast<std::uint16_t>(protocol),
                    .priority = static_cast<std::uint8_t>(priority)});
  };
  const PriorityMaps& maps = input.port.maps;
  if (input.port.trust == Trust::Dscp)
    for (unsigned dscp = 0; dscp < kDscps; ++dscp)
      if (const unsigned priority = maps.dscp_dot1p[maps.dscp_dscp[dscp]])
        add(IEEE_8021QAZ_APP_SEL_DSCP, dscp, priority);
  if (input.port.trust == Trust::Dot1p && has_trust)
    for (unsigned pcp = 0; pcp < kPriorities; ++pcp) add(DCB_APP_SEL_PCP, pcp, pcp);
  for (const Application& entry : input.applications)
    add(selector_of(entry.field), entry.protocol, entry.priority);
  if (input.port.priority) add(IEEE_8021QAZ_APP_SEL_ETHERTYPE, 0, input.port.priority);
  std::ranges::sort(apps);
  return apps;
}

std::vector<std::uint8_t> wanted_trust(const PortInput& input) {
  switch (input.port.trust) {
    case Trust::Port:
      return {};
    case Trust::Dot1p:
      return {DCB_APP_SEL_PCP};
    case Trust::Dscp:
      return {IEEE_8021QAZ_APP_SEL_DSCP};
    case Trust::Application:
      break;
  }
  std::vector<std::uint8_t> selectors;  // the more special first, as the datapath goes
  for (const AppField field : {AppField::Tcp, AppField::Udp, AppField::Port, AppField::EtherType})
    if (std::ranges::any_of(input.applications, [field](const Application& a) { return a.field == field; }))
      selectors.push_back(selector_of(field));
  return selectors;
}

// In the kernel's unit.
net::PerPriority<std::uint64_t> wanted_rates(const PortConfig& port) {
  constexpr std::uint64_t kKilo = 1000;
  net::PerPriority<std::uint64_t> out{};
  for (unsigned tc = 0; tc < kTcs; ++tc) out[tc] = port.queues[tc].max_rate_bps / kKilo;
  return out;
}

DcbApps wanted_rewrite(const PortConfig& port) {
  DcbApps out;
  const auto add = [&](std::uint8_t selector, const std::array<std::uint8_t, kTcs>& values) {
    for (std::uint8_t priority = 0; priority < kPriorities; ++priority)
      out.push_back({.selector = selector, .protocol = values[priority], .priority = priority});
  };
  if (port.rewrite != Rewrite::Dscp) add(DCB_APP_SEL_PCP, port.maps.dot1p_rewrite);
  if (port.rewrite != Rewrite::Dot1p) add(IEEE_8021QAZ_APP_SEL_DSCP, port.maps.dscp_rewrite);
  std::ranges::sort(out);
  return out;
}

// What only some ports are configured to.
void want_extras(const PortInput& input, const DcbState& now, DcbState& wanted,
                 std::vector<net::DcbFault>& left_out) {
  const PortConfig& port = input.port;
  const bool limited =
      std::ranges::any_of(port.queues, [](const QueueConfig& q) { return q.max_rate_bps > 0; });
  if (limited && now.max_kbps) wanted.max_kbps = wanted_rates(port);
  if (limited && !now.max_kbps)
    left_out.push_back(
        {net::DcbPart::MaxRate, "the driver does not have it; the queue tree keeps to max_rate"});
  if (port.rewrite == Rewrite::Off) return;
  if (now.rewrite) {
    wanted.rewrite = wanted_rewrite(port);
  } else {
    left_out.push_back({net::DcbPart::Rewrite, "the driver does not have it; packets leave as they are"});
  }
}

// A group for each WRR TC, of its number.
net::DcbCeeGroups wanted_groups(const PortConfig& port) {
  net::DcbCeeGroups groups;
  groups.group_share = shares_of(port);
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const bool strict = port.queues[tc].schedule == Schedule::Strict;
    groups.tc_group[tc] = strict ? kCeeStrict : static_cast<std::uint8_t>(tc);
    groups.tc_strict[tc] = strict ? 2 : 0;
    groups.tc_share[tc] = strict ? 0 : 100;
    unsigned priorities = 0;
    for (unsigned priority = 0; priority < kPriorities; ++priority)
      if (port.maps.dot1p_tc[priority] == tc) priorities |= 1U << priority;
    groups.tc_priorities[tc] = static_cast<std::uint8_t>(priorities);
  }
  return groups;
}

net::DcbCee wanted_cee(const PortInput& input, net::DcbCee cee) {
  cee.on = true;
  cee.pfc = pfc_priorities(input);
  cee.pfc_on = cee.pfc != 0;
  if (!has_two_groups(input.port)) cee.tx = wanted_groups(input.port);
  return cee;
}

}  // namespace

net::PerPriority<std::uint8_t> shares_of(const PortConfig& port) {
  net::PerPriority<std::uint8_t> out{};
  for (unsigned group = 1; group <= kGroups; ++group) {
    std::array<unsigned, kTcs> weights{};
    for (unsigned tc = 0; tc < kTcs; ++tc)
      if (in_group(port.queues[tc], group)) weights[tc] = port.queues[tc].weight;
    const auto of_group = percent_shares(weights);
    for (unsigned tc = 0; tc < kTcs; ++tc) out[tc] = static_cast<std::uint8_t>(out[tc] + of_group[tc]);
  }
  return out;
}

DcbState wanted_state(const PortInput& input, const DcbState& now, std::vector<net::DcbFault>* left_out) {
  std::vector<net::DcbFault> unasked;
  std::vector<net::DcbFault>& left = left_out ? *left_out : unasked;
  DcbState wanted;
  const bool ieee = now.ets || now.pfc;
  if (now.mode)
    wanted.mode = flags(DCB_CAP_DCBX_HOST, ieee || !now.cee ? DCB_CAP_DCBX_VER_IEEE : DCB_CAP_DCBX_VER_CEE);
  if (!ieee && now.cee) {
    wanted.cee = wanted_cee(input, *now.cee);
    return wanted;
  }
  if (now.ets && has_two_groups(input.port)) {
    left.push_back({net::DcbPart::Ets, "ETS has one WRR group, the port has two; they are in software"});
  } else if (now.ets) {
    wanted.ets = wanted_ets(input.port, *now.ets);
  }
  if (now.pfc) {
    wanted.pfc = now.pfc;
    wanted.pfc->enabled = pfc_priorities(input);
  }
  if (now.buffers && input.dcb.buffers) wanted.buffers = wanted_buffers(input, *now.buffers);
  if (now.apps) wanted.apps = wanted_apps(input, now.trust.has_value());
  if (now.trust) wanted.trust = wanted_trust(input);
  want_extras(input, now, wanted, left);
  return wanted;
}

}  // namespace lossless::dcb
