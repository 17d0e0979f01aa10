// SPDX-License-Identifier: Apache-2.0
// Priority flow control and the buffer model as the daemon sees them: the datapath's rows, and the thread
// that acts on them. Owned by the event loop's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "daemon/pfc/buffer_model_io.h"
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

  void set_buffer(const BufferConfig& buffer) override { buffer_.set_sizes(buffer); }

  // Opens gates that are closed although no row says so: of a datapath whose maps were replaced. Call at the
  // start, when the ports are there.
  Status open_unknown_gates(net::Netlink& netlink, const Maps& maps) const;

  // See BufferModel.
  void heal(const BufferModel::ListQdiscs& qdiscs) { buffer_.heal(ports_, qdiscs); }

  const PortInfo* port(std::uint32_t slot) const;
  BufferModel& buffer() { return buffer_; }
  const SharedArray<ll_mmu>& mmu() const { return buffer_.rows(); }
  const SharedArray<ll_pool>& pools() const { return buffer_.pools(); }
  const SharedArray<ll_pause>& pause() const { return pause_; }
  const PauseThread& thread() const { return *thread_; }
  std::uint64_t healed() const { return buffer_.healed(); }

 private:
  PfcService(BufferModel buffer, SharedArray<ll_pause> pause)
      : buffer_(std::move(buffer)), pause_(std::move(pause)) {}

  BufferModel buffer_;
  SharedArray<ll_pause> pause_;
  std::map<std::uint32_t, PortInfo> ports_;
  std::unique_ptr<PauseThread> thread_;  // last: it uses the arrays
};

}  // namespace lossless::pfc
