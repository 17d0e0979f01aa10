// SPDX-License-Identifier: Apache-2.0
// One neighbour: its one or, until a collision is resolved, two connections (RFC 4271 section 6.8), their
// timers, and what the OPEN messages agreed on. Pure: bytes and time come in, calls of NeighborHost go out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/bgp/fsm.h"
#include "daemon/bgp/packet.h"
#include "daemon/bgp/update.h"

namespace lossless::bgp {

using ConnId = std::uint64_t;  // never used again; 0: none

// What the configuration says of a neighbour.
struct NeighborSettings {
  IpAddress address = {};
  std::uint32_t asn = 0;        // theirs
  std::uint32_t local_asn = 0;  // ours
  RouterId router_id = 0;       // ours
  bool client = false;
  bool passive = false;  // it connects to us
  bool shutdown = false;
  unsigned hold_s = 90;
  unsigned connect_retry_s = 5;
  unsigned restart_s = 120;  // graceful restart; 0: off
  std::uint32_t max_prefixes = 1'000'000;
  Families families = {};
  std::string password = {};   // TCP-MD5 (RFC 2385)
  std::string key_chain = {};  // TCP-AO (RFC 5925); not beside a password
  unsigned ttl_security = 0;   // hops; 0: off (RFC 5082)
  IpAddress source = {};       // zero: as routed
  std::string interface = {};  // of a link-local address
  bool bfd = false;
  std::string description = {};
  bool dynamic = false;            // of a listen range
  std::string import_filter = {};  // by name; empty: all is permitted
  std::string export_filter = {};
  bool operator==(const NeighborSettings&) const = default;
  bool external() const { return asn != local_asn; }
  PeerAddress peer() const { return {address, interface}; }
  // Whether a session need not start anew: filters may change while it is up.
  bool same_session(NeighborSettings other) const {
    other.import_filter = import_filter;
    other.export_filter = export_filter;
    return *this == other;
  }
};

enum class Loss : std::uint8_t {
  Tcp,       // the connection fell: graceful restart may keep the routes
  Received,  // their NOTIFICATION
  Sent,      // ours: an error of theirs, or the hold time
  Admin,     // by an operator or the configuration
};

struct NeighborCounters {
  std::array<std::uint64_t, 6> in{};  // by MessageType
  std::array<std::uint64_t, 6> out{};
  std::uint64_t established = 0;
  std::uint64_t dropped = 0;   // sessions
  std::uint64_t refused = 0;   // connections of theirs
  std::uint64_t faults = 0;    // UPDATE errors that did not end the session
  std::uint64_t looped = 0;    // routes
  std::uint64_t filtered = 0;  // routes that the import filter denied, each time
  bool operator==(const NeighborCounters&) const = default;
};

// What was agreed on with the OPENs.
struct Agreed {
  Families families = {};
  unsigned hold_s = 0;
  bool four_octet_as = false;
  bool extended_message = false;
  bool route_refresh = false;
  bool enhanced_refresh = false;
  bool operator==(const Agreed&) const = default;
};

class Neighbor;
struct SavedNeighbor;
// Who has the sockets and the routes.
class NeighborHost {
 public:
  virtual ~NeighborHost() = default;
  virtual ConnId connect(const Neighbor& neighbor) = 0;
  virtual void send(ConnId conn, Bytes message) = 0;
  // What was sent before goes out first.
  virtual void close(ConnId conn) = 0;
  virtual void established(Neighbor& neighbor) = 0;
  virtual void lost(Neighbor& neighbor, Loss loss) = 0;
  virtual void update(Neighbor& neighbor, const Update& update) = 0;
  virtual void refresh(Neighbor& neighbor, const RouteRefresh& refresh) = 0;
  // For the graceful restart capability: whether we come back from a restart with what we had.
  virtual bool restarting() const = 0;
};

// One TCP connection, made or not, with its state machine.
struct Connection {
  ConnId id = 0;
  bool outgoing = false;
  State state = State::Idle;
  Framer in = {};
  std::optional<Open> open = {};
  Agreed agreed = {};
  std::optional<Time> hold_due = {};
  std::optional<Time> keepalive_due = {};
  std::optional<Time> retry_due = {};
};

class Neighbor {
 public:
  Neighbor(std::uint32_t id, NeighborSettings settings, NeighborHost& host)
      : id_(id), settings_(std::move(settings)), host_(host) {}

  std::uint32_t id() const { return id_; }
  const NeighborSettings& settings() const { return settings_; }
  State state() const;
  bool established() const { return state() == State::Established; }
  ConnId connection() const { return main_ ? main_->id : 0; }
  const std::optional<Open>& peer_open() const { return peer_open_; }
  const Agreed& agreed() const { return agreed_; }
  const NeighborCounters& counters() const { return counters_; }
  NeighborCounters& counters() { return counters_; }
  // Of the last session, and of the last try to connect since.
  const std::string& last_error() const { return last_error_; }
  const std::string& connect_error() const { return connect_error_; }
  Time since() const { return since_; }
  bool idle() const { return stopped_; }
  // How often the session that is there now went on in another process.
  std::uint32_t handed_over() const { return handed_over_; }
  // Bytes that are there of a message.
  std::size_t partial() const { return main_ ? main_->in.held() : 0; }
  // Why it is kept down: "shutdown", "max-prefix"; empty: it is not.
  const std::string& held_down() const { return held_down_; }

  void start(Time now);
  // Ends what there is with a cease; starts anew unless it is to stay down.
  void reset(std::uint8_t subcode, std::string_view text, Time now);
  void stop(std::uint8_t subcode, std::string_view text, std::string why, Time now);
  // It is known to be gone (BFD): nothing is waited for.
  void fell(Time now);
  void fail(const Notification& fault, Time now);

  // For the next process, and there: instead of start(); `conn` is the session's, if there is one.
  SavedNeighbor save() const;
  void restore(const SavedNeighbor& saved, ConnId conn, Time now);

  // A connection of theirs; false: refuse it.
  bool accept(ConnId conn, Time now);
  void connected(ConnId conn, Time now);
  void disconnected(ConnId conn, const std::string& why, Time now);
  void received(ConnId conn, ByteView bytes, Time now);
  bool owns(ConnId conn) const { return (main_ && main_->id == conn) || (other_ && other_->id == conn); }

  void advance(Time now);
  std::optional<Time> due() const;
  // Asks for all routes anew; false: they do not do that.
  bool ask_refresh(Family family);
  void set_filters(const std::string& import_filter, const std::string& export_filter) {
    settings_.import_filter = import_filter;
    settings_.export_filter = export_filter;
  }
  // Counts what was sent in bulk.
  void count_sent(MessageType type, std::size_t n) { counters_.out[static_cast<std::size_t>(type)] += n; }

 private:
  using Slot = std::optional<Connection>;

  Slot* slot_of(ConnId conn);
  void fire(Slot& slot, Event event, Time now, const Notification* fault = nullptr);
  void perform(Slot& slot, const Transition& to, State before, Event event, Time now,
               const Notification* fault);
  void send_open(Slot& slot, Time now);
  void confirm(Slot& slot, Time now);
  void establish(Slot& slot, Time now);
  void keepalive(Slot& slot, Time now);
  void heard(Slot& slot, Time now);
  void end(Slot& slot, State before, Loss loss, Time now);
  void send(Slot& slot, MessageType type, Bytes message);
  // False: the connection is gone, or the session is not what it was.
  bool handle(Slot& slot, const Message& message, Time now);
  void handle_open(Slot& slot, ByteView body, Time now);
  void handle_update(Slot& slot, ByteView body, Time now);
  void handle_refresh(Slot& slot, ByteView body, Time now);
  std::optional<Notification> check_open(const Open& open) const;
  void resolve_collision(Slot& slot, const Open& open, Time now);
  Open own_open() const;

  std::uint32_t id_;
  NeighborSettings settings_;
  NeighborHost& host_;
  Slot main_;
  Slot other_;
  bool stopped_ = true;
  std::string held_down_;
  std::optional<Open> peer_open_;
  Agreed agreed_;
  NeighborCounters counters_;
  std::string last_error_;
  std::string connect_error_;
  Time since_{};  // of the state
  std::uint32_t handed_over_ = 0;
};

}  // namespace lossless::bgp
