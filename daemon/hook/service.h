// SPDX-License-Identifier: Apache-2.0
// Hook flows as the daemon sees them: writes the rules, lists the flows, says in the log when there are some.
// Owned by the event loop's thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/config.h"
#include "loader/datapath_io.h"

namespace lossless::hook {

struct Flow {
  ll_hook_key key;
  ll_hook_flow seen;
};

class HookService {
 public:
  using Clock = std::chrono::steady_clock;

  explicit HookService(const Maps& maps) : maps_(maps) {}

  // Brings the datapath's rules to the configuration.
  Status configure(const Config& config);

  // By source, destination, ports; at most LL_HOOK_FLOWS.
  std::vector<Flow> flows() const;

  // Call about once a second, with the slots of the ports in groups. The text of an alarm when the first
  // hook flow appears, and when one does after kQuiet without any.
  std::optional<std::string> poll(const std::vector<std::pair<std::string, std::uint32_t>>& ports,
                                  Clock::time_point now);
  static constexpr auto kQuiet = std::chrono::seconds(60);

 private:
  const Maps& maps_;
  std::array<std::optional<ll_hook>, LL_HOOK_GROUPS> rows_;  // as last written
  std::uint64_t packets_ = 0;                                // at the last poll
  std::optional<Clock::time_point> last_seen_;
};

}  // namespace lossless::hook
