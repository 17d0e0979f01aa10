// SPDX-License-Identifier: Apache-2.0
// All hosts and connections of one run: frames in, frames out, time comes in. No sockets; what runs it is
// loop_io. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "veth-topo/endpoint/config.h"
#include "veth-topo/endpoint/pacing.h"
#include "veth-topo/endpoint/pair.h"
#include "veth-topo/endpoint/pause.h"
#include "veth-topo/endpoint/stats.h"
#include "veth-topo/endpoint/timers.h"

namespace lossless::endpoint {

inline constexpr Nanos kSeriesStepNs = 50 * kMillisecond;
inline constexpr Nanos kQuietNs = 200 * kMillisecond;

// A frame that was built; goes back to the engine once the kernel has taken it.
struct FrameMeta {
  FrameKind kind = FrameKind::Data;
  std::uint8_t dscp = 0;
  std::uint32_t length = 0;
};

class Engine {
 public:
  // The steps of a run, in this order.
  enum class Phase {
    Connect,     // CM handshakes
    Run,         // traffic; this is the configured duration
    Finish,      // no new messages, those under way go on
    Quiesce,     // no data is sent, frames under way arrive
    Disconnect,  // CM release
    Settle,      // frames under way arrive
    Done
  };

  Engine(const Config& config, Nanos now);

  void on_frame(std::uint32_t host, std::span<const std::uint8_t> frame, Nanos now);
  // Does what is due: timers, arrivals, changes of phase.
  void advance(Nanos now);
  // The next frame this host may send now, written to `out` (mtu + kMaxOverhead bytes).
  std::optional<FrameMeta> next_frame(std::uint32_t host, Nanos now, std::span<std::uint8_t> out);
  void on_sent(std::uint32_t host, const FrameMeta& meta, Nanos now);
  // When advance() or next_frame() has something to do again.
  Nanos next_deadline() const;

  // Ends the traffic early; the results will say so.
  void interrupt(Nanos now);
  Phase phase() const { return phase_; }
  HostStats& host_stats(std::uint32_t host) { return hosts_[host].stats; }
  const std::vector<SeriesPoint>& series() const { return series_; }
  Results results() const;

 private:
  struct Control {
    FrameKind kind = FrameKind::Ack;
    std::uint32_t pair = 0;
    std::uint32_t to = 0;  // host
    ll_cm cm{};            // kind Cm
  };
  struct Local {  // a QP of this host
    std::uint32_t pair;
    bool requester;
  };
  struct Host {
    explicit Host(LinkPacer p) : pacer(p) {}
    LinkPacer pacer;
    RoundRobin robin;
    std::deque<Control> control;
    PauseState pause;
    std::array<std::vector<std::uint32_t>, PauseState::kPriorities> parked;  // QPs whose priority is paused
    std::unordered_map<std::uint32_t, Local> qps;
    HostStats stats;
    std::uint16_t control_ip_id = 0;
    std::uint32_t cm_psn = 0;
  };

  // engine.cpp
  void add_pair(std::uint32_t flow_index, std::uint64_t number);
  std::uint32_t new_qpn(std::uint32_t host, FlowRandom& random, Local local);
  void arm(std::uint32_t id);
  void on_timer(std::uint32_t id, Nanos now);
  void arrivals(QpPair& pair, std::uint32_t id, Nanos now);
  bool wants_message(const QpPair& pair) const;
  void post(QpPair& pair, std::uint32_t id, Nanos now);

  // engine_rx.cpp
  bool on_pause(std::uint32_t host, std::span<const std::uint8_t> frame, Nanos now);
  void on_data(std::uint32_t host, const ll_roce& r, std::span<const std::uint8_t> frame, Nanos now);
  void on_ack(std::uint32_t host, const ll_roce& r, std::span<const std::uint8_t> frame, Nanos now);
  void on_cnp(std::uint32_t host, const ll_roce& r, Nanos now);
  void on_cm(std::uint32_t host, const ll_roce& r, std::span<const std::uint8_t> frame);
  QpPair* find(std::uint32_t host, std::uint32_t qpn, bool requester, std::uint32_t& id);
  void queue_ack(QpPair& pair, std::uint32_t id, const AckPacket& ack);

  // engine_tx.cpp
  void schedule(QpPair& pair, std::uint32_t id, Nanos now);
  Nanos paced_at(QpPair& pair, Nanos now) const;
  unsigned priority_of(const Control& control) const;
  std::deque<Control>::const_iterator sendable(const Host& host, Nanos now) const;
  static void unpark(Host& host, Nanos now);
  FrameMeta build_control(Host& host, std::uint32_t index, Nanos now, std::span<std::uint8_t> out);
  FrameMeta build_ack(QpPair& pair, Host& host, std::span<std::uint8_t> out);
  FrameMeta build_cnp_frame(QpPair& pair, Host& host, std::span<std::uint8_t> out);
  FrameMeta build_cm(const Control& control, Host& host, std::uint32_t index, std::span<std::uint8_t> out);
  std::optional<FrameMeta> build_data(Host& host, Nanos now, std::span<std::uint8_t> out);
  void queue_cm(std::uint32_t from, std::uint32_t to, std::uint32_t pair, const ll_cm& cm);

  // engine_phase.cpp
  void enter(Phase phase, Nanos now);
  void step(Nanos now);
  bool phase_is_over(Nanos now) const;
  bool quiet(Nanos now) const;
  void start_run(Nanos now);
  void end_run(Nanos now);
  void sample(Nanos now);
  Nanos phase_deadline() const;

  // engine_results.cpp
  double goodput_limit_mbps() const;

  const Config config_;
  std::vector<Host> hosts_;
  std::vector<QpPair> pairs_;
  Timers timers_;

  Phase phase_ = Phase::Connect;
  Nanos phase_start_;
  Nanos connect_start_;
  Nanos run_start_ = 0;
  bool sending_ = false;
  bool posting_ = false;
  bool interrupted_ = false;
  std::string error_;
  Nanos last_activity_;
  std::uint64_t tx_total_ = 0;
  std::uint64_t rx_total_ = 0;

  // Measurement.
  std::uint64_t delivered_ = 0;
  std::uint64_t cnp_sent_ = 0;
  std::uint64_t retransmitted_ = 0;
  std::uint64_t open_messages_ = 0;    // posted, not completed
  std::uint64_t exhausted_pairs_ = 0;  // have posted all the messages they ever will
  Nanos steady_start_ = 0;
  std::uint64_t steady_delivered_ = 0;
  Nanos run_end_ = 0;
  std::uint64_t end_delivered_ = 0;
  Nanos next_sample_ = kNever;
  Nanos last_sample_ = 0;
  std::uint64_t sampled_delivered_ = 0;
  std::uint64_t sampled_cnp_ = 0;
  std::uint64_t sampled_retransmitted_ = 0;
  std::vector<SeriesPoint> series_;
  std::vector<FctSample> fct_;
};

}  // namespace lossless::endpoint
