// SPDX-License-Identifier: Apache-2.0
// What priority flow control knows of a port, and who wants to hear of it. Values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/pfc/alarm_config.h"
#include "daemon/pfc/plan.h"
#include "daemon/pfc/watchdog_config.h"
#include "daemon/pfc/watchdog_escape.h"
#include "loader/result.h"

namespace lossless::pfc {

struct PortInfo {
  std::string name;
  std::uint32_t slot = 0;
  int ifindex = 0;
  bool up = false;
  std::uint64_t rate_bps = 0;        // kAssumedRate where the port has no limit
  std::uint32_t frame_bytes = 1522;  // longest frame, with header and tags
  Mac mac{};
  std::array<std::optional<Plan>, kTcs> plans;  // of the TCs with PFC, as configured
  TcMask withheld = 0;                          // of these: PFC is off now (escape, deadlock watchdog)
  std::array<std::uint32_t, kTcs> limits{};     // bytes, of the queues
  WatchdogConfig watchdog;
  PfcAlarmConfig alarm;
  bool operator==(const PortInfo&) const = default;

  // The plan that is in force now, nullptr without one.
  const Plan* in_force(unsigned tc) const {
    return plans[tc] && !(withheld & (1U << tc)) ? &*plans[tc] : nullptr;
  }
};

// Told by the owner of the ports.
class PortSink {
 public:
  virtual ~PortSink() = default;
  // A port is there, or something of it changed. `withheld` is the sink's own to say.
  virtual Status set_port(const PortInfo& port) = 0;
  // It is given back, or its interface went away.
  virtual void remove_port(std::uint32_t slot) = 0;
  // Its rows start anew.
  virtual void clear_port(std::uint32_t slot) = 0;
  // TCs (bit by bit) into whose queues hook flows of other TCs are moved; they count in the TC they came in.
  virtual void set_moved_tcs(std::uint8_t tcs) = 0;
};

}  // namespace lossless::pfc
