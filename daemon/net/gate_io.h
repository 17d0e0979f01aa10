// SPDX-License-Identifier: Apache-2.0
// Opens and closes gates on the fast path: one system call, nothing allocated.
#pragma once

#include <cstdint>

#include "loader/fd.h"
#include "loader/result.h"

namespace lossless::net {

// A gate as the kernel's TBF has it.
struct GateSpec {
  std::uint64_t rate = 0;   // bytes per second
  std::uint32_t burst = 0;  // bytes
  std::uint32_t limit = 0;  // bytes, of the queue behind it
};
GateSpec open_gate_spec(std::uint32_t limit_bytes);
// `frame_bytes` is the longest frame that may be queued.
GateSpec closed_gate_spec(std::uint32_t limit_bytes, std::uint32_t frame_bytes);
inline constexpr std::uint64_t kGateClosedRate = 1;  // bytes per second: a frame takes half an hour
// Time in scheduler ticks that `bytes` take at `rate` (bytes per second).
std::uint32_t scheduler_ticks(std::uint64_t bytes, std::uint64_t rate);

// A netlink socket for nothing but gates, bound to the network namespace it was opened in.
class GateSocket {
 public:
  static Result<GateSocket> open();
  // The gate of a TC is as `spec` says when this returns. 0, or the kernel's errno. Closed, nothing leaves
  // the queue but one frame at most; don't close a closed gate, since each change lets a frame out. Opened,
  // what waits goes on with the next frame that is sent out of the port.
  int set(int ifindex, unsigned tc, const GateSpec& spec);

 private:
  explicit GateSocket(Fd fd) : fd_(std::move(fd)) {}
  int read_error();
  Fd fd_;
};

}  // namespace lossless::net
