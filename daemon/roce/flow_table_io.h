// SPDX-License-Identifier: Apache-2.0
// The kernel's flow table, read piece by piece: nobody ever holds a copy of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/roce/flow_query.h"
#include "loader/result.h"

namespace lossless::roce {

// One walk through the table. Rows that come and go meanwhile may be missed or be seen twice. Any thread.
class FlowWalk {
 public:
  // Borrows the descriptor of the map `roce_flows`.
  explicit FlowWalk(int fd) : fd_(fd) {}

  // The next rows, some thousands; empty at the end.
  Result<std::span<const Flow>> next();
  bool is_over() const { return over_; }

 private:
  int fd_;
  bool begun_ = false;
  bool over_ = false;
  std::uint32_t cursor_ = 0;
  std::vector<ll_roce_key> keys_;
  std::vector<ll_roce_flow> values_;
  std::vector<Flow> flows_;
};

// Forgets the flows that match; returns how many. Their connections' pairs stay known.
Result<std::uint64_t> clear_flows(int fd, const FlowFilter& filter);

}  // namespace lossless::roce
