// SPDX-License-Identifier: Apache-2.0
// The LLDP agent on the daemon's event loop: frames of managed ports, timers, ports that come and go.
#pragma once

#include <asio/io_context.hpp>
#include <string>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/core/wake_timer.h"
#include "daemon/lldp/local.h"
#include "daemon/net/port_frames_io.h"
#include "daemon/port/service.h"

namespace lossless::lldp {

class LldpService {
 public:
  LldpService(asio::io_context& loop, net::Netlink& netlink);

  // Brings agent and sockets to the configuration and to what there is of its ports. Call after each
  // configure() or reconcile() of the ports, and when addresses changed.
  void apply(const Config& config, const std::vector<port::Port>& ports);
  // All ports say goodbye: the datapath is given back. Not when only the daemon ends, since the ports work
  // on.
  void leave();

  // For other subjects: subscribe() and set_org_tlvs() at any time.
  Agent& agent() { return agent_; }
  const Agent& agent() const { return agent_; }
  const LldpConfig& config() const { return config_; }
  // Frames that the kernel had no room for.
  std::uint64_t frames_lost(int ifindex) { return frames_.lost(ifindex); }

 private:
  void on_frame(const net::PortRef& port, ByteView frame);
  void log_event(const Event& event) const;
  void open_ports(const std::vector<port::Port>& ports);
  void tell_agent(const std::vector<port::Port>& ports);
  void schedule();

  net::Netlink& netlink_;
  WakeTimer timer_;
  LldpConfig config_;
  Machine machine_;
  net::PortFrames frames_;
  Agent agent_;
  Mac chassis_{};
};

}  // namespace lossless::lldp
