// SPDX-License-Identifier: Apache-2.0
// RoCEv2 flows as the daemon keeps them: writes their settings, forgets flows that are silent. Owned by the
// event loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "daemon/core/config.h"
#include "daemon/roce/flow_table_io.h"
#include "loader/datapath_io.h"

namespace lossless::roce {

class RoceService {
 public:
  explicit RoceService(const Maps& maps) : maps_(maps) {}

  // Brings the datapath's settings to the configuration. `max_flows` is fixed when the datapath is loaded.
  Status configure(const RoceConfig& config);

  // Looks at some of the flows and forgets those that are too old; call it again after what it returns.
  std::chrono::milliseconds age(std::uint64_t now_ns);

  const RoceConfig& config() const { return config_; }
  const Maps& maps() const { return maps_; }

 private:
  const Maps& maps_;
  RoceConfig config_;
  std::optional<FlowForgetting> ageing_;
};

}  // namespace lossless::roce
