// SPDX-License-Identifier: Apache-2.0
// Priority flow control and the buffer model as the daemon sees them: the datapath's rows, and the thread
// that acts on them. Owned by the event loop's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "daemon/net/qdisc_io.h"
#include "daemon/pfc/port.h"
#include "daemon/pfc/thread_io.h"
#include "loader/datapath_io.h"

namespace lossless::pfc {

class PfcService final : public PortSink {
 public:
  static Result<std::unique_ptr<PfcService>> start(const Maps& maps);

  void set_port(const PortInfo& port) override;
  void remove_port(std::uint32_t slot) override;
  void clear_port(std::uint32_t slot) override;
  void set_moved_tcs(std::uint8_t tcs) override { moved_tcs_ = tcs; }

  // Call every few hundredths of a second. A counter that stood still since the last call while every queue
  // of its TC, and of those that hook flows are moved into, is empty has drifted: it becomes 0. `qdiscs` is asked only when a counter stood still.
  void heal(const std::function<Result<std::vector<net::QdiscInfo>>()>& qdiscs);
  // Highest levels start from now. `slot` of the port.
  void clear_watermarks(std::uint32_t slot);

  const PortInfo* port(std::uint32_t slot) const;
  const SharedArray<ll_mmu>& mmu() const { return mmu_; }
  const SharedArray<ll_pause>& pause() const { return pause_; }
  const PauseThread& thread() const { return *thread_; }
  std::uint64_t healed() const { return healed_; }

 private:
  PfcService(SharedArray<ll_mmu> mmu, SharedArray<ll_pause> pause)
      : mmu_(std::move(mmu)), pause_(std::move(pause)) {}

  SharedArray<ll_mmu> mmu_;
  SharedArray<ll_pause> pause_;
  std::map<std::uint32_t, PortInfo> ports_;
  std::map<std::uint32_t, std::uint64_t> standing_;  // rows that held something at the last look
  std::uint64_t healed_ = 0;
  std::uint8_t moved_tcs_ = 0;
  std::unique_ptr<PauseThread> thread_;  // last: it uses the arrays
};

}  // namespace lossless::pfc
