// SPDX-License-Identifier: Apache-2.0
// The host agent on the daemon's event loop: frames of managed ports, addresses, hooks as processes.
#pragma once

#include <asio/io_context.hpp>
#include <optional>
#include <vector>

#include "daemon/core/wake_timer.h"
#include "daemon/inof/frame_io.h"
#include "daemon/inof/host_agent.h"
#include "daemon/inof/host_hook_io.h"
#include "daemon/port/service.h"

namespace lossless::inof {

class HostService {
 public:
  HostService(asio::io_context& loop, net::Netlink& netlink);

  // Runs with role = "host", and does nothing otherwise. Call after each configure() or reconcile() of the
  // ports, and when addresses changed. When only the daemon ends, nothing is withdrawn: switches keep the
  // host for 120 s, and its paths stay.
  void apply(const Config& config, const std::vector<port::Port>& ports);

  bool enabled() const { return enabled_; }
  const HostAgent& agent() const { return agent_; }

 private:
  void start_hook(std::uint64_t run, const HookEvent& event);
  void on_frame(const net::PortRef& port, ByteView frame);
  void on_hook_end(std::uint64_t run, const HookResult& result);
  void find_addresses(const std::vector<port::Port>& ports);
  void schedule();

  net::Netlink& netlink_;
  WakeTimer timer_;
  bool enabled_ = false;
  FrameIo frames_;
  HostAgent agent_;
  HookProcesses hooks_;
};

}  // namespace lossless::inof
