// SPDX-License-Identifier: Apache-2.0
#include "daemon/lldp/agent.h"

#include <algorithm>

namespace lossless::lldp {
namespace {

// Table 9-2.
constexpr unsigned kMaxCredit = 5;     // txCreditMax
constexpr Seconds kFastInterval{1};    // msgFastTx
constexpr Seconds kCreditInterval{1};  // txAddCredit
constexpr Seconds kReinitDelay{2};     // reinitDelay
constexpr std::int64_t kMaxTtl = 65535;

bool transmits(Mode mode) { return mode == Mode::Tx || mode == Mode::Both; }
bool receives(Mode mode) { return mode == Mode::Rx || mode == Mode::Both; }

// Whether two LLDPDUs say the same; how long they hold is not what they say.
bool same_content(const Packet& a, const Packet& b) {
  return a.port_description == b.port_description && a.system_name == b.system_name &&
         a.system_description == b.system_description && a.capabilities == b.capabilities &&
         a.management == b.management && a.org == b.org;
}

void refill(Agent::PortState& port, Time now) {
  while (port.credit < kMaxCredit && now >= port.next_credit) {
    port.credit++;
    port.next_credit += kCreditInterval;
  }
}

// When the port sends next.
Time due(const Agent::PortState& port) {
  Time at = port.tx_now ? Time::min() : port.next_tx;
  if (port.credit == 0) at = std::max(at, port.next_credit);
  return std::max(at, port.not_before);
}

}  // namespace

std::string_view to_string(EventKind kind) {
  constexpr std::array<std::string_view, 6> kNames{"new",  "changed",  "refreshed",
                                                   "aged", "shutdown", "link-down"};
  return kNames[static_cast<std::size_t>(kind)];
}

void Agent::set_org_tlvs(const std::string& port, const std::string& owner, std::vector<OrgTlv> tlvs) {
  auto& current = org_tlvs_[port][owner];
  if (current == tlvs) return;
  current = std::move(tlvs);
  for (auto& [ifindex, state] : ports_)
    if (state.ref.name == port) state.tx_now = true;
  wake_();
}

void Agent::set_system(const LocalSystem& system) {
  if (system == system_) return;
  system_ = system;
  for (auto& [ifindex, port] : ports_) port.tx_now = true;
  wake_();
}

void Agent::port_up(const net::PortRef& ref, Mode mode, const LocalPort& local, Time now) {
  // An interface that came back under its name has another index.
  const auto old = std::ranges::find_if(ports_, [&](const auto& entry) {
    return entry.first != ref.ifindex && entry.second.ref.name == ref.name;
  });
  if (old != ports_.end()) {
    remove_all(old->second, EventKind::LinkDown, now);
    ports_.erase(old);
  }
  PortState& port = ports_[ref.ifindex];
  if (port.ref != ref || port.local != local) port.tx_now = true;
  // What was said under the old identity must not stay with the neighbours beside the new one.
  if (port.up && transmits(port.mode) && port.ref.name != ref.name) say_goodbye(port, now);
  port.ref = ref;
  port.local = local;
  if (!port.up) port.mode = Mode::Off;
  port.up = true;
  set_mode(port, mode, now);
}

void Agent::set_mode(PortState& port, Mode mode, Time now) {
  const Mode before = port.mode;
  port.mode = mode;
  if (transmits(before) && !transmits(mode)) say_goodbye(port, now);
  if (receives(before) && !receives(mode)) remove_all(port, EventKind::LinkDown, now);
  if (!transmits(before) && transmits(mode)) start_transmitting(port, now);
}

// Frames sent while the peer's end is still coming up are lost: the fast start covers that too.
void Agent::start_transmitting(PortState& port, Time now) {
  port.next_tx = now;
  port.tx_now = true;
  port.credit = kMaxCredit;
  port.next_credit = now;
  port.fast_left = timing_.fast_start;
}

void Agent::port_down(int ifindex, Time now) {
  const auto at = ports_.find(ifindex);
  if (at == ports_.end()) return;
  at->second.up = false;
  remove_all(at->second, EventKind::LinkDown, now);
}

void Agent::remove_port(int ifindex, Time now) {
  const auto at = ports_.find(ifindex);
  if (at == ports_.end()) return;
  PortState& port = at->second;
  if (port.up && transmits(port.mode)) say_goodbye(port, now);
  remove_all(port, EventKind::LinkDown, now);
  ports_.erase(at);
}

void Agent::say_goodbye(PortState& port, Time now) {
  port.not_before = now + kReinitDelay;
  (void)send(port, encode_shutdown(local_packet(port), port.ref.mac));
}

void Agent::receive(int ifindex, ByteView frame, Time now) {
  const auto at = ports_.find(ifindex);
  if (at == ports_.end() || !at->second.up || !receives(at->second.mode)) return;
  PortState& port = at->second;
  Statistics& count = port.statistics;
  count.frames_in++;
  auto decoded = decode(frame);
  if (!decoded) {
    count.frames_discarded++;
    count.frames_in_errors++;
    return;
  }
  count.tlvs_discarded += decoded->tlvs_discarded;
  count.tlvs_unrecognised += decoded->tlvs_unrecognised;
  if (decoded->tlvs_discarded > 0) count.frames_in_errors++;
  learn(port, std::move(*decoded), now);
}

void Agent::learn(PortState& port, Decoded decoded, Time now) {
  NeighbourKey key{.chassis = decoded.packet.chassis, .port = decoded.packet.port};
  const auto known = port.neighbours.find(key);
  if (decoded.packet.ttl_s == 0) {
    if (known != port.neighbours.end()) remove(port, known, EventKind::Shutdown, now);
    return;
  }
  if (known == port.neighbours.end()) return add(port, std::move(key), std::move(decoded), now);
  refresh(port, known->first, known->second, std::move(decoded), now);
}

// Those that are known stay when there is no room (9.2.7.7.5): a flood must not push them out.
void Agent::add(PortState& port, NeighbourKey key, Decoded decoded, Time now) {
  if (port.neighbours.size() >= timing_.max_neighbours) {
    port.statistics.drops++;
    port.statistics.frames_discarded++;
    return set_full(port, true);
  }
  const Time expires = now + Seconds(decoded.packet.ttl_s);
  expiries_.insert({.at = expires, .ifindex = port.ref.ifindex, .key = key});
  Neighbour& neighbour = port.neighbours[std::move(key)];
  neighbour = {.packet = std::move(decoded.packet),
               .source = decoded.source,
               .first_seen = now,
               .last_changed = now,
               .last_seen = now,
               .expires = expires,
               .frames = 1};
  port.statistics.inserts++;
  // The newcomer learns of us at once (9.2.10.3.4).
  port.fast_left = timing_.fast_start;
  port.tx_now = true;
  tell({.kind = EventKind::New, .port = port.ref, .neighbour = neighbour, .before = nullptr, .now = now});
}

void Agent::refresh(PortState& port, const NeighbourKey& key, Neighbour& known, Decoded decoded, Time now) {
  expiries_.erase({.at = known.expires, .ifindex = port.ref.ifindex, .key = key});
  known.expires = now + Seconds(decoded.packet.ttl_s);
  expiries_.insert({.at = known.expires, .ifindex = port.ref.ifindex, .key = key});
  known.last_seen = now;
  known.source = decoded.source;
  known.frames++;
  const bool changed = !same_content(known.packet, decoded.packet);
  const Packet before = std::exchange(known.packet, std::move(decoded.packet));
  if (changed) {
    known.last_changed = now;
    port.statistics.changes++;
  }
  tell({.kind = changed ? EventKind::Changed : EventKind::Refreshed,
        .port = port.ref,
        .neighbour = known,
        .before = changed ? &before : nullptr,
        .now = now});
}

void Agent::remove(PortState& port, Neighbours::iterator which, EventKind why, Time now) {
  const auto gone = port.neighbours.extract(which);
  expiries_.erase({.at = gone.mapped().expires, .ifindex = port.ref.ifindex, .key = gone.key()});
  port.statistics.deletes++;
  if (why == EventKind::Aged) port.statistics.ageouts++;
  tell({.kind = why, .port = port.ref, .neighbour = gone.mapped(), .before = nullptr, .now = now});
  set_full(port, false);
}

void Agent::remove_all(PortState& port, EventKind why, Time now) {
  while (!port.neighbours.empty()) remove(port, port.neighbours.begin(), why, now);
}

void Agent::set_full(PortState& port, bool full) {
  if (port.full == full) return;
  port.full = full;
  for (const LimitListener& listener : limit_listeners_) listener(port.ref, full);
}

void Agent::tell(const Event& event) const {
  for (const Listener& listener : listeners_) listener(event);
}

void Agent::age(Time now) {
  while (!expiries_.empty() && expiries_.begin()->at <= now) {
    PortState& port = ports_.at(expiries_.begin()->ifindex);
    remove(port, port.neighbours.find(expiries_.begin()->key), EventKind::Aged, now);
  }
}

void Agent::advance(Time now) {
  age(now);
  for (auto& [ifindex, port] : ports_)
    if (port.up && transmits(port.mode)) transmit(port, now);
}

void Agent::transmit(PortState& port, Time now) {
  refill(port, now);
  if (due(port) > now) return;
  if (port.credit == kMaxCredit) port.next_credit = now + kCreditInterval;
  port.credit--;
  port.tx_now = false;
  (void)send(port, encode(local_packet(port), port.ref.mac));
  if (port.fast_left > 0) port.fast_left--;
  port.next_tx = now + (port.fast_left > 0 ? kFastInterval : timing_.interval);
}

bool Agent::send(PortState& port, ByteView frame) {
  const bool sent = send_(port.ref, frame);
  (sent ? port.statistics.frames_out : port.statistics.frames_out_failed)++;
  return sent;
}

std::optional<Time> Agent::next_deadline() const {
  std::optional<Time> next;
  const auto take = [&](Time at) { next = next ? std::min(*next, at) : at; };
  if (!expiries_.empty()) take(expiries_.begin()->at);
  for (const auto& [ifindex, port] : ports_)
    if (port.up && transmits(port.mode)) take(due(port));
  return next;
}

Seconds Agent::lifetime() const {
  const std::int64_t ttl = timing_.interval.count() * timing_.hold + 1;
  return Seconds(std::min(ttl, kMaxTtl));
}

Packet Agent::local_packet(const PortState& port) const {
  Packet packet{.chassis = chassis_of(system_.chassis), .port = port_of(port.ref.name)};
  packet.ttl_s = static_cast<std::uint16_t>(lifetime().count());
  if (!port.local.description.empty()) packet.port_description = port.local.description;
  if (!system_.name.empty()) packet.system_name = system_.name;
  if (!system_.description.empty()) packet.system_description = system_.description;
  packet.capabilities = system_.capabilities;
  packet.management = port.local.management;
  const auto owners = org_tlvs_.find(port.ref.name);
  if (owners == org_tlvs_.end()) return packet;
  for (const auto& [owner, tlvs] : owners->second)
    packet.org.insert(packet.org.end(), tlvs.begin(), tlvs.end());
  return packet;
}

}  // namespace lossless::lldp
