// SPDX-License-Identifier: Apache-2.0
// Counters of drivers, as `ethtool -S` shows them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "daemon/net/dcb.h"

namespace lossless::net {

// By name; empty where the driver has none.
std::map<std::string, std::uint64_t> driver_counters(const std::string& interface);

// PFC frames by priority, found by their usual names: "rx_prio3_pause", "rx_pfc3_frames",
// "rx_priority_3_xoff", … Durations are microseconds ("rx_prio3_pause_duration").
struct PfcCounters {
  PerPriority<std::uint64_t> rx{};
  PerPriority<std::uint64_t> tx{};
  PerPriority<std::uint64_t> rx_duration_us{};
  bool frames = false;     // rx and tx are there
  bool durations = false;  // rx_duration_us is
};
PfcCounters find_pfc_counters(const std::map<std::string, std::uint64_t>& counters);

}  // namespace lossless::net
