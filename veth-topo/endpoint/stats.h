// SPDX-License-Identifier: Apache-2.0
// What the endpoint counts. Values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bpf/stages/roce.h"
#include "veth-topo/endpoint/types.h"

namespace lossless::endpoint {

enum class FrameKind : std::uint8_t { Data, Ack, Cnp, Cm, Kinds };
inline constexpr std::size_t kFrameKinds = static_cast<std::size_t>(FrameKind::Kinds);

struct HostStats {
  std::array<std::uint64_t, kFrameKinds> tx{};
  std::array<std::uint64_t, kFrameKinds> rx{};
  std::array<std::uint64_t, 64> tx_dscp{};
  std::array<std::uint64_t, 64> rx_dscp{};
  std::uint64_t tx_frames = 0;
  std::uint64_t rx_frames = 0;
  std::uint64_t rx_ce = 0;         // data frames that arrived with CE
  std::uint64_t rx_stray = 0;      // well-formed, but for no QP of this host
  std::uint64_t tx_retry = 0;      // the kernel refused a frame, which was offered again
  std::string tx_error;            // why, the last time
  std::uint64_t rx_pfc = 0;        // PFC and PAUSE frames, all of them honoured
  std::uint64_t rx_pfc_bad = 0;    // malformed ones
  double paused_ms = 0;            // sum over the priorities
  std::uint64_t socket_drops = 0;  // lost between the device and the endpoint: receive buffer full
  std::array<std::uint64_t, LL_ROCE_KINDS> bad{};
};

struct FlowStats {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t qpn = 0;
  std::uint32_t peer_qpn = 0;
  std::uint64_t messages = 0;       // completed
  std::uint64_t unfinished = 0;     // posted, not completed
  std::uint64_t goodput_bytes = 0;  // delivered in order
  std::uint64_t retransmitted = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t naks = 0;
  std::uint64_t cnp_received = 0;
  std::uint64_t rate_cuts = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t reordered = 0;
  bool failed = false;
  double rate_mbps_end = 0;
};

struct FctSample {
  std::uint64_t bytes;
  double ms;
};

// Changes within one step of the time series.
struct SeriesPoint {
  double t_ms;  // end of the step, from the start of the run
  double goodput_mbps;
  std::uint64_t cnp;
  std::uint64_t retransmitted;
};

struct Results {
  std::vector<std::string> host_names;
  std::vector<HostStats> hosts;
  std::vector<FlowStats> flows;
  std::vector<FctSample> fct;
  std::vector<SeriesPoint> series;
  std::uint64_t mice_bytes = 0;
  double goodput_mbps = 0;
  double goodput_limit_mbps = 0;
  std::uint64_t start_ns = 0;  // of the traffic, CLOCK_MONOTONIC
  double steady_s = 0;         // length of the window goodput_mbps was measured over
  double connect_ms = 0;
  bool interrupted = false;
  std::string error;  // empty: the run went through
};

}  // namespace lossless::endpoint
