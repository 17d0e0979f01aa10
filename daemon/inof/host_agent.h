// SPDX-License-Identifier: Apache-2.0
// The iNOF host agent: announces this host's addresses to its switches by LLDP, takes their notifications,
// ACKs them, keeps the list of members, and says which hook is to run. Pure: frames, results and time come
// in; frames and orders for hooks go out.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/inof/host_hook.h"
#include "daemon/inof/packet.h"
#include "daemon/net/port_ref.h"

namespace lossless::inof {

using Time = std::chrono::steady_clock::time_point;

// One address that is announced on one port.
struct HostAddress {
  net::PortRef port;      // frames go out of and come in by this one, untagged
  std::string interface;  // that has the address: the port, or a VLAN or bond above it
  IpAddress address = {};
  unsigned index = 1;  // of the addresses of that interface, the _NN of the port ID
  bool up = false;     // port and interface have a link
  bool operator==(const HostAddress&) const = default;
};

enum class HookState : std::uint8_t {
  Idle,     // nothing to do
  Waiting,  // for its turn, or for the next try
  Running,
  Done,
  Failed,  // given up after the last retry
};
std::string_view to_string(HookState state);

// One address of ours that a switch told about one host.
struct MemberKey {
  int ifindex = 0;
  IpAddress notified = {};
  IpAddress subject = {};
  auto operator<=>(const MemberKey&) const = default;
};

struct Member {
  State state = State::Offline;
  Reason reason = Reason::Normal;
  std::uint32_t sequence = 0;
  Bytes attached = {};
  std::string port = {};
  Time changed;

  // Messages taken a short while ago: a repeated one is ACKed again and nothing more.
  struct Seen {
    Mac source{};
    std::uint32_t sequence = 0;
    State state{};
    Reason reason{};
    Time at;
  };
  std::deque<Seen> seen = {};

  HookState hook = HookState::Idle;
  std::uint64_t run = 0;         // of the hook while it runs
  bool superseded = false;       // the state changed while it ran: it is killed, then runs for the new one
  bool killed = false;           // by its time limit
  unsigned attempts = 0;         // for the present state
  Time next;                     // Waiting: not before; Running: killed then
  std::string hook_result = {};  // of the last run
};

struct HostEvent {
  Time at;
  std::string port;
  Mac source{};
  Notify notify = {};
};

struct HostStatistics {
  std::uint64_t announced = 0;
  std::uint64_t queries = 0;
  std::uint64_t notifications = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t acks = 0;
  std::uint64_t not_for_us = 0;
  std::uint64_t malformed = 0;
  std::uint64_t other_dialect = 0;
  std::uint64_t members_dropped = 0;
  std::uint64_t send_failures = 0;
  std::uint64_t hooks_started = 0;
  std::uint64_t hooks_failed = 0;
  std::uint64_t hooks_killed = 0;
  std::uint64_t hooks_given_up = 0;
  bool operator==(const HostStatistics&) const = default;
};

class HostAgent {
 public:
  // Hands a whole frame to a port; whether the device took it.
  using Sender = std::function<bool(const net::PortRef&, ByteView frame)>;
  // Starts the hook of `run`; its end is told to hook_ended(), later.
  using Start = std::function<void(std::uint64_t run, const HookEvent& event)>;
  using Kill = std::function<void(std::uint64_t run)>;
  struct Outputs {
    Sender send;
    Start start;
    Kill kill;
  };

  HostAgent(InofHostConfig config, Outputs outputs)
      : config_(std::move(config)), outputs_(std::move(outputs)) {}

  // All addresses there are now. New ones are announced and queried for at once; of those that went while
  // their port has a link, the switch is told by TTL 0.
  void set_addresses(const std::vector<HostAddress>& addresses, Time now);
  void set_config(const InofHostConfig& config, Time now);
  const InofHostConfig& config() const { return config_; }

  void receive(int ifindex, ByteView frame, Time now);
  void hook_ended(std::uint64_t run, const HookResult& result, Time now);
  // Announces, starts and kills what is due.
  void advance(Time now);
  std::optional<Time> next_deadline() const;

  struct Announced {
    HostAddress address;
    Time next;               // announcement
    unsigned fast_left = 0;  // announcements a second apart before the interval holds
    std::uint64_t announced = 0;
    std::uint64_t queries = 0;
  };
  const std::vector<Announced>& addresses() const { return addresses_; }
  const std::map<MemberKey, Member>& members() const { return members_; }
  const std::deque<HostEvent>& events() const { return events_; }  // oldest first
  const HostStatistics& statistics() const { return statistics_; }

 private:
  lldp::Packet announcement(const HostAddress& address) const;
  void announce(Announced& entry, Time now);
  void query(Announced& entry);
  void withdraw(const HostAddress& address);
  bool send(const net::PortRef& port, ByteView frame);
  const Announced* owner(int ifindex, const IpAddress& address) const;

  // Whether the message is to be ACKed.
  bool take(const net::PortRef& port, const Mac& source, const Notify& notify, Time now);
  Member* member_for(const MemberKey& key);
  void update(Member& member, const Notify& notify, Time now);
  void want_hook(Member& member, Time now);
  void start_hooks(Time now);
  void start_hook(const MemberKey& key, Member& member, Time now);
  void stop_late_hooks(Time now);
  void retry_or_give_up(Member& member, Time now);

  InofHostConfig config_;
  Outputs outputs_;
  std::vector<Announced> addresses_;
  std::map<MemberKey, Member> members_;
  std::map<std::uint64_t, MemberKey> running_;  // by run
  std::deque<HostEvent> events_;
  HostStatistics statistics_;
  std::uint64_t last_run_ = 0;
};

}  // namespace lossless::inof
