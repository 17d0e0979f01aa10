// SPDX-License-Identifier: Apache-2.0
// The endpoint's configuration: the JSON reference is docs/endpoint.md. Values, no I/O.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/stages/dcqcn.h"
#include "veth-topo/endpoint/types.h"
#include "veth-topo/endpoint/workload.h"

namespace lossless::endpoint {

struct HostConfig {
  std::string name;
  std::string netns;  // name under /run/netns; empty: the namespace the program runs in
  std::string dev;
  Address address;
  std::uint64_t link_bps = 0;
};

struct FlowConfig {
  std::uint32_t from = 0;  // index of the host
  std::uint32_t to = 0;
  std::uint32_t qps = 1;
  bool write = true;
  SizeDistribution size = SizeDistribution::fixed(1 << 20);
  std::optional<double> load;  // Poisson arrivals at this share of the sender's link; none: closed loop
  std::uint8_t dscp = 26;
  std::uint8_t ecn = 2;  // ECN field of data and ACKs: 0 Not-ECT, 1 ECT(1), 2 ECT(0)
  std::optional<std::uint8_t> pcp;
  std::uint32_t mtu = 1024;
  Nanos start_ns = 0;
  std::optional<std::uint64_t> messages;  // per QP; none: until the time is over
  std::uint32_t window_packets = 0;
  std::uint32_t ack_every = 4;
  Nanos timeout_ns = 250 * kMillisecond;
};

// What is not given follows the sender's link: see dcqcn_for_link().
struct DcqcnConfig {
  bool np = true;
  bool rp = true;
  std::uint8_t cnp_dscp = 48;
  std::optional<Nanos> cnp_interval_ns;
  std::optional<Nanos> cut_interval_ns;
  std::optional<Nanos> alpha_interval_ns;
  std::optional<Nanos> rate_interval_ns;
  std::optional<std::uint64_t> byte_counter;
  std::optional<std::uint64_t> ai_bps;
  std::optional<std::uint64_t> hai_bps;
  std::optional<std::uint64_t> min_bps;
  std::optional<std::uint32_t> g_shift;
  std::optional<std::uint32_t> fast_recovery;
};

struct Config {
  std::uint64_t seed = 1;
  Nanos duration_ns = 5 * kSecond;
  Nanos warmup_ns = 0;
  Nanos finish_ns = 2 * kSecond;   // longest time for messages under way when the duration is over
  Nanos quiesce_ns = 3 * kSecond;  // longest time for frames under way after that
  std::optional<unsigned> cpu;
  int rt_priority = 0;  // 1-99: SCHED_FIFO; 0: the normal scheduler
  std::vector<HostConfig> hosts;
  std::vector<FlowConfig> flows;
  DcqcnConfig dcqcn;
  bool cm = true;
  std::uint8_t cm_dscp = 0;
  std::uint64_t mice_bytes = 100'000;
  Nanos link_burst_ns = 200 * kMicrosecond;
};

// Reads a configuration. The error names the JSON path, the value and what is allowed.
std::expected<Config, std::string> parse_config(std::string_view json);

// The DCQCN parameters of a sender whose link carries link_bps. Defaults are what NICs use at 25 Gbit/s and
// more; on slower links the rates shrink in proportion and the reaction point's times stretch, since a
// packet takes longer than their 50 microseconds there.
ll_dcqcn_params dcqcn_for_link(const DcqcnConfig& dcqcn, std::uint64_t link_bps);

}  // namespace lossless::endpoint
