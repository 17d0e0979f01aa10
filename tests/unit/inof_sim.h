// SPDX-License-Identifier: Apache-2.0
// A switch with hosts made of values, for tests and benchmarks of the iNOF switch: hosts answer at once or
// never.
#pragma once

#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "daemon/inof/switch.h"

namespace lossless::inof::test {

inline IpAddress ip(const std::string& text) { return parse_ip(text).value_or(IpAddress{}); }

inline Announcement host(PortId port, const std::string& address, Dialect dialect = Dialect::Odcc,
                         Role role = Role::Server) {
  Announcement a;
  a.port = port;
  const IpAddress parsed = ip(address);
  a.chassis = {lldp::kChassisMac, {2, 0, parsed.bytes[0], parsed.bytes[1], parsed.bytes[2], parsed.bytes[3]}};
  a.port_id = host_port_id(dialect, "eth0", 1);
  a.tlv = {.dialect = dialect, .address = parsed, .subscribes = true, .service = Service{}};
  a.tlv.service->role = role;
  return a;
}

struct Seen {
  std::string subject;
  State state = State::Offline;
  Reason reason = Reason::Normal;
  bool operator==(const Seen&) const = default;
};
inline void PrintTo(const Seen& s, std::ostream* out) {
  *out << s.subject << ' ' << to_string(s.state) << ' ' << to_string(s.reason);
}
inline Seen online(const std::string& subject) { return {subject, State::Online, Reason::Normal}; }
inline Seen offline(const std::string& subject, Reason reason) { return {subject, State::Offline, reason}; }

struct Sim {
  explicit Sim(const InofConfig& config = {}, unsigned ports = 4) {
    sw.configure(config, now);
    for (PortId port = 0; port < ports; ++port) sw.set_port(port, "p" + std::to_string(port), true, now);
  }

  // Takes what the switch wants done; hosts that are not mute acknowledge, until nothing more comes.
  void settle() {
    for (;;) {
      const Switch::Actions actions = sw.take(now);
      changes.insert(changes.end(), actions.changes.begin(), actions.changes.end());
      rows.insert(actions.rows.begin(), actions.rows.end());
      if (actions.frames.empty()) return;
      for (const OutFrame& frame : actions.frames) deliver(frame);
    }
  }
  void deliver(const OutFrame& frame) {
    ++frames[frame.port];
    StatusFrame answer{.dialect = frame.dialect, .source = {}, .messages = {}};
    for (const Message& message : frame.messages) {
      const auto& notify = std::get<Notify>(message);
      seen[to_string(notify.notified)].push_back({to_string(notify.subject), notify.state, notify.reason});
      last[to_string(notify.notified)] = notify;
      if (!mute.contains(to_string(notify.notified)))
        answer.messages.emplace_back(Ack{notify.subject, notify.notified, notify.sequence});
    }
    if (!answer.messages.empty()) sw.frame(frame.port, answer, now);
  }
  void announce(const Announcement& a) {
    sw.announced(a, now);
    settle();
  }
  // What a host was told since the last call.
  std::vector<Seen> told(const std::string& address) { return std::exchange(seen[address], {}); }
  // Lets time pass, acting whenever something is due.
  void pass(Micros time) {
    const Micros end = now + time;
    for (;;) {
      const auto due = sw.due(now);
      if (!due || *due > end) break;
      now = std::max(now, *due);
      sw.advance(now);
      settle();
    }
    now = end;
    sw.advance(now);
    settle();
  }
  HostState state(const std::string& address) const {
    const auto& all = sw.hosts().with_address(ip(address));
    return all.empty() ? HostState::Offline : sw.hosts().at(all.front()).state;
  }

  Switch sw;
  Micros now = std::chrono::seconds(1000);
  std::map<std::string, std::vector<Seen>> seen;
  std::map<std::string, Notify> last;
  std::map<PortId, std::size_t> frames;
  std::set<std::string> mute;
  std::vector<HostChange> changes;
  std::set<IpAddress> rows;
};

}  // namespace lossless::inof::test
