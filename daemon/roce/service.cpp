// SPDX-License-Identifier: Apache-2.0
#include "daemon/roce/service.h"

#include <algorithm>

#include "daemon/core/nanos.h"
#include "daemon/roce/plan.h"

namespace lossless::roce {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStep{20};  // between pieces of a walk, so that others get the loop
constexpr milliseconds kLongestRest{30'000};

}  // namespace

Status RoceService::configure(const RoceConfig& config) {
  config_ = config;
  return maps_.roce_config.set(0, make_roce_config(config));
}

milliseconds RoceService::age(std::uint64_t now_ns) {
  const milliseconds rest = std::min(kLongestRest, milliseconds(config_.age_s * 1000 / 10));
  if (!walk_) walk_.emplace(maps_.roce_flows.fd());
  const auto flows = walk_->next();
  if (flows)
    for (const Flow& flow : *flows)
      if (now_ns > flow.seen.last_ns + config_.age_s * kSecondNs) maps_.roce_flows.erase(flow.key);
  if (flows && !walk_->is_over()) return kStep;
  walk_.reset();
  return rest;
}

}  // namespace lossless::roce
