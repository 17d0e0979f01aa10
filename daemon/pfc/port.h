// SPDX-License-Identifier: Apache-2.0
// What priority flow control knows of a port, and who wants to hear of it. Values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "daemon/pfc/plan.h"

namespace lossless::pfc {

struct PortInfo {
  std::uint32_t slot = 0;
  int ifindex = 0;
  bool up = false;
  std::uint64_t rate_bps = 0;        // kAssumedRate where the port has no limit
  std::uint32_t frame_bytes = 1522;  // longest frame, with header and tags
  Mac mac{};
  std::array<std::optional<Plan>, kTcs> plans;  // of the TCs with PFC
  std::array<std::uint32_t, kTcs> limits{};     // bytes, of the queues
  std::array<std::uint32_t, kTcs> guaranteed{};  // bytes, of the ingress view
  bool operator==(const PortInfo&) const = default;
};

// Told by the owner of the ports.
class PortSink {
 public:
  virtual ~PortSink() = default;
  // A port is there, or something of it changed.
  virtual void set_port(const PortInfo& port) = 0;
  // It is given back, or its interface went away.
  virtual void remove_port(std::uint32_t slot) = 0;
  // Its rows start anew.
  virtual void clear_port(std::uint32_t slot) = 0;
  // Sizes of the pools.
  virtual void set_buffer(const BufferConfig& buffer) = 0;
};

}  // namespace lossless::pfc
