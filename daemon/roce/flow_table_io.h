// SPDX-License-Identifier: Apache-2.0
// The kernel's flow table, read piece by piece: nobody ever holds a copy of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/roce/flow_query.h"
#include "loader/datapath_io.h"
#include "loader/result.h"

namespace lossless::roce {

// One walk through the table. Rows that come and go meanwhile may be missed or be seen twice. Any thread.
class FlowWalk {
 public:
  // Borrows the descriptor of the map `roce_flows`.
  explicit FlowWalk(int fd) : fd_(fd) {}

  // The next flows, up to some thousands; empty at the end.
  Result<std::span<const Flow>> next();
  bool is_over() const { return over_; }

 private:
  int fd_;
  bool begun_ = false;
  bool over_ = false;
  std::uint32_t cursor_ = 0;
  std::vector<std::uint32_t> rows_;
  std::vector<Flow> flows_;
};

// A walk that forgets the flows that match. The kernel does all of it; no row is copied. Their connections'
// pairs stay known. Any thread.
class FlowForgetting {
 public:
  FlowForgetting(const Maps& maps, const ll_roce_which& which)
      : program_(maps.roce_forget),
        sets_(maps.roce_set_count),
        call_{.which = which, .first = 0, .count = 0, .forgotten = 0} {}

  // Goes over the next flows, some ten thousand.
  Status next();
  bool is_over() const { return call_.first >= sets_; }
  std::uint64_t forgotten() const { return call_.forgotten; }

 private:
  int program_;
  std::uint32_t sets_;
  ll_roce_forget call_;
};

}  // namespace lossless::roce
