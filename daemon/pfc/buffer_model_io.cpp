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

// Packets in the queues of these TCs (bit by bit).
std::uint64_t waiting(const std::vector<net::QdiscInfo>& qdiscs,
                      const std::map<std::uint32_t, PortInfo>& ports, unsigned tcs) {
  std::uint64_t packets = 0;
  for (const auto& [slot, port] : ports) {
    for (unsigned tc = 0; tc < kTcs; ++tc) {
      const auto* leaf = (tcs >> tc & 1) != 0 ? net::find_leaf(qdiscs, port.ifindex, tc) : nullptr;
      if (leaf) packets += leaf->backlog_packets;
    }
  }
  return packets;
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

// Takes off what was seen and not what is there now: packets may come in meanwhile.
void BufferModel::empty_row(std::uint32_t row, const Level& level, std::uint64_t guaranteed) {
  rows_.at(row, &ll_mmu::headroom).fetch_sub(level.headroom, kRelaxed);
  rows_.at(row, &ll_mmu::bytes).fetch_sub(level.bytes, kRelaxed);
  take(LL_POOL_HEADROOM, level.headroom);
  take(LL_POOL_SHARED, ll_shared_part(level.bytes, guaranteed));
  take(LL_POOL_GUARANTEED, ll_guaranteed_part(level.bytes, guaranteed));
  rows_.at(row, &ll_mmu::xoff).store(0, kRelaxed);
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

BufferModel::Levels BufferModel::read_levels(const std::map<std::uint32_t, PortInfo>& ports) const {
  Levels levels;
  for (const auto& [slot, port] : ports) {
    for (unsigned tc = 0; tc < kTcs; ++tc) {
      const std::uint32_t row = LL_ROW(slot, tc);
      const Level level{.bytes = rows_.get(row, &ll_mmu::bytes),
                        .headroom = rows_.get(row, &ll_mmu::headroom)};
      if (level != Level{}) levels[row] = level;
    }
  }
  return levels;
}

// A list of qdiscs holds a lock that gates need: rows that stand still for long, in a pause, are looked at at
// growing intervals.
bool BufferModel::is_due(bool nothing_moved) {
  if (!nothing_moved) interval_ = looks_left_ = 1;
  if (--looks_left_ > 0) return false;
  looks_left_ = interval_ = std::min(interval_ * 2, kMaxInterval);
  return true;
}

void BufferModel::heal(const std::map<std::uint32_t, PortInfo>& ports, const ListQdiscs& qdiscs) {
  const Levels levels = read_levels(ports);
  const Levels before = std::exchange(standing_, levels);
  if (levels == before) {
    heal_pools(ports, levels);
  } else {
    too_much_ = {};
  }
  std::vector<std::uint32_t> still;
  for (const auto& [row, level] : levels)
    if (const auto at = before.find(row); at != before.end() && at->second == level) still.push_back(row);
  if (still.empty() || !is_due(levels == before)) return;
  const auto list = qdiscs();
  if (!list) return spdlog::error("{}", list.error());
  for (const std::uint32_t row : still) {
    if (waiting(*list, ports, 1U << row % LL_TCS | moved_tcs_) > 0) continue;
    const Level& level = levels.at(row);
    empty_row(row, level, guaranteed_of(ports, row));
    healed_++;
    spdlog::debug("buffer model: {} bytes of row {} were in no queue", level.bytes + level.headroom, row);
  }
}

// Ports that went, and guarantees that changed, leave something behind in the pools.
void BufferModel::heal_pools(const std::map<std::uint32_t, PortInfo>& ports, const Levels& levels) {
  Sums sums{};
  for (const auto& [row, level] : levels) {
    const std::uint64_t guaranteed = guaranteed_of(ports, row);
    sums[LL_POOL_GUARANTEED] += ll_guaranteed_part(level.bytes, guaranteed);
    sums[LL_POOL_SHARED] += ll_shared_part(level.bytes, guaranteed);
    sums[LL_POOL_HEADROOM] += level.headroom;
  }
  for (unsigned pool = 0; pool < LL_POOLS; ++pool) {
    const std::uint64_t too_much = pools_.get(pool, &ll_pool::used) - sums[pool];
    const bool is_drift = too_much != 0 && too_much == too_much_[pool];
    too_much_[pool] = is_drift ? 0 : too_much;
    if (is_drift) take(pool, too_much);
  }
}

}  // namespace lossless::pfc
