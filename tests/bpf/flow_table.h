// SPDX-License-Identifier: Apache-2.0
// The flow table of a loaded datapath as tests look at it.
#pragma once

#include <optional>
#include <stdexcept>
#include <vector>

#include "daemon/roce/flow_table_io.h"

namespace lossless::test {

inline std::vector<ll_roce_flow> all_flows(const Maps& maps) {
  std::vector<ll_roce_flow> all;
  for (roce::FlowWalk walk(maps.roce_flows.fd()); !walk.is_over();) {
    const auto flows = walk.next();
    if (!flows) throw std::runtime_error(flows.error());
    all.insert(all.end(), flows->begin(), flows->end());
  }
  return all;
}

// As the datapath finds it.
inline std::optional<ll_roce_flow> find_flow(const Maps& maps, const ll_roce_key& key) {
  const std::uint64_t hash = ll_roce_hash(&key, maps.roce_config.get(0).value_or(ll_roce_config{}).seed);
  const std::uint32_t number = ll_roce_set_of(hash, maps.roce_set_count);
  const auto set = maps.roce_sets.get(number);
  for (std::uint32_t way = 0; set && way < LL_ROCE_WAYS; ++way) {
    if (ll_roce_tag(&*set, way) != ll_roce_tag_of(hash)) continue;
    const auto flow = maps.roce_flows.get(number * LL_ROCE_WAYS + way);
    if (flow && flow->live && ll_roce_key_same(&flow->key, &key)) return flow;
  }
  return std::nullopt;
}

// How many flows it forgot.
inline std::uint64_t forget_flows(const Maps& maps, const ll_roce_which& which = {}) {
  roce::FlowForgetting walk(maps, which);
  while (!walk.is_over())
    if (const auto done = walk.next(); !done) throw std::runtime_error(done.error());
  return walk.forgotten();
}

}  // namespace lossless::test
