// SPDX-License-Identifier: Apache-2.0
// The deadlock watchdogs and rate alarms of all ports: samples the datapath's rows, runs the state machines,
// and says which PFC is withheld. Owned by the event loop's thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "daemon/net/qdisc_io.h"
#include "daemon/pfc/alarm.h"
#include "daemon/pfc/pause_table.h"
#include "daemon/pfc/port.h"
#include "daemon/pfc/watchdog.h"
#include "loader/map.h"
#include "loader/shared_array.h"

namespace lossless::pfc {

// PFC that a NIC does itself: its frames never reach the datapath. Totals by TC.
struct HardwarePfc {
  std::array<std::uint64_t, kTcs> rx_frames{};
  std::array<std::uint64_t, kTcs> tx_frames{};
  std::array<Nanos, kTcs> paused_ns{};  // that the peer asked for
  TcMask paused = 0;                    // it asked since the look before
  bool operator==(const HardwarePfc&) const = default;
};

class WatchdogService {
 public:
  struct Rows {
    const SharedArray<ll_pause>& pause;
    const SharedArray<ll_mmu>& mmu;
    const SharedArray<ll_watchdog>& watchdog;
    CounterMap<ll_pfc_stats> frames;
  };
  // What the verdicts lead to.
  struct Orders {
    // What withheld() says of the port is no longer what it was.
    std::function<void(std::uint32_t slot)> changed;
    // Packets that wait in the queue are to be dropped; the datapath drops new ones already.
    std::function<void(std::uint32_t slot, unsigned tc)> empty_queue;
    // A deadlock was found, whatever is done about it (on), or is over.
    std::function<void(std::uint32_t slot, unsigned tc, bool on)> deadlock;
  };
  using Qdiscs = std::function<Result<std::vector<net::QdiscInfo>>()>;

  struct Class {
    Watchdog dog{WatchdogConfig{}};
    std::uint64_t seen_asked_ns = 0;  // at the last look
    RateAlarm rx{RateAlarmConfig{}};  // they only measure
    RateAlarm tx{RateAlarmConfig{}};
  };
  struct Port {
    PortInfo info;
    std::array<Class, kTcs> classes;
    HardwarePfc hardware;
    RateAlarm rx{RateAlarmConfig{}};
    RateAlarm tx{RateAlarmConfig{}};
  };

  WatchdogService(const Rows& rows, Orders orders) : rows_(rows), orders_(std::move(orders)) {}

  // A port is there or changed. Of one that is new, what an earlier daemon left in force is ended, but for a
  // TC that waits for an operator.
  void set_port(const PortInfo& port, Nanos now);
  void remove_port(std::uint32_t slot);
  // What the port's NIC has counted; counts as what the datapath counted.
  void set_hardware(std::uint32_t slot, const HardwarePfc& counters);

  // Looks at everything; call again at the time it returns. `qdiscs` is asked only when a peer has asked for
  // a pause since the last look, or a watchdog is at work.
  Nanos poll(Nanos now, const Qdiscs& qdiscs);

  // An operator gives a TC its PFC back. False: nothing was withheld.
  bool recover(std::uint32_t slot, unsigned tc, Nanos now);
  void set_escape(bool on, Nanos now);
  // The daemon ends: nothing may be dropped with nobody watching.
  void stop(Nanos now);

  // TCs whose PFC is off now.
  TcMask withheld(std::uint32_t slot) const;
  const Port* port(std::uint32_t slot) const;

 private:
  bool is_quiet(Port& port, Nanos now);
  void sample(Port& port, unsigned tc, Nanos now, const net::QdiscInfo* leaf);
  void measure(Port& port, Nanos now);
  void tell(const Port& port, PfcDirection direction, const std::optional<RateAlarmEvent>& event) const;
  void carry_out(Port& port, unsigned tc, const WatchdogSteps& steps);
  void publish(const Port& port, unsigned tc);
  ll_pause pause_row(std::uint32_t row) const;

  Rows rows_;
  Orders orders_;
  bool escape_ = false;
  std::map<std::uint32_t, Port> ports_;
};

}  // namespace lossless::pfc
