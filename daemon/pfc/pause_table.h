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

class PauseTable {
 public:
  // Whether the datapath holds the peer of a row (LL_ROW) stopped now.
  using IsOff = std::function<bool(std::uint32_t row)>;
  // Asked before a stopped peer is stopped for longer: true when the level is low enough by now, and the row says
  // so already.
  using LetGoOn = std::function<bool(std::uint32_t row, const Plan& plan)>;
  explicit PauseTable(IsOff is_off, LetGoOn let_go_on = {})
      : is_off_(std::move(is_off)), let_go_on_(std::move(let_go_on)) {}

  // A port is there or changed. A gate that `pauses` (what an earlier daemon left) shows closed is taken
  // over, and so is a peer that is stopped.
  void set_port(const PortInfo& port, const std::array<ll_pause, kTcs>& pauses, Nanos now, Actions& out);
  // Opens its gates, as does a port that goes down; a stopped peer is left to its timer.
  void remove_port(std::uint32_t slot, Nanos now, Actions& out);
  // Call after remove_port(), when its actions are done.
  void forget(std::uint32_t slot) { ports_.erase(slot); }
  void on_event(const ll_pfc_event& event, Nanos now, Actions& out);
  // Does what is due: pauses that run out, frames that stop a peer for longer.
  void on_timer(Nanos now, Actions& out);
  Nanos next_deadline() const;

  const PortInfo* port(std::uint32_t slot) const;
  // Pause state of a row as it is published; rx_frames is not kept here.
  const ll_pause& pause(std::uint32_t slot, unsigned tc) const {
    return ports_.at(slot).classes.at(tc).pause;
  }

 private:
  struct Class {
    ll_pause pause{};
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
  static void close(Port& port, unsigned tc, Nanos since, Actions& out);
  static void open(Port& port, unsigned tc, Nanos now, Actions& out);
  void open_all(Port& port, Nanos now, Actions& out);
  static void stop_peer(Port& port, unsigned tc, Nanos now, Actions& out);
  void refresh(Port& port, unsigned tc, Nanos now, Actions& out);

  IsOff is_off_;
  LetGoOn let_go_on_;
  std::map<std::uint32_t, Port> ports_;
};

}  // namespace lossless::pfc
