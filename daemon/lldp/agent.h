// SPDX-License-Identifier: Apache-2.0
// The LLDP agent (IEEE 802.1AB-2016, clause 9) of all ports: frames and time come in, frames and events go
// out. Pure; the service around it owns sockets and timers.
//
// Other subjects use two things of it: subscribe() for what neighbours say, and set_org_tlvs() for what a
// port says beyond the agent's own.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/lldp/packet.h"
#include "daemon/net/port_ref.h"

namespace lossless::lldp {

using Time = std::chrono::steady_clock::time_point;
using Seconds = std::chrono::seconds;

// Who spoke: one neighbour per chassis and port ID (MSAP identifier) on each port of ours.
struct NeighbourKey {
  Id chassis;
  Id port;
  auto operator<=>(const NeighbourKey&) const = default;
};

struct Neighbour {
  Packet packet;  // as last received
  Mac source{};   // of the last frame
  Time first_seen;
  Time last_changed;  // when something other than the lifetime began anew
  Time last_seen;
  Time expires;
  std::uint64_t frames = 0;
};

enum class EventKind : std::uint8_t {
  New,
  Changed,    // the frame says something else than the one before
  Refreshed,  // the same again
  Aged,       // its TTL ran out
  Shutdown,   // it sent TTL 0
  LinkDown,   // our port lost its link, was taken off or had LLDP switched off
};
std::string_view to_string(EventKind kind);

// The neighbour is the one known now; after Aged, Shutdown and LinkDown it is gone when the call returns.
// On Changed, `before` is what the last frame said.
struct Event {
  EventKind kind;
  const net::PortRef& port;
  const Neighbour& neighbour;
  const Packet* before = nullptr;
  Time now;
};

// Counters of a port in the terms of the standard's clause 10.5.2 and the MIB's lldpStats.
struct Statistics {
  std::uint64_t frames_out = 0;         // statsFramesOutTotal
  std::uint64_t frames_out_failed = 0;  // could not be handed to the device
  std::uint64_t frames_in = 0;          // statsFramesInTotal, all of them
  std::uint64_t frames_discarded = 0;   // statsFramesDiscardedTotal: faulty, or no room
  std::uint64_t frames_in_errors = 0;   // statsFramesInErrorsTotal: faulty
  std::uint64_t tlvs_discarded = 0;     // statsTLVsDiscardedTotal
  std::uint64_t tlvs_unrecognised = 0;  // statsTLVsUnrecognizedTotal
  std::uint64_t ageouts = 0;            // statsAgeoutsTotal
  std::uint64_t inserts = 0;            // lldpStatsRemTablesInserts
  std::uint64_t deletes = 0;            // lldpStatsRemTablesDeletes: aged, shut down, link down
  std::uint64_t drops = 0;              // lldpStatsRemTablesDrops: no room for one more neighbour
  std::uint64_t changes = 0;            // frames that said something new about a known neighbour
  bool operator==(const Statistics&) const = default;
};

// adminStatus (9.2.5.1).
using Mode = LldpMode;

struct Timing {
  Seconds interval{30};           // msgTxInterval
  unsigned hold = 4;              // msgTxHold: TTL = interval * hold + 1
  unsigned fast_start = 4;        // txFastInit: frames at one a second when a neighbour appears
  unsigned max_neighbours = 256;  // per port
  bool operator==(const Timing&) const = default;
};

// What all ports say about this system.
struct LocalSystem {
  Mac chassis{};
  std::string name;
  std::string description;
  Capabilities capabilities;
  bool operator==(const LocalSystem&) const = default;
};

// What one port says about itself.
struct LocalPort {
  std::string description;
  std::vector<ManagementAddress> management;
  bool operator==(const LocalPort&) const = default;
};

class Agent {
 public:
  using Listener = std::function<void(const Event&)>;
  // More neighbours than there is room for (true), or room again (false).
  using LimitListener = std::function<void(const net::PortRef&, bool full)>;
  // A frame to be sent now.
  using Sender = std::function<bool(const net::PortRef&, ByteView frame)>;  // whether the device took it

  Agent(LocalSystem system, Sender sender) : system_(std::move(system)), send_(std::move(sender)) {}

  // Listeners are called from within receive(), advance() and the port functions; they may call
  // set_org_tlvs() but none of those.
  void subscribe(Listener listener) { listeners_.push_back(std::move(listener)); }
  void on_limit(LimitListener listener) { limit_listeners_.push_back(std::move(listener)); }
  // `wake`: next_deadline() may have come nearer by set_org_tlvs() or set_system().
  void on_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  // TLVs that the named port carries from its next frame on, which goes out at once if they differ from those
  // before. `owner` names the subject ("inof", "dcbx"): each has its own set, in the order of the names. Kept
  // while the port is away.
  void set_org_tlvs(const std::string& port, const std::string& owner, std::vector<OrgTlv> tlvs);

  // Of the frames and neighbours from now on.
  void set_timing(const Timing& timing) { timing_ = timing; }
  void set_system(const LocalSystem& system);
  // The port has a link, or something about it is new. Nothing happens if all is as before.
  void port_up(const net::PortRef& port, Mode mode, const LocalPort& local, Time now);
  // Its link is gone: the neighbours are too.
  void port_down(int ifindex, Time now);
  // The port is no longer ours: a shutdown LLDPDU goes out if it still has a link, and it is forgotten.
  void remove_port(int ifindex, Time now);

  void receive(int ifindex, ByteView frame, Time now);
  // Ages neighbours and sends what is due. Call at next_deadline() or later.
  void advance(Time now);
  // When advance() has something to do; nothing: never.
  std::optional<Time> next_deadline() const;

  struct PortState {
    net::PortRef ref;
    Mode mode = Mode::Off;
    LocalPort local;
    bool up = false;
    std::map<NeighbourKey, Neighbour> neighbours;
    bool full = false;  // a neighbour was turned away, and there was no room since
    Statistics statistics;
    // Transmit machine (9.2.10)
    Time next_tx;            // the next frame if nothing happens
    unsigned fast_left = 0;  // txFast
    unsigned credit = 0;     // txCredit: frames that may go out at once
    Time next_credit;        // one more
    bool tx_now = false;     // send as soon as there is credit
    Time not_before;         // end of reinitDelay after a shutdown LLDPDU
  };
  // By ifindex. Statistics of a port whose link is down stay.
  const std::map<int, PortState>& ports() const { return ports_; }
  // What the port would send now.
  Packet local_packet(const PortState& port) const;

 private:
  using Neighbours = std::map<NeighbourKey, Neighbour>;
  struct Expiry {
    Time at;
    int ifindex;
    NeighbourKey key;
    auto operator<=>(const Expiry&) const = default;
  };

  void set_mode(PortState& port, Mode mode, Time now);
  void start_transmitting(PortState& port, Time now);
  void say_goodbye(PortState& port, Time now);
  void learn(PortState& port, Decoded decoded, Time now);
  void add(PortState& port, NeighbourKey key, Decoded decoded, Time now);
  void refresh(PortState& port, const NeighbourKey& key, Neighbour& known, Decoded decoded, Time now);
  void remove(PortState& port, Neighbours::iterator which, EventKind why, Time now);
  void remove_all(PortState& port, EventKind why, Time now);
  void set_full(PortState& port, bool full);
  void tell(const Event& event) const;
  void age(Time now);
  void transmit(PortState& port, Time now);
  bool send(PortState& port, ByteView frame);
  Seconds lifetime() const;

  LocalSystem system_;
  Sender send_;
  Timing timing_;
  std::vector<Listener> listeners_;
  std::vector<LimitListener> limit_listeners_;
  std::function<void()> wake_ = [] {};
  std::map<std::string, std::map<std::string, std::vector<OrgTlv>>> org_tlvs_;  // port, owner
  std::map<int, PortState> ports_;
  std::set<Expiry> expiries_;
};

}  // namespace lossless::lldp
