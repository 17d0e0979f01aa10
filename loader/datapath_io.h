// SPDX-License-Identifier: Apache-2.0
// Loads, attaches, pins, upgrades and detaches the BPF programs of one instance.
//
// The datapath belongs to its pins, not to the process: links and maps live on when the daemon is gone,
// and the next daemon adopts them. A new build of the programs replaces the old one link by link, each
// by an atomic exchange, so that no packet passes unclassified.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "bpf/stages/dcqcn_host.h"
#include "bpf/stages/ecn_overlay.h"
#include "bpf/stages/hook_flow.h"
#include "bpf/stages/ipcc.h"
#include "bpf/stages/roce_pair.h"
#include "bpf/stages/roce_table.h"
#include "loader/map.h"
#include "loader/pins_io.h"
#include "loader/port_table.h"
#include "loader/result.h"
#include "loader/shared_array.h"
#include "loader/xdp_io.h"

struct datapath_bpf;

namespace lossless {

// Maps of an instance by name and type.
struct Maps {
  PortTable ports;
  Map<std::uint32_t, ll_wred> wred;
  Map<std::uint32_t, ll_ewma> ewma;
  CounterMap<ll_ecn_stats> ecn_stats;
  CounterMap<ll_class_stats> class_stats;
  CounterMap<ll_port_stats> port_stats;
  Map<std::uint32_t, ll_mmu> mmu;
  Map<std::uint32_t, ll_pool> pools;
  Map<std::uint32_t, ll_pfc> pfc;
  Map<std::uint32_t, ll_pause> pause;
  Map<std::uint32_t, ll_watchdog> watchdog;
  CounterMap<ll_pfc_stats> pfc_stats;
  CounterMap<ll_latency> pfc_latency;
  Map<ll_zone_key, ll_zone_host> zone_hosts;
  Map<ll_zone_key, ll_zone_bits> zone_bits;
  Map<ll_allow_key, std::uint32_t> zone_allow;
  CounterMap<ll_zone_stats> zone_stats;
  Map<std::uint32_t, std::uint32_t> apps;
  Map<std::uint32_t, ll_hook> hooks;
  CounterMap<ll_hook_stats> hook_stats;
  Map<ll_hook_key, ll_hook_flow> hook_flows;
  Map<std::uint32_t, ll_roce_config> roce_config;
  Map<std::uint32_t, ll_roce_set> roce_sets;
  Map<std::uint32_t, ll_roce_flow> roce_flows;  // by row
  std::uint32_t roce_set_count = 0;
  int roce_forget = -1;  // program that takes flows out of the table
  Map<ll_roce_key, ll_roce_pair> roce_pairs;
  CounterMap<ll_roce_stats> roce_stats;
  Map<std::uint32_t, ll_ipcc> ipcc;
  Map<std::uint32_t, ll_ipcc_state> ipcc_state;
  CounterMap<ll_ipcc_stats> ipcc_stats;
  CounterMap<ll_latency> cnp_latency;
  Map<std::uint32_t, ll_overlay> overlay;
  Map<ll_zone_key, std::uint32_t> overlay_ends;
  CounterMap<ll_overlay_stats> overlay_stats;
  Map<std::uint32_t, ll_host> hosts;
  Map<ll_host_qp_key, ll_host_qp> host_qps;
  Map<ll_rp_key, ll_rp_flow> rp_flows;
  CounterMap<ll_host_stats> host_stats;
  int host_events = -1;  // ring buffer of ll_host_event
  int pfc_events = -1;   // ring buffer of ll_pfc_event
};

// What the size of maps is made of.
struct MapSizes {
  std::uint32_t roce_flows = LL_ROCE_FLOWS_DEFAULT;  // LL_ROCE_FLOWS_MIN to LL_ROCE_FLOWS_MAX; pairs as many
};

class Datapath {
 public:
  enum class Origin {
    Fresh,     // nothing was pinned
    Adopted,   // the pinned maps are in use, with their counters
    Replacing  // pinned maps have another layout: new ones are used, commit() drops the old
  };

  // Loads the programs into the current network namespace's instance. A pinned map that is adopted but has
  // another size than wanted starts anew, empty. Errors are one line for the log.
  static Result<Datapath> open(const std::string& instance, const std::string& build,
                               const MapSizes& sizes = {});

  Datapath(Datapath&&) noexcept;
  Datapath& operator=(Datapath&&) noexcept;
  ~Datapath();  // leaves everything that is pinned in place

  // Name of another instance that manages this interface, empty when none does.
  std::string other_owner(unsigned ifindex) const;
  // Attaches the buffer model's way out, which all ports share, and both hooks, egress first, or exchanges
  // the programs of links that are there. Programs of others on the port stay. The port's rows must be in the
  // maps before.
  Status attach(unsigned ifindex);
  // All hooks, XDP first. Absent is fine.
  Status detach(unsigned ifindex);
  // Native XDP beside the hooks of attach(), or exchanges its program. An error when the driver has none, or
  // when another program is there.
  Status attach_xdp(unsigned ifindex);
  Status detach_xdp(unsigned ifindex);
  bool has_xdp(unsigned ifindex) const;
  bool is_attached(unsigned ifindex) const;
  // Interfaces with a pinned link, also dead ones.
  std::vector<unsigned> linked() const;
  // Ends an upgrade: the old maps go. Call when every port is attached.
  Status commit();
  // Removes every link, map and folder of the instance.
  Status detach_all();

  Origin origin() const { return origin_; }
  const Maps& maps() const { return maps_; }
  // Program descriptors, for test runs. That of XDP is loaded by the first call; -1 when it cannot be.
  int program(Hook hook);
  // Program that takes packets out of the buffer model as they leave.
  int leave_program() const;
  // How often the kernel left out a run of it or of the one for drops, because one was under way on that CPU.
  std::uint64_t missed_runs() const;

 private:
  Datapath(Pins pins, Origin origin);
  Status load(const std::string& build, const MapSizes& sizes);
  Status attach_hook(unsigned ifindex, Hook hook);
  Status attach_shared();
  Status load_xdp();

  Pins pins_;
  Origin origin_;
  std::unique_ptr<datapath_bpf, void (*)(datapath_bpf*)> skeleton_;
  Maps maps_;
  std::optional<XdpProgram> xdp_;  // once a port wants it
  bool shared_attached_ = false;
};

// Inode number of the calling thread's network namespace; 0 when it cannot be read.
std::uint64_t current_netns();
// An error when the instance has a living datapath in another network namespace than this one.
Status check_namespace(const Pins& pins);
// Interface that a pinned link is attached to; 0 when the interface is gone or the pin is no link.
unsigned live_ifindex(const LinkPin& pin);

}  // namespace lossless
