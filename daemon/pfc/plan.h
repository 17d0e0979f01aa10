// SPDX-License-Identifier: Apache-2.0
// Thresholds of priority flow control, worked out from a port and its configuration. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "bpf/abi.h"
#include "daemon/core/config.h"
#include "daemon/core/wire.h"

namespace lossless::pfc {

// What the plan of a port's TC depends on beside its configuration.
struct PortFacts {
  std::uint64_t rate_bps = 0;  // 0: not limited; kAssumedRate counts then
  unsigned mtu = 1500;         // bytes, without the Ethernet header
  unsigned ports = 1;          // of the switch
  Mac mac{};
  BufferConfig buffer{};  // pools of the switch
};

// Rate of a software port that has no limit of its own.
inline constexpr std::uint64_t kAssumedRate = 10'000'000'000;
// How long a pause lasts at most: a peer whose switch died goes on after it.
inline constexpr std::uint64_t kPauseNs = 10'000'000;

// Bytes that may still arrive after XOFF was decided: our frame waits for one that is being sent, travels, is
// acted on, and what the peer has sent by then travels too; a queue that is closed lets one more frame out.
// `rate_bps` > 0.
std::uint64_t needed_headroom(const PfcConfig& config, std::uint64_t rate_bps, unsigned mtu);

struct Plan {
  std::uint64_t xoff_bytes = 0;
  std::uint64_t xon_bytes = 0;
  std::uint64_t headroom_bytes = 0;
  std::uint64_t needed_bytes = 0;  // headroom that the link needs
  std::uint16_t quanta = 0;
  std::uint64_t pause_ns = 0;  // what the quanta last at the port's rate
  std::uint8_t alpha = 0;      // as in ll_pfc; not 0: xoff and xon are those while nobody else holds anything
  std::uint64_t guaranteed_bytes = 0;
  bool operator==(const Plan&) const = default;
};

// The plan of one queue, whose `pfc` must be there. The error names both values and why they don't fit.
std::expected<Plan, std::string> plan_pfc(const QueueConfig& queue, const PortFacts& facts);

// What the buffer model grants a (port, TC) beside PFC.
struct BufferTerms {
  std::uint32_t guaranteed_bytes = 0;
  bool lossless = false;
  bool operator==(const BufferTerms&) const = default;
};
BufferTerms buffer_terms(const QueueConfig& queue);

// Row of the datapath's map; without a plan PFC is off in it. `rate_bps` > 0.
ll_pfc make_pfc_row(const BufferTerms& terms, const Plan* plan, const Mac& mac, std::uint64_t rate_bps);

}  // namespace lossless::pfc
