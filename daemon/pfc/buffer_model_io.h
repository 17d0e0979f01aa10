// SPDX-License-Identifier: Apache-2.0
// The buffer model's counters, shared with the datapath: rows of (port, TC) and the pools. Owned by the event
// loop's thread; the PFC thread reads and changes single members.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/net/qdisc_io.h"
#include "daemon/pfc/drift.h"
#include "daemon/pfc/grace_period_io.h"
#include "daemon/pfc/port.h"
#include "loader/datapath_io.h"
#include "loader/shared_array.h"

namespace lossless::pfc {

class BufferModel {
 public:
  static Result<BufferModel> map(const Maps& maps);

  void set_sizes(const BufferConfig& config);
  // The rows of a port start anew; heal() then finds what they held in the pools.
  void clear_port(std::uint32_t slot);
  // Highest levels and over-limit counts start from now.
  void clear_watermarks(std::uint32_t slot);
  void clear_pool_watermarks();

  // TCs (bit by bit) into whose queues packets of other TCs are moved; they count in the TC they came in.
  void set_moved_tcs(std::uint8_t tcs) { moved_tcs_ = tcs; }

  using ListQdiscs = std::function<Result<std::vector<net::QdiscInfo>>()>;
  // Call every few hundredths of a second. A row that has drifted (see DriftWatch) becomes 0, and a pool that
  // is not the sum of its rows while all rows stand still is set right. `qdiscs` is asked only when a row
  // stood still, less and less often when nothing moves at all.
  void heal(const std::map<std::uint32_t, PortInfo>& ports, const ListQdiscs& qdiscs);
  std::uint64_t healed() const { return healed_; }

  const SharedArray<ll_mmu>& rows() const { return rows_; }
  const SharedArray<ll_pool>& pools() const { return pools_; }

 private:
  using Levels = std::map<std::uint32_t, Level>;  // of the rows that hold something

  BufferModel(SharedArray<ll_mmu> rows, SharedArray<ll_pool> pools)
      : rows_(std::move(rows)), pools_(std::move(pools)) {}
  Level read_level(std::uint32_t row) const;
  Levels read_levels(const std::map<std::uint32_t, PortInfo>& ports) const;
  // False when it moved meanwhile.
  bool empty_row(std::uint32_t row, const Level& level, std::uint64_t guaranteed);
  void heal_rows(const std::map<std::uint32_t, PortInfo>& ports, const Levels& still,
                 const ListQdiscs& qdiscs);
  void heal_pools(const std::map<std::uint32_t, PortInfo>& ports, const Levels& levels);
  bool is_due(bool nothing_moved);
  void take(unsigned pool, std::uint64_t bytes);

  SharedArray<ll_mmu> rows_;
  SharedArray<ll_pool> pools_;
  Levels standing_;  // at the last look
  DriftWatch drift_;
  GracePeriodWaiter grace_periods_;
  std::uint8_t moved_tcs_ = 0;
  unsigned interval_ = 1, looks_left_ = 1;
  std::uint64_t healed_ = 0;
};

}  // namespace lossless::pfc
