// SPDX-License-Identifier: Apache-2.0
// Priority flow control of all ports as a state machine: events and time in, actions out. Pure; what carries
// the actions out is thread_io.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "bpf/abi.h"
#include "daemon/pfc/port.h"

namespace lossless::pfc {

using Nanos = std::uint64_t;  // CLOCK_MONOTONIC
inline constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

struct Action {
  enum class Kind : std::uint8_t {
    Close,  // the gate of `tc`
    Open,   // the gate of `tc`; what waits goes out with the next frame sent
    Send    // a PFC frame that names `classes`, with `quanta`
  };
  Kind kind = Kind::Send;
  std::uint32_t slot = 0;
  unsigned tc = 0;
  std::uint8_t classes = 0;
  std::uint16_t quanta = 0;
  bool operator==(const Action&) const = default;
};
using Actions = std::vector<Action>;

// Our queue's side of a pause, as it is published in the map `pause`.
struct Gate {
  Nanos since_ns = 0;             // closed since; 0: open
  Nanos paused_ns = 0;            // sum of the times it was closed, but for the present one
  std::uint64_t transitions = 0;  // open -> closed
  bool operator==(const Gate&) const = default;
};

class PauseTable {
 public:
  // What the datapath knows of a row (LL_ROW) now.
  struct Rows {
    std::function<bool(std::uint32_t row)> is_off;        // it holds the peer stopped
    std::function<Nanos(std::uint32_t row)> asked_until;  // the peer wants a pause until then; 0: none
  };
  explicit PauseTable(Rows rows) : rows_(std::move(rows)) {}

  // A port is there or changed. A gate that `gates` (what an earlier daemon left) shows closed is taken over,
  // and so is a peer that is stopped. Where PFC came into force the gate does what the peer asks now.
  void set_port(const PortInfo& port, const std::array<Gate, kTcs>& gates, Nanos now, Actions& out);
  // Opens its gates, as does a port that goes down; a stopped peer is left to its timer.
  void remove_port(std::uint32_t slot, Nanos now, Actions& out);
  // Call after remove_port(), when its actions are done.
  void forget(std::uint32_t slot) { ports_.erase(slot); }
  void on_event(const ll_pfc_event& event, Nanos now, Actions& out);
  // Does what is due: pauses that run out, frames that stop a peer for longer.
  void on_timer(Nanos now, Actions& out);
  Nanos next_deadline() const;

  const PortInfo* port(std::uint32_t slot) const;
  const Gate& gate(std::uint32_t slot, unsigned tc) const { return ports_.at(slot).classes.at(tc).gate; }

 private:
  struct Class {
    Gate gate;
    Nanos opens_at = kNever;  // while closed: when to look whether the pause is over
    Nanos refresh_at = kNever;
    Nanos xon_sent = 0;
  };
  struct Port {
    PortInfo info;
    std::array<Class, kTcs> classes;
  };

  void on_rx(Port& port, const ll_pfc_event& event, Nanos now, Actions& out);
  void on_xoff(Port& port, const ll_pfc_event& event, Nanos now, Actions& out);
  void on_xon(Port& port, const ll_pfc_event& event, Nanos now, Actions& out);
  static void send(const Port& port, std::uint8_t classes, std::uint16_t quanta, Actions& out);
  void obey(Port& port, unsigned tc, Nanos since, Nanos now, Actions& out);
  static void open(Port& port, unsigned tc, Nanos now, Actions& out);
  void open_all(Port& port, Nanos now, Actions& out);
  static void stop_peer(Port& port, unsigned tc, Nanos now, Actions& out);

  Rows rows_;
  std::map<std::uint32_t, Port> ports_;
};

}  // namespace lossless::pfc
