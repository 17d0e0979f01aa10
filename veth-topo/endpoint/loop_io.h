// SPDX-License-Identifier: Apache-2.0
// Runs an engine on real sockets in one thread until it is done.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "veth-topo/endpoint/config.h"
#include "veth-topo/endpoint/stats.h"

namespace lossless::endpoint {

struct LoopOptions {
  // Called about every 100 ms of the run; may be empty.
  std::function<void(const SeriesPoint&)> progress;
};

// SIGINT and SIGTERM end the traffic early. An error is one of the set-up; nothing was sent then.
std::expected<Results, std::string> run_loop(const Config& config, const LoopOptions& options);

}  // namespace lossless::endpoint
