// SPDX-License-Identifier: Apache-2.0
// Priority flow control and the buffer model as the daemon sees them: the datapath's rows, the thread that
// acts on them, the deadlock watchdogs and the escape. Owned by the event loop's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "daemon/pfc/buffer_model_io.h"
#include "daemon/pfc/port.h"
#include "daemon/pfc/thread_io.h"
#include "daemon/pfc/watchdog_escape.h"
#include "daemon/pfc/watchdog_service.h"
#include "loader/datapath_io.h"

namespace lossless::pfc {

class PfcService final : public PortSink {
 public:
  // `escape_file` keeps the escape's state; `netlink` is borrowed.
  static Result<std::unique_ptr<PfcService>> start(const Maps& maps, net::Netlink& netlink,
                                                   const std::string& escape_file);

  Status set_port(const PortInfo& port) override;
  void remove_port(std::uint32_t slot) override;
  void clear_port(std::uint32_t slot) override;
  void set_moved_tcs(std::uint8_t tcs) override { buffer_->set_moved_tcs(tcs); }

  void set_buffer(const BufferConfig& buffer) override { buffer_->set_sizes(buffer); }

  // Opens gates that are closed although no row says so: of a datapath whose maps were replaced. Call at the
  // start, when the ports are there.
  Status open_unknown_gates() const;

  // See BufferModel.
  void heal() {
    buffer_->heal(ports_, [this] { return net::list_qdiscs(netlink_); });
  }
  // Runs the deadlock watchdogs and the alarms; call again at the time (CLOCK_MONOTONIC) it returns.
  Nanos watch(Nanos now);
  // An operator gives a TC the PFC back that its watchdog withholds. The error says that it does not.
  Status recover(const std::string& port, std::uint32_t slot, unsigned tc, Nanos now);
  // PFC off on all ports, or back as it is configured. Asked for what is so already, it changes nothing.
  Status set_escape(bool on, Nanos now);
  const Escape& escape() const { return escape_; }
  // See WatchdogService.
  void set_hardware(std::uint32_t slot, const HardwarePfc& counters) {
    watchdogs_->set_hardware(slot, counters);
  }
  // The daemon ends: whatever drops packets stops.
  void stop(Nanos now) { watchdogs_->stop(now); }
  // Called for each deadlock found (on), and when it is over.
  void on_deadlock(std::function<void(const std::string& port, unsigned tc, bool on)> listener) {
    deadlock_ = std::move(listener);
  }

  const PortInfo* port(std::uint32_t slot) const;
  BufferModel& buffer() { return *buffer_; }
  const SharedArray<ll_mmu>& mmu() const { return buffer_->rows(); }
  const SharedArray<ll_pool>& pools() const { return buffer_->pools(); }
  const SharedArray<ll_pause>& pause() const { return pause_; }
  const SharedArray<ll_watchdog>& watchdog() const { return watchdog_; }
  const WatchdogService& watchdogs() const { return *watchdogs_; }
  const PauseThread& thread() const { return *thread_; }
  std::uint64_t healed() const { return buffer_->healed(); }

 private:
  PfcService(const Maps& maps, net::Netlink& netlink, std::string escape_file)
      : maps_(maps), netlink_(netlink), escape_file_(std::move(escape_file)) {}
  Status map_rows();
  void make_watchdogs();
  Status bring_to_force(std::uint32_t slot);
  void empty_queue(std::uint32_t slot, unsigned tc);
  void note_down(const PortInfo& port);

  const Maps& maps_;
  net::Netlink& netlink_;
  std::string escape_file_;
  std::optional<BufferModel> buffer_;  // there once start() has mapped it
  SharedArray<ll_pause> pause_;
  SharedArray<ll_watchdog> watchdog_;
  Escape escape_;
  std::function<void(const std::string&, unsigned, bool)> deadlock_;
  std::map<std::uint32_t, PortInfo> ports_;
  std::map<std::uint32_t, ll_pfc> written_;  // rows as the datapath has them
  std::unique_ptr<WatchdogService> watchdogs_;
  std::unique_ptr<PauseThread> thread_;  // last: it uses the arrays
};

}  // namespace lossless::pfc
