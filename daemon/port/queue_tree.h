// SPDX-License-Identifier: Apache-2.0
// The queue tree of a port, worked out from its configuration. Pure: daemon/net/qdisc_io builds it.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/core/config.h"

namespace lossless::port {

// Rate of a port whose configuration gives none, in bytes per second: more than any port has, so that
// the tree only sorts. 1 Tbit/s.
inline constexpr std::uint64_t kUnlimited = 125'000'000'000;
// A gate that is open must never be what limits: rate and burst (bytes) of an open TBF leaf.
inline constexpr std::uint64_t kGateOpenRate = kUnlimited;
inline constexpr std::uint32_t kGateOpenBurst = 64U << 20;

struct TreeClass {
  std::uint8_t prio = 0;      // HTB priority, 0 is served first
  std::uint32_t quantum = 0;  // bytes per round among classes of the same priority
  std::uint32_t limit_bytes = 0;
  std::uint64_t ceil = kUnlimited;  // bytes per second
  std::uint32_t ceil_burst = 0;     // bytes at once, where there is a ceiling
  bool operator==(const TreeClass&) const = default;
};

struct QueueTree {
  std::uint64_t rate = kUnlimited;  // bytes per second
  std::uint32_t burst = 0;          // bytes that an idle port may send at once
  std::array<TreeClass, kTcs> classes;
  bool paced = false;  // the leaves' FIFOs send packets at the time in skb->tstamp (qdisc fq)
  bool operator==(const QueueTree&) const = default;
};

// `mtu` in bytes, without the Ethernet header.
//
// Service order: strict TCs first, the highest number before the others; then the WRR groups, the one with
// the highest TC in it first. That is ETS (IEEE 802.1Q, 8.6.8) where there is one group. Inside a group each
// round gives a TC weight/lowest-weight times one full-size frame.
QueueTree plan_tree(const PortConfig& config, unsigned mtu);

}  // namespace lossless::port
