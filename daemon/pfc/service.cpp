// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/service.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace lossless::pfc {
namespace {

constexpr __u64 ll_mmu::* kMmuMembers[] = {&ll_mmu::bytes,      &ll_mmu::peak,  &ll_mmu::egress_peak,
                                           &ll_mmu::over_limit, &ll_mmu::xoff,  &ll_mmu::xoff_ns,
                                           &ll_mmu::tx_xoff,    &ll_mmu::tx_xon};
constexpr __u64 ll_pause::* kPauseMembers[] = {&ll_pause::since_ns,  &ll_pause::until_ns,
                                               &ll_pause::paused_ns, &ll_pause::transitions,
                                               &ll_pause::last_ns,   &ll_pause::rx_frames};

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

}  // namespace

Result<std::unique_ptr<PfcService>> PfcService::start(const Maps& maps) {
  auto mmu = SharedArray<ll_mmu>::map(maps.mmu.fd(), LL_ROWS);
  if (!mmu) return std::unexpected(mmu.error());
  auto pause = SharedArray<ll_pause>::map(maps.pause.fd(), LL_ROWS);
  if (!pause) return std::unexpected(pause.error());
  std::unique_ptr<PfcService> self(new PfcService(std::move(*mmu), std::move(*pause)));
  auto thread = PauseThread::start(maps.pfc_events, self->mmu_, self->pause_);
  if (!thread) return std::unexpected(thread.error());
  self->thread_ = std::move(*thread);
  return self;
}

void PfcService::set_port(const PortInfo& port) {
  const auto at = ports_.find(port.slot);
  if (at != ports_.end() && at->second == port) return;
  ports_[port.slot] = port;
  thread_->post(port);
}

void PfcService::remove_port(std::uint32_t slot) {
  if (ports_.erase(slot)) thread_->post(PauseThread::RemovePort{slot});
}

void PfcService::clear_port(std::uint32_t slot) {
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    for (const auto member : kMmuMembers)
      mmu_.at(LL_ROW(slot, tc), member).store(0, std::memory_order_relaxed);
    for (const auto member : kPauseMembers)
      pause_.at(LL_ROW(slot, tc), member).store(0, std::memory_order_relaxed);
  }
}

const PortInfo* PfcService::port(std::uint32_t slot) const {
  const auto at = ports_.find(slot);
  return at == ports_.end() ? nullptr : &at->second;
}

void PfcService::heal(const std::function<Result<std::vector<net::QdiscInfo>>()>& qdiscs) {
  std::map<std::uint32_t, std::uint64_t> now;
  std::vector<std::uint32_t> still;
  for (const auto& [slot, port] : ports_) {
    for (unsigned tc = 0; tc < kTcs; ++tc) {
      const std::uint32_t row = LL_ROW(slot, tc);
      const std::uint64_t bytes = mmu_.get(row, &ll_mmu::bytes);
      if (bytes == 0) continue;
      now[row] = bytes;
      if (const auto before = standing_.find(row); before != standing_.end() && before->second == bytes)
        still.push_back(row);
    }
  }
  standing_ = std::move(now);
  if (still.empty()) return;
  const auto list = qdiscs();
  if (!list) return spdlog::error("{}", list.error());
  for (const std::uint32_t row : still) {
    if (waiting(*list, ports_, 1U << row % kTcs | moved_tcs_) > 0) continue;
    mmu_.at(row, &ll_mmu::bytes).fetch_sub(standing_[row], std::memory_order_relaxed);
    mmu_.at(row, &ll_mmu::xoff).store(0, std::memory_order_relaxed);
    healed_++;
    spdlog::debug("buffer model: {} bytes of row {} were in no queue", standing_[row], row);
  }
}

void PfcService::clear_watermarks(std::uint32_t slot) {
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const std::uint32_t row = LL_ROW(slot, tc);
    mmu_.at(row, &ll_mmu::peak).store(mmu_.get(row, &ll_mmu::bytes), std::memory_order_relaxed);
    mmu_.at(row, &ll_mmu::egress_peak).store(0, std::memory_order_relaxed);
    mmu_.at(row, &ll_mmu::over_limit).store(0, std::memory_order_relaxed);
  }
}

}  // namespace lossless::pfc
