// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/service.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "daemon/pfc/gates_io.h"

namespace lossless::pfc {
namespace {

constexpr __u64 ll_pause::* kPauseMembers[] = {&ll_pause::since_ns,  &ll_pause::until_ns,
                                               &ll_pause::paused_ns, &ll_pause::transitions,
                                               &ll_pause::last_ns,   &ll_pause::rx_frames};

}  // namespace

Result<std::unique_ptr<PfcService>> PfcService::start(const Maps& maps) {
  auto buffer = BufferModel::map(maps);
  if (!buffer) return std::unexpected(buffer.error());
  auto pause = SharedArray<ll_pause>::map(maps.pause.fd(), LL_ROWS);
  if (!pause) return std::unexpected(pause.error());
  std::unique_ptr<PfcService> self(new PfcService(std::move(*buffer), std::move(*pause)));
  auto thread = PauseThread::start(maps.pfc_events, self->buffer_.rows(), self->buffer_.pools(), self->pause_);
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
  buffer_.clear_port(slot);
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    for (const auto member : kPauseMembers)
      pause_.at(LL_ROW(slot, tc), member).store(0, std::memory_order_relaxed);
  }
}

Status PfcService::open_unknown_gates(net::Netlink& netlink, const Maps& maps) const {
  const auto closed = list_closed_gates(netlink, maps.ports, pause_);
  if (!closed) return std::unexpected(closed.error());
  for (const ClosedGate& gate : *closed) {
    if (gate.since_ns != 0) continue;
    if (auto opened = open_closed_gate(netlink, gate); !opened) return opened;
  }
  return {};
}

const PortInfo* PfcService::port(std::uint32_t slot) const {
  const auto at = ports_.find(slot);
  return at == ports_.end() ? nullptr : &at->second;
}

}  // namespace lossless::pfc
