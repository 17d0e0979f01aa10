// SPDX-License-Identifier: Apache-2.0
// A scratch switch port for tests of the real programs: a private network namespace with a veth pair,
// the real queue tree, and the real datapath, all gone when the process ends.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/net/netlink_io.h"
#include "daemon/port/queue_tree.h"
#include "loader/datapath_io.h"
#include "loader/fd.h"

namespace lossless::test {

using Bytes = std::vector<std::uint8_t>;

// Moves the whole (single-threaded) process into a network namespace of its own. Call first in main().
void enter_private_namespace();

struct RunResult {
  int verdict = 0;  // TCX_NEXT -1, TCX_DROP 2
  Bytes packet;
  std::uint32_t priority = 0;
  std::uint32_t ns_per_run = 0;
  std::uint64_t tstamp = 0;
};

struct RunContext {
  std::uint32_t ifindex = 0;
  std::uint32_t ingress_ifindex = 0;
  std::uint32_t priority = 0;
  std::uint32_t gso_segs = 0;
  std::uint32_t repeat = 1;
};

// Kernels refuse test runs of frames below an Ethernet header (and some, of bare ones): then nothing.
std::optional<RunResult> run_program(int program, std::span<const std::uint8_t> packet,
                                     const RunContext& context);

class ScratchPort {
 public:
  // Port "p0" with its peer "h0", both up, tree and datapath in place under a random instance name.
  explicit ScratchPort(const MapSizes& sizes = {});
  ~ScratchPort();
  ScratchPort(const ScratchPort&) = delete;
  ScratchPort& operator=(const ScratchPort&) = delete;

  unsigned ifindex() const { return ifindex_; }
  Datapath& datapath() { return *datapath_; }
  const std::string& instance() const { return instance_; }
  net::Netlink& netlink() { return *netlink_; }
  // Rows of the port in slot 0.
  void set_port(const ll_port& row);
  void set_wred(unsigned tc, const ll_wred& row);
  ll_ecn_stats ecn(unsigned tc) const { return datapath_->maps().ecn_stats.sum(LL_ROW(0, tc)); }
  ll_port_stats errors() const { return datapath_->maps().port_stats.sum(0); }
  ll_class_stats classes(unsigned tc) const { return datapath_->maps().class_stats.sum(LL_ROW(0, tc)); }
  void clear_counters();

  RunResult ingress(std::span<const std::uint8_t> packet);
  RunResult egress(std::span<const std::uint8_t> packet, unsigned tc);

  // Stops the leaf of this TC, so that what is sent stays queued. Opened again by open_gate().
  void close_gate(unsigned tc);
  void open_gate(unsigned tc);
  // Sends frames into the closed leaf until it holds at least `bytes`; returns what it holds.
  std::uint32_t fill(unsigned tc, std::uint32_t bytes);
  std::uint32_t backlog(unsigned tc);

 private:
  std::string instance_;
  unsigned ifindex_ = 0;
  std::unique_ptr<net::Netlink> netlink_;
  std::unique_ptr<Datapath> datapath_;
  Fd raw_;
};

// trust dscp, DSCP / 8 = TC, port TC 0.
ll_port default_port_row();

}  // namespace lossless::test
