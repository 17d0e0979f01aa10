// SPDX-License-Identifier: Apache-2.0
// The iNOF switch: what it hears from hosts, links, operators and other switches goes in; frames to hosts,
// changes to report and addresses whose datapath row is stale come out. Pure: time comes in.
//
// A host is present from an LLDP frame of its until it says goodbye, its link goes down, or nothing was heard
// for the age time. It is online while it is present and nothing speaks against it: the white list, another
// host that owns its address, damping, a PFC deadlock on its port. Every change of that is told to the
// subscribed online hosts of its zones, each of them once.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/inof/hosts.h"
#include "daemon/inof/notifier.h"
#include "daemon/inof/remote.h"
#include "daemon/inof/saved.h"
#include "daemon/inof/zones.h"

namespace lossless::inof {

inline constexpr std::size_t kMaxHosts = 16384;                // local and remote, those that left included
inline constexpr Micros kForgetAfter = std::chrono::hours(1);  // shown that long after it left

// An LLDP frame of a host, as far as it matters here.
struct Announcement {
  PortId port = kNoPort;
  lldp::Id chassis;
  lldp::Id port_id;
  HostTlv tlv;
};

// A host's state changed, for logs and alarms.
struct HostChange {
  IpAddress address;
  bool local = true;
  PortId port = kNoPort;
  std::uint32_t origin = 0;
  HostState state = HostState::Offline;
  Reason reason = Reason::Normal;
  std::string why;
};

// What the datapath's row of an address says (LL_ZONE_* of bpf/abi.h are made of it).
struct AddressRow {
  std::vector<ZoneId> zones;  // ascending, the default zone included
  bool initiator = false;
};

struct SwitchCounters {
  std::uint64_t announcements = 0;
  std::uint64_t refused_dialect = 0;  // the configuration has that dialect off
  std::uint64_t refused_down = 0;     // on a port without a link
  std::uint64_t refused_full = 0;     // new hosts on a port that has as many as allowed, or in all
  std::uint64_t joined = 0;
  std::uint64_t left = 0;
  std::uint64_t queries = 0;
  std::uint64_t queries_unknown = 0;      // for an address that is no local host of that port
  std::uint64_t stray_notifications = 0;  // a notification came in: those are ours to send
};

class Switch {
 public:
  // What happened since the last call. Nothing may be left behind: call after every event.
  struct Actions {
    std::vector<OutFrame> frames;
    std::vector<HostChange> changes;
    std::set<IpAddress> rows;  // addresses whose row may have changed
  };

  Switch();
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  void set_remote_sink(RemoteSink* sink) { remote_ = sink; }
  // Everything from the configuration; zones are brought to it member by member.
  void configure(const InofConfig& config, Micros now);
  // Ports are known by number; the name is for the white list. A port that is not up loses its hosts.
  void set_port(PortId port, const std::string& name, bool up, Micros now);
  void remove_port(PortId port, Micros now);

  void announced(const Announcement& announcement, Micros now);
  // The host goes away: TTL 0 (normal), or its own TTL ran out.
  void goodbye(PortId port, const lldp::Id& chassis, const lldp::Id& port_id, Reason reason, Micros now);
  void frame(PortId port, const StatusFrame& frame, Micros now);
  // PFC deadlock of a TC on a port: its hosts leave, and may come back once no TC of the port has one.
  void pfc_deadlock(PortId port, unsigned tc, bool on, Micros now);
  // Other switches, see remote.h.
  void remote_joined(const RemoteHost& host, Micros now);
  void remote_left(std::uint32_t origin, const lldp::Id& chassis, const lldp::Id& port_id, Reason reason,
                   Micros now);
  void remote_switch_lost(std::uint32_t origin, Micros now);  // reason 3, BFD

  // Changes by an operator. Errors name the value and what is allowed.
  using Done = std::expected<void, std::string>;
  Done add_zone(std::string_view name, Micros now);
  Done remove_zone(std::string_view name, Micros now);
  Done add_member(std::string_view zone, const AddressRange& member, Micros now);
  Done remove_member(std::string_view zone, const AddressRange& member, Micros now);
  void set_default_zone(bool on, Micros now);
  void set_hard_zoning(bool on);

  // What other switches have configured, see remote.h. What is ours stays as it is beneath it.
  void set_remote_config(RemoteConfig config);
  const RemoteConfig& remote_config() const { return remote_config_; }

  // For the next process: the local hosts, and what is under way to them.
  SavedSwitch save() const;
  // There, once ports and what other switches say are known, and with the zones as they were: nobody is told
  // anything but of hosts whose port has lost its link, or is none of ours any more. `current`: see
  // Notifier::restore.
  void restore(const SavedSwitch& saved, bool current, Micros now);

  // Ages, lets go, repeats: call when due() is reached.
  void advance(Micros now);
  std::optional<Micros> due(Micros now) const;
  Actions take(Micros now);

  const Hosts& hosts() const { return hosts_; }
  const Zones& zones() const { return zones_; }
  const Notifier& notifier() const { return notifier_; }
  const SwitchCounters& counters() const { return counters_; }
  const InofConfig& config() const { return config_; }  // zones aside, as changed at run time
  // With the zones as they are now: what to keep for a restart.
  InofConfig running() const;
  std::string port_name(PortId port) const;
  bool port_full(PortId port) const;
  // Row of an address; nothing: it is no host of ours.
  std::optional<AddressRow> row(const IpAddress& address) const;
  // All addresses that have a row.
  std::set<IpAddress> row_addresses() const;

 private:
  struct Port {
    std::string name;
    bool known = false;
    bool up = false;
    std::uint8_t deadlocked = 0;  // a bit for each TC
    bool full = false;            // a host was refused since there was room last
  };
  struct Release {
    Micros at;
    HostId id;
    bool operator>(const Release& other) const { return at > other.at; }
  };

  void restore_host(const SavedHost& saved, PortId port, bool current, Micros now);
  HostId find_or_add(const HostKey& key, Micros now);
  bool make_room(PortId port);
  void hear(HostId id, const HostTlv& tlv, Micros now);
  void lose(HostId id, Reason reason, Micros now);
  void forget(HostId id);
  // Brings the state to what holds now; `reason` is for a leave.
  void settle(HostId id, Reason reason, Micros now);
  void settle_address(const IpAddress& address, Micros now);
  HostState judge(const Host& host, Micros now, std::string& why) const;
  void enter(HostId id, HostState state, Reason reason, Micros now);
  void go_online(HostId id, Micros now);
  void go_offline(HostId id, Reason reason, Micros now);
  void tell_mates(HostId id, State state, Reason reason);
  void report(const Host& host);
  void touch(const Host& host) { actions_.rows.insert(host.tlv.address); }

  std::vector<ZoneId> zones_of(const IpAddress& address) const;
  std::vector<HostId> online_mates(HostId id) const;
  void tell_pairs(HostId id, const std::vector<HostId>& before, const std::vector<HostId>& after);
  void rezone(std::span<const HostId> ids);
  void rezone_ranges(const std::set<AddressRange>& ranges);
  void rezone_all();
  // Where our own configuration of a zone is: in zones_, or beneath what another switch has of it.
  Zones& own_zones(std::string_view name);
  const Zones& own_zones(std::string_view name) const;
  std::vector<std::string> own_zone_names() const;
  // Brings a zone that other switches have to what it should be; false: it is ours alone.
  bool sync_zone(std::string_view name);
  void set_members(std::string_view name, const std::set<AddressRange>* wanted);
  void sync_switches();
  void apply_zones(const std::vector<InofZoneConfig>& zones);
  void apply_members(const InofZoneConfig& zone);
  void tell_of(HostId subscriber, HostId subject, State state, Reason reason);
  std::optional<Fact> walk(HostId subscriber, Cursor& cursor, bool all) const;
  Fact fact_of(const Host& host, State state, Reason reason) const;

  InofConfig config_;
  Zones zones_;
  Hosts hosts_;
  Notifier notifier_;
  std::vector<Port> ports_;
  std::priority_queue<Release, std::vector<Release>, std::greater<>> releases_;
  mutable std::vector<std::uint32_t> marks_;  // by host: stamp of the last walk over mates that met it
  mutable std::uint32_t stamp_ = 0;
  RemoteSink* remote_ = nullptr;
  RemoteConfig remote_config_;
  Zones beneath_;  // our own of zones that remote_config_ has
  bool own_default_zone_ = InofConfig().default_zone;
  bool own_hard_zoning_ = InofConfig().hard_zoning;
  SwitchCounters counters_;
  Actions actions_;
};

}  // namespace lossless::inof
