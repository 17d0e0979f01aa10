// SPDX-License-Identifier: Apache-2.0
#include "daemon/roce/service.h"

#include <algorithm>
#include <random>

#include "daemon/core/nanos.h"
#include "daemon/roce/plan.h"

namespace lossless::roce {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStep{20};  // between pieces of a walk, so that others get the loop
constexpr milliseconds kLongestRest{30'000};

std::uint64_t new_seed() {
  std::random_device random;
  return std::uint64_t{random()} << 32U | random();
}

}  // namespace

Status RoceService::configure(const RoceConfig& config) {
  config_ = config;
  ll_roce_config row = make_roce_config(config);
  const auto before = maps_.roce_config.get(0);
  row.seed = before && before->seed ? before->seed : new_seed();
  return maps_.roce_config.set(0, row);
}

milliseconds RoceService::age(std::uint64_t now_ns) {
  const milliseconds rest = std::min(kLongestRest, milliseconds(config_.age_s * 1000 / 10));
  const std::uint64_t age_ns = config_.age_s * kSecondNs;
  if (now_ns <= age_ns) return rest;  // the machine has not run for as long
  if (!ageing_) {
    ll_roce_which old{};
    old.silent_since = now_ns - age_ns;
    ageing_.emplace(maps_, old);
  }
  if (ageing_->next() && !ageing_->is_over()) return kStep;
  ageing_.reset();
  return rest;
}

}  // namespace lossless::roce
