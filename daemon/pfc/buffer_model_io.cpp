// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/buffer_model_io.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "bpf/stages/mmu.h"

namespace lossless::pfc {
namespace {

constexpr unsigned kMaxInterval = 8;  // calls
constexpr auto kRelaxed = std::memory_order_relaxed;

constexpr __u64 ll_mmu::* kMembers[] = {
    &ll_mmu::bytes,       &ll_mmu::headroom, &ll_mmu::peak,    &ll_mmu::headroom_peak,
    &ll_mmu::egress_peak, &ll_mmu::xoff,     &ll_mmu::xoff_ns, &ll_mmu::over_limit,
    &ll_mmu::dropped,     &ll_mmu::tx_xoff,  &ll_mmu::tx_xon,  &ll_mmu::discard_until_ns};

// The queues of these TCs (bit by bit) of all ports. A packet that the device did not take goes back to the
// root and is in no leaf; it counts for all TCs, since nothing tells of which it is.
Queues queues_of(const std::vector<net::QdiscInfo>& qdiscs, const std::map<std::uint32_t, PortInfo>& ports,
                 unsigned tcs) {
  Queues queues;
  for (const auto& [slot, port] : ports) {
    std::uint64_t in_leaves = 0;
    for (unsigned tc = 0; tc < kTcs; ++tc) {
      const auto* leaf = net::find_leaf(qdiscs, port.ifindex, tc);
      if (!leaf) continue;
      in_leaves += leaf->backlog_packets;
      if ((tcs >> tc & 1) == 0) continue;
      queues.waiting += leaf->backlog_packets;
      queues.passed += leaf->sent_packets + leaf->dropped_packets;
    }
    const auto* root = net::find_root(qdiscs, port.ifindex);
    if (root && net::is_ours(*root) && root->backlog_packets > in_leaves)
      queues.waiting += root->backlog_packets - in_leaves;
  }
  return queues;
}

std::uint64_t guaranteed_of(const std::map<std::uint32_t, PortInfo>& ports, std::uint32_t row) {
  const auto at = ports.find(row / LL_TCS);
  return at == ports.end() ? 0 : at->second.buffer[row % LL_TCS].guaranteed_bytes;
}

}  // namespace

Result<BufferModel> BufferModel::map(const Maps& maps) {
  auto rows = SharedArray<ll_mmu>::map(maps.mmu.fd(), LL_ROWS);
  if (!rows) return std::unexpected(rows.error());
  auto pools = SharedArray<ll_pool>::map(maps.pools.fd(), LL_POOLS);
  if (!pools) return std::unexpected(pools.error());
  return BufferModel(std::move(*rows), std::move(*pools));
}

void BufferModel::set_sizes(const BufferConfig& config) {
  pools_.at(LL_POOL_SHARED, &ll_pool::size).store(config.shared_bytes, kRelaxed);
  pools_.at(LL_POOL_HEADROOM, &ll_pool::size).store(config.headroom_bytes, kRelaxed);
}

void BufferModel::take(unsigned pool, std::uint64_t bytes) {
  if (bytes) pools_.at(pool, &ll_pool::used).fetch_sub(bytes, kRelaxed);
}

// Only what still is as it was seen: a level that moved is none that stands still, and taken off blindly it
// could go below 0.
bool BufferModel::empty_row(std::uint32_t row, const Level& level, std::uint64_t guaranteed) {
  const auto emptied = [&](__u64 ll_mmu::* member, __u64 seen) {
    return rows_.at(row, member).compare_exchange_strong(seen, 0, kRelaxed);
  };
  if (!emptied(&ll_mmu::headroom, level.headroom)) return false;
  take(LL_POOL_HEADROOM, level.headroom);
  if (!emptied(&ll_mmu::bytes, level.bytes)) return false;
  take(LL_POOL_SHARED, ll_shared_part(level.bytes, guaranteed));
  take(LL_POOL_GUARANTEED, ll_guaranteed_part(level.bytes, guaranteed));
  rows_.at(row, &ll_mmu::xoff).store(0, kRelaxed);
  return true;
}

void BufferModel::clear_port(std::uint32_t slot) {
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    for (const auto member : kMembers) rows_.at(LL_ROW(slot, tc), member).store(0, kRelaxed);
  }
}

void BufferModel::clear_watermarks(std::uint32_t slot) {
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const std::uint32_t row = LL_ROW(slot, tc);
    const std::uint64_t headroom = rows_.get(row, &ll_mmu::headroom);
    rows_.at(row, &ll_mmu::peak).store(rows_.get(row, &ll_mmu::bytes) + headroom, kRelaxed);
    rows_.at(row, &ll_mmu::headroom_peak).store(headroom, kRelaxed);
    rows_.at(row, &ll_mmu::egress_peak).store(0, kRelaxed);
    rows_.at(row, &ll_mmu::over_limit).store(0, kRelaxed);
  }
}

void BufferModel::clear_pool_watermarks() {
  for (unsigned pool = 0; pool < LL_POOLS; ++pool) {
    pools_.at(pool, &ll_pool::peak).store(pools_.get(pool, &ll_pool::used), kRelaxed);
    pools_.at(pool, &ll_pool::over_limit).store(0, kRelaxed);
  }
}

Level BufferModel::read_level(std::uint32_t row) const {
  return {.bytes = rows_.get(row, &ll_mmu::bytes), .headroom = rows_.get(row, &ll_mmu::headroom)};
}

BufferModel::Levels BufferModel::read_levels(const std::map<std::uint32_t, PortInfo>& ports) const {
  Levels levels;
  for (const auto& [slot, port] : ports) {
    for (unsigned tc = 0; tc < kTcs; ++tc) {
      const Level level = read_level(LL_ROW(slot, tc));
      if (level != Level{}) levels[LL_ROW(slot, tc)] = level;
    }
  }
  return levels;
}

// A list of qdiscs holds a lock that gates need: rows that stand still for long, in a pause, are looked at at
// growing intervals, until one of them is suspected.
bool BufferModel::is_due(bool nothing_moved) {
  if (!nothing_moved || drift_.suspects_rows()) interval_ = looks_left_ = 1;
  if (--looks_left_ > 0) return false;
  looks_left_ = interval_ = std::min(interval_ * 2, kMaxInterval);
  return true;
}

void BufferModel::heal(const std::map<std::uint32_t, PortInfo>& ports, const ListQdiscs& qdiscs) {
  const Levels levels = read_levels(ports);
  const Levels before = std::exchange(standing_, levels);
  if (levels == before)
    heal_pools(ports, levels);
  else
    drift_.forget_pools();
  Levels still;
  for (const auto& [row, level] : levels)
    if (const auto at = before.find(row); at != before.end() && at->second == level) still[row] = level;
  if (still.empty() || is_due(levels == before)) heal_rows(ports, still, qdiscs);
  if (drift_.suspects()) grace_periods_.begin();
}

void BufferModel::heal_rows(const std::map<std::uint32_t, PortInfo>& ports, const Levels& still,
                            const ListQdiscs& qdiscs) {
  const GracePeriods periods = grace_periods_.now();
  DriftWatch::Looks looks;
  if (!still.empty()) {
    const auto list = qdiscs();
    if (!list) return spdlog::error("{}", list.error());
    for (const auto& [row, level] : still)
      looks[row] = {level, read_level(row), queues_of(*list, ports, 1U << row % LL_TCS | moved_tcs_)};
  }
  for (const std::uint32_t row : drift_.rows(looks, periods)) {
    const Level& level = still.at(row);
    if (!empty_row(row, level, guaranteed_of(ports, row))) continue;
    healed_++;
    spdlog::debug("buffer model: {} bytes of row {} were in no queue", level.bytes + level.headroom, row);
  }
}

// Ports that went, and guarantees that changed, leave something behind in the pools.
void BufferModel::heal_pools(const std::map<std::uint32_t, PortInfo>& ports, const Levels& levels) {
  DriftWatch::Sums sums{};
  for (const auto& [row, level] : levels) {
    const std::uint64_t guaranteed = guaranteed_of(ports, row);
    sums[LL_POOL_GUARANTEED] += ll_guaranteed_part(level.bytes, guaranteed);
    sums[LL_POOL_SHARED] += ll_shared_part(level.bytes, guaranteed);
    sums[LL_POOL_HEADROOM] += level.headroom;
  }
  DriftWatch::Sums too_much{};
  for (unsigned pool = 0; pool < LL_POOLS; ++pool)
    too_much[pool] = pools_.get(pool, &ll_pool::used) - sums[pool];
  const DriftWatch::Sums drift = drift_.pools(too_much, grace_periods_.now());
  for (unsigned pool = 0; pool < LL_POOLS; ++pool) take(pool, drift[pool]);
}

}  // namespace lossless::pfc
