// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "daemon/core/clock.h"
#include "daemon/net/qdisc_io.h"
#include "daemon/pfc/escape_io.h"
#include "daemon/pfc/gates_io.h"

namespace lossless::pfc {
namespace {

constexpr __u64 ll_pause::* kPauseMembers[] = {
    &ll_pause::since_ns,       &ll_pause::paused_ns, &ll_pause::transitions, &ll_pause::until_ns,
    &ll_pause::asked_since_ns, &ll_pause::asked_ns,  &ll_pause::last_ns,     &ll_pause::rx_frames};
constexpr __u64 ll_watchdog::* kWatchdogMembers[] = {&ll_watchdog::discarded, &ll_watchdog::emptied,
                                                     &ll_watchdog::off};

}  // namespace

Result<std::unique_ptr<PfcService>> PfcService::start(const Maps& maps, net::Netlink& netlink,
                                                      const std::string& escape_file) {
  std::unique_ptr<PfcService> self(new PfcService(maps, netlink, escape_file));
  if (auto mapped = self->map_rows(); !mapped) return std::unexpected(mapped.error());
  self->escape_ = load_escape(escape_file);
  if (self->escape_.on()) spdlog::warn("PFC is off on all ports (escape), as before");
  self->make_watchdogs();
  auto thread =
      PauseThread::start(maps.pfc_events, self->buffer_->rows(), self->buffer_->pools(), self->pause_);
  if (!thread) return std::unexpected(thread.error());
  self->thread_ = std::move(*thread);
  return self;
}

Status PfcService::map_rows() {
  auto buffer = BufferModel::map(maps_);
  if (!buffer) return std::unexpected(buffer.error());
  auto pause = SharedArray<ll_pause>::map(maps_.pause.fd(), LL_ROWS);
  if (!pause) return std::unexpected(pause.error());
  auto watchdog = SharedArray<ll_watchdog>::map(maps_.watchdog.fd(), LL_ROWS);
  if (!watchdog) return std::unexpected(watchdog.error());
  buffer_ = std::move(*buffer);
  pause_ = std::move(*pause);
  watchdog_ = std::move(*watchdog);
  return {};
}

void PfcService::make_watchdogs() {
  watchdogs_ = std::make_unique<WatchdogService>(
      WatchdogService::Rows{
          .pause = pause_, .mmu = buffer_->rows(), .watchdog = watchdog_, .frames = maps_.pfc_stats},
      WatchdogService::Orders{
          .changed =
              [this](std::uint32_t slot) {
                if (auto done = bring_to_force(slot); !done) spdlog::error("{}", done.error());
              },
          .empty_queue = [this](std::uint32_t slot, unsigned tc) { empty_queue(slot, tc); },
          .deadlock =
              [this](std::uint32_t slot, unsigned tc, bool on) {
                if (const PortInfo* port = this->port(slot); port && deadlock_) deadlock_(port->name, tc, on);
              }});
  watchdogs_->set_escape(escape_.on(), 0);
}

Status PfcService::set_port(const PortInfo& port) {
  PortInfo& known = ports_[port.slot];
  PortInfo wanted = port;
  wanted.withheld = known.withheld;
  if (known == wanted) return {};
  if (!wanted.up) note_down(wanted);
  known = wanted;
  TcMask lossless = 0;
  for (unsigned tc = 0; tc < kTcs; ++tc)
    if (port.plans[tc]) lossless = static_cast<TcMask>(lossless | (1U << tc));
  escape_.set_port(port.name, lossless);
  watchdogs_->set_port(wanted, monotonic_now());
  return bring_to_force(port.slot);
}

// The link is down, and with it whatever the peer had asked for.
void PfcService::note_down(const PortInfo& port) {
  for (unsigned tc = 0; tc < kTcs; ++tc)
    for (const auto member : {&ll_pause::until_ns, &ll_pause::asked_since_ns})
      pause_.at(LL_ROW(port.slot, tc), member).store(0, std::memory_order_relaxed);
}

// The thread first: it must know a port whose frames the datapath begins to tell it of.
Status PfcService::bring_to_force(std::uint32_t slot) {
  const auto at = ports_.find(slot);
  if (at == ports_.end()) return {};
  PortInfo& port = at->second;
  port.withheld = watchdogs_->withheld(slot);
  if (thread_) thread_->post(port);
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const std::uint32_t key = LL_ROW(slot, tc);
    const ll_pfc row = make_pfc_row(port.buffer[tc], port.in_force(tc), port.mac, port.rate_bps);
    const auto before = written_.find(key);
    if (before != written_.end() && std::memcmp(&before->second, &row, sizeof row) == 0) continue;
    if (auto ok = maps_.pfc.set(key, row); !ok) return ok;
    written_[key] = row;
  }
  return {};
}

void PfcService::empty_queue(std::uint32_t slot, unsigned tc) {
  const PortInfo* info = port(slot);
  if (!info) return;
  if (auto done = net::empty_leaf(netlink_, info->ifindex, tc, info->limits[tc]); !done)
    spdlog::error("port {}: {}", info->name, done.error());
}

void PfcService::remove_port(std::uint32_t slot) {
  const auto at = ports_.find(slot);
  if (at == ports_.end()) return;
  thread_->post(PauseThread::RemovePort{slot});
  watchdogs_->remove_port(slot);
  escape_.remove_port(at->second.name);
  ports_.erase(at);
}

void PfcService::clear_port(std::uint32_t slot) {
  buffer_->clear_port(slot);
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const std::uint32_t row = LL_ROW(slot, tc);
    for (const auto member : kPauseMembers) pause_.at(row, member).store(0, std::memory_order_relaxed);
    for (const auto member : kWatchdogMembers) watchdog_.at(row, member).store(0, std::memory_order_relaxed);
    written_.erase(row);
    (void)maps_.pfc.set(row, {});
  }
}

Status PfcService::open_unknown_gates() const {
  const auto closed = list_closed_gates(netlink_, maps_.ports, pause_);
  if (!closed) return std::unexpected(closed.error());
  for (const ClosedGate& gate : *closed) {
    if (gate.since_ns != 0) continue;
    if (auto opened = open_closed_gate(netlink_, gate); !opened) return opened;
  }
  return {};
}

Nanos PfcService::watch(Nanos now) {
  return watchdogs_->poll(now, [this] { return net::list_qdiscs(netlink_); });
}

Status PfcService::recover(const std::string& port, std::uint32_t slot, unsigned tc, Nanos now) {
  if (watchdogs_->recover(slot, tc, now)) return {};
  return fail("the watchdog withholds nothing from TC " + std::to_string(tc) + " of port " + port);
}

Status PfcService::set_escape(bool on, Nanos now) {
  if (on == escape_.on()) return {};
  Escape wanted = escape_;
  if (on) {
    std::map<std::string, TcMask> ports;
    for (const auto& [slot, info] : ports_) {
      unsigned mask = 0;
      for (unsigned tc = 0; tc < kTcs; ++tc)
        if (info.plans[tc]) mask |= 1U << tc;
      ports[info.name] = static_cast<TcMask>(mask);
    }
    wanted.turn_on(ports, static_cast<std::uint64_t>(std::time(nullptr)));
  } else {
    wanted.turn_off();
  }
  // What cannot be kept over a restart is not done.
  if (auto saved = save_escape(escape_file_, wanted); !saved) return saved;
  escape_ = std::move(wanted);
  spdlog::warn("PFC is {} by command (escape)", on ? "off on all ports" : "back on all ports");
  watchdogs_->set_escape(on, now);
  return {};
}

const PortInfo* PfcService::port(std::uint32_t slot) const {
  const auto at = ports_.find(slot);
  return at == ports_.end() ? nullptr : &at->second;
}

}  // namespace lossless::pfc
