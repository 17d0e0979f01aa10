// SPDX-License-Identifier: Apache-2.0
// DCQCN of a host on the daemon's event loop: rows as configured, the RDMA stack's QPs, entries that are
// idle. The packets' own path is in bpf/dcqcn_ingress.h and bpf/dcqcn_egress.h.
#pragma once

#include <bpf/libbpf.h>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/wake_timer.h"
#include "daemon/dcqcn/rdma_io.h"
#include "daemon/port/service.h"

namespace lossless::dcqcn {

struct Flow {
  ll_rp_key key;
  ll_rp_flow state;  // brought up to now
};

class DcqcnService {
 public:
  DcqcnService(asio::io_context& loop, const port::PortService& ports);

  // Runs with role = "host" and [dcqcn] on, and does nothing otherwise. Call after each configure() or
  // reconcile() of the ports.
  void apply();

  const port::PortService& ports() const { return ports_; }
  // Why there are no QPs to be known; empty: there is an RDMA stack.
  const std::string& no_rdma() const { return no_rdma_; }
  // Why CNPs slow nothing down; empty: they do.
  std::string no_rp() const;
  std::size_t known_qps() const { return known_.size(); }
  ll_host_stats stats(const port::Port& port) const { return maps().host_stats.sum(port.slot); }
  std::vector<Flow> flows() const;

 private:
  static constexpr auto kRefresh = std::chrono::seconds(1);
  static constexpr auto kSoon = std::chrono::milliseconds(10);  // many unknown QPs at once are one look
  static constexpr auto kIdle = std::chrono::seconds(10);

  const Maps& maps() const { return ports_.maps(); }
  void start();
  void stop();
  void write_rows();
  void wait_for_events();
  void schedule(std::chrono::steady_clock::duration delay);
  void refresh();
  void follow_qps();
  void drop_idle_flows();

  asio::io_context& loop_;
  const port::PortService& ports_;
  WakeTimer timer_;
  bool enabled_ = false;
  bool asked_ = false;  // a look at the QPs is due soon
  std::string no_rdma_;
  std::optional<RdmaStack> rdma_;
  std::vector<std::pair<ll_host_qp_key, std::uint32_t>> known_;  // as in the map
  std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> ring_;
  std::unique_ptr<asio::posix::stream_descriptor> event_fd_;
};

}  // namespace lossless::dcqcn
