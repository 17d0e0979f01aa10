// SPDX-License-Identifier: Apache-2.0
// The real-time thread of priority flow control: sleeps until the datapath, a timer or the daemon wakes it,
// asks PauseTable what to do, and does it. Orders come in as values by a queue; what it finds goes out by the
// datapath's `pause` rows and by counters.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "daemon/core/pi_mutex.h"
#include "daemon/net/gate_io.h"
#include "daemon/pfc/follow_cpu_io.h"
#include "daemon/pfc/pause_table.h"
#include "loader/fd.h"
#include "loader/shared_array.h"

struct ring_buffer;

namespace lossless::pfc {

// Bins of bpf/stages/latency.h.
using Histogram = std::array<std::atomic<std::uint64_t>, LL_LATENCY_BINS>;

class PauseThread {
 public:
  // Opens its sockets in the calling thread's network namespace and starts. `pfc_events` is the ring buffer.
  static Result<std::unique_ptr<PauseThread>> start(int pfc_events, const SharedArray<ll_mmu>& mmu,
                                                    const SharedArray<ll_pool>& pools,
                                                    const SharedArray<ll_pause>& pause);
  ~PauseThread();  // ends it; closed gates stay for whoever comes next
  PauseThread(const PauseThread&) = delete;
  PauseThread& operator=(const PauseThread&) = delete;

  struct RemovePort {
    std::uint32_t slot;
  };
  struct Stop {};
  using Order = std::variant<PortInfo, RemovePort, Stop>;
  void post(const Order& order);

  // From the arrival of a PFC frame to the closed gate.
  const Histogram& closing() const { return closing_; }
  bool real_time() const { return real_time_; }
  // Orders that the kernel refused (frames, gates).
  std::uint64_t failures() const { return failures_; }

 private:
  PauseThread(const SharedArray<ll_mmu>& mmu, const SharedArray<ll_pool>& pools,
              const SharedArray<ll_pause>& pause, net::GateSocket gates);
  bool let_go_on(std::uint32_t row, const Plan& plan);
  Status open(int pfc_events);
  void run();
  void take_orders();
  void carry_out();
  void carry_out(const Action& action);
  void send_frame(const PortInfo& port, const Action& action);
  void publish(std::uint32_t slot, unsigned tc);
  void set_timer();
  static int on_record(void* self, void* data, std::size_t size);

  const SharedArray<ll_mmu>& mmu_;
  const SharedArray<ll_pool>& pools_;
  const SharedArray<ll_pause>& pause_;
  net::GateSocket gates_;
  PauseTable table_;
  Actions actions_;
  Nanos closing_since_ = 0;  // arrival of the frame that is acted on, 0: none
  std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> ring_;
  Fd epoll_, timer_, wake_, raw_;
  PiMutex mutex_;
  std::vector<Order> orders_;  // guarded by mutex_
  std::atomic<bool> has_orders_ = false;
  bool stopping_ = false;
  FollowCpu follow_;
  Histogram closing_{};
  std::atomic<bool> real_time_ = false;
  std::atomic<std::uint64_t> failures_ = 0;
  std::thread thread_;
};

}  // namespace lossless::pfc
