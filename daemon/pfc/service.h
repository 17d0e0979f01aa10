// SPDX-License-Identifier: Apache-2.0
// Priority flow control and the buffer model as the daemon sees them: the datapath's rows, the thread that
// acts on them, the deadlock watchdogs and the escape. Owned by the event loop's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

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
  void set_moved_tcs(std::uint8_t tcs) override { moved_tcs_ = tcs; }

  // Call every few hundredths of a second. A counter that stood still since the last call while every queue
  // of its TC, and of those that hook flows are moved into, is empty has drifted: it becomes 0. Queues are
  // looked at only when a counter stood still.
  void heal();
  // Runs the deadlock watchdogs and the alarms; call again at the time (CLOCK_MONOTONIC) it returns.
  Nanos watch(Nanos now);
  // An operator gives a TC the PFC back that its watchdog withholds. The error says that it does not.
  Status recover(const std::string& port, std::uint32_t slot, unsigned tc, Nanos now);
  // PFC off on all ports, or back as it is configured. Asked for what is so already, it changes nothing.
  Status set_escape(bool on, Nanos now);
  const Escape& escape() const { return escape_; }
  // The daemon ends: whatever drops packets stops.
  void stop(Nanos now) { watchdogs_->stop(now); }
  // Called for each deadlock found (on), and when it is over.
  void on_deadlock(std::function<void(const std::string& port, unsigned tc, bool on)> listener) {
    deadlock_ = std::move(listener);
  }
  // Highest levels start from now. `slot` of the port.
  void clear_watermarks(std::uint32_t slot);

  const PortInfo* port(std::uint32_t slot) const;
  const SharedArray<ll_mmu>& mmu() const { return mmu_; }
  const SharedArray<ll_pause>& pause() const { return pause_; }
  const SharedArray<ll_watchdog>& watchdog() const { return watchdog_; }
  const WatchdogService& watchdogs() const { return *watchdogs_; }
  const PauseThread& thread() const { return *thread_; }
  std::uint64_t healed() const { return healed_; }

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
  SharedArray<ll_mmu> mmu_;
  SharedArray<ll_pause> pause_;
  SharedArray<ll_watchdog> watchdog_;
  Escape escape_;
  std::function<void(const std::string&, unsigned, bool)> deadlock_;
  std::map<std::uint32_t, PortInfo> ports_;
  std::map<std::uint32_t, ll_pfc> written_;          // rows as the datapath has them
  std::map<std::uint32_t, std::uint64_t> standing_;  // rows that held something at the last look
  std::uint64_t healed_ = 0;
  std::uint8_t moved_tcs_ = 0;
  std::unique_ptr<WatchdogService> watchdogs_;
  std::unique_ptr<PauseThread> thread_;  // last: it uses the arrays
};

}  // namespace lossless::pfc
