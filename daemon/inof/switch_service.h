// SPDX-License-Identifier: Apache-2.0
// The iNOF switch on the daemon's event loop: LLDP neighbours, status frames, links and timers go to Switch,
// what it wants goes out to hosts and into the datapath's maps.
#pragma once

#include <asio/io_context.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/core/wake_timer.h"
#include "daemon/inof/frame_io.h"
#include "daemon/inof/switch.h"
#include "daemon/lldp/agent.h"
#include "daemon/port/service.h"
#include "daemon/restart/keeper_io.h"
#include "daemon/restart/named_fd.h"

namespace lossless::inof {

class SwitchService {
 public:
  SwitchService(asio::io_context& loop, port::PortService& ports, lldp::Agent& lldp,
                const std::string& instance);

  // The configuration file's values. At the start those that were changed at run time and kept go before
  // them, and it is called before the ports are taken over, so that no packet passes a port without its
  // guard; a reload gives the kept ones up.
  // What an earlier process left in `inherited` goes before all (docs/restart.md).
  void start(const InofConfig& config, restart::NamedFds& inherited);
  // The hosts of that process, once ports and what other switches say are known. False: there are none.
  bool restore();
  // From now on what is needed after a kill is kept where a service manager keeps descriptors.
  void keep();
  // What the next process goes on with.
  std::vector<restart::Lent> hand_over();
  void reload(const InofConfig& config);
  // Ports or links may have changed: call after each configure() or reconcile() of the ports.
  void apply_ports();
  // News of one link, ahead of everything that reconcile() has to look at.
  void link_changed(int ifindex, bool up);
  // The PFC watchdog found a deadlock of a TC of a port, or its end.
  void pfc_deadlock(const std::string& port, unsigned tc, bool on);
  // The datapath was given back: what was kept goes too.
  void leave();

  // A change by an operator: `change` works on the switch. Whether the change is kept for the next start, or
  // what is wrong.
  template <class Change>
  std::expected<bool, std::string> change(const Change& make) {
    if (Switch::Done done = make(switch_, now()); !done) return std::unexpected(done.error());
    return changed();
  }
  // Calls for remote hosts (remote.h) go through here, so that what follows from them is carried out.
  template <class Event>
  void remote(const Event& event) {
    event(switch_, now());
    carry_out();
  }
  void remote_config(RemoteConfig config);
  void set_remote_sink(RemoteSink* sink) { switch_.set_remote_sink(sink); }

  const Switch& model() const { return switch_; }
  const std::string& kept_in() const { return state_path_; }
  static Micros now();

  struct Counters {
    std::uint64_t frames_failed = 0;
    std::uint64_t bad_tlvs = 0;
    std::uint64_t bad_frames = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  struct Inherited {
    SavedSwitch state;
    bool current = false;
  };
  InofConfig kept_or(const InofConfig& config) const;
  void read_inherited(const InofConfig& config, restart::NamedFds& inherited);
  Bytes image() const;
  void configure(const InofConfig& config);
  std::expected<bool, std::string> changed();
  void on_lldp(const lldp::Event& event);
  void on_frame(const net::PortRef& port, ByteView frame);
  PortId port_id(int ifindex) const;
  void carry_out();
  void send(const OutFrame& frame);
  void log(const HostChange& change) const;
  void write_row(const IpAddress& address);
  void write_allow_rows();
  void drop_old_rows();
  void set_guards();
  void schedule();

  port::PortService& ports_;
  WakeTimer timer_;
  FrameIo frames_;
  Switch switch_;
  InofConfig file_;  // as the configuration file has it
  std::string state_path_;
  restart::Keeper keeper_;
  std::optional<Inherited> inherited_;  // until restore()
  std::map<int, PortId> port_ids_;      // by ifindex: ports that are ours now
  std::map<PortId, int> ifindexes_;
  std::set<std::vector<std::uint8_t>> allow_rows_;  // keys that are in the map
  Micros drop_rows_at_{};  // rows of an earlier daemon that nobody claimed go then; 0: done
  Counters counters_;
};

}  // namespace lossless::inof
