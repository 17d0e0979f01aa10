// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/switch.h"

#include <algorithm>
#include <utility>

#include "daemon/inof/whitelist.h"

namespace lossless::inof {
namespace {

bool hears(InofDialects dialects, Dialect dialect) {
  return dialects == InofDialects::Both || (dialects == InofDialects::Odcc) == (dialect == Dialect::Odcc);
}

// A leave that the host or its link caused, not one that an operator made.
bool is_flap(Reason reason) {
  return reason == Reason::Normal || reason == Reason::LinkDown || reason == Reason::AddressChanged ||
         reason == Reason::Bfd;
}

}  // namespace

Switch::Switch()
    : notifier_([this](SubscriberId id, Cursor& cursor, bool all) { return walk(id, cursor, all); }) {}

std::string Switch::port_name(PortId port) const {
  return port < ports_.size() ? ports_[port].name : std::string();
}

bool Switch::port_full(PortId port) const { return port < ports_.size() && ports_[port].full; }

void Switch::set_port(PortId port, const std::string& name, bool up, Micros now) {
  if (ports_.size() <= port) ports_.resize(port + 1);
  Port& p = ports_[port];
  if (p.known && p.name != name) remove_port(port, now);
  p.known = true;
  p.name = name;
  p.up = up;
  if (up) return;
  p.deadlocked = 0;
  for (const HostId id : std::vector<HostId>(hosts_.on_port(port))) lose(id, Reason::LinkDown, now);
}

void Switch::remove_port(PortId port, Micros now) {
  if (port >= ports_.size() || !ports_[port].known) return;
  for (const HostId id : std::vector<HostId>(hosts_.on_port(port))) {
    lose(id, Reason::LinkDown, now);
    forget(id);
  }
  ports_[port] = {};
}

// Drops the host of the port that left first, if the port has as many as allowed; false when all are present.
bool Switch::make_room(PortId port) {
  const std::vector<HostId>& on_port = hosts_.on_port(port);
  if (port != kNoPort && on_port.size() >= config_.max_hosts_per_port) {
    HostId oldest = kNoHost;
    for (const HostId id : on_port) {
      const Host& host = hosts_.at(id);
      if (host.present || (oldest != kNoHost && hosts_.at(oldest).changed <= host.changed)) continue;
      oldest = id;
    }
    if (oldest == kNoHost) return false;
    forget(oldest);
  }
  while (hosts_.size() >= kMaxHosts) {
    if (hosts_.longest_gone() == kNoHost) return false;
    forget(hosts_.longest_gone());
  }
  return true;
}

HostId Switch::find_or_add(const HostKey& key, Micros now) {
  if (const HostId known = hosts_.find(key); known != kNoHost) return known;
  const bool local = key.local();
  if (!make_room(key.port)) {
    ++counters_.refused_full;
    if (local) ports_[key.port].full = true;
    return kNoHost;
  }
  if (local) ports_[key.port].full = false;
  const HostId id = hosts_.add(key);
  hosts_.at(id).changed = now;
  return id;
}

void Switch::announced(const Announcement& a, Micros now) {
  ++counters_.announcements;
  if (a.port >= ports_.size() || !ports_[a.port].up) {
    ++counters_.refused_down;
    return;
  }
  if (!hears(config_.dialects, a.tlv.dialect)) {
    ++counters_.refused_dialect;
    return;
  }
  const HostId id =
      find_or_add({.port = a.port, .origin = 0, .chassis = a.chassis, .port_id = a.port_id}, now);
  if (id != kNoHost) hear(id, a.tlv, now);
}

void Switch::hear(HostId id, const HostTlv& tlv, Micros now) {
  Host& host = hosts_.at(id);
  const bool is_new = !host.attached;
  if (!is_new && host.tlv.address != tlv.address) {
    if (host.present) lose(id, Reason::AddressChanged, now);
    touch(host);
    hosts_.unfile(id);
    hosts_.set_zones(id, {});
  }
  const bool moved = is_new || host.tlv.address != tlv.address;
  const bool other = moved || host.tlv != tlv;
  const bool news = host.online() && other && host.attached && *host.attached != attached_of(tlv);
  const bool resubscribed =
      host.online() && (host.tlv.subscribes != tlv.subscribes || host.tlv.dialect != tlv.dialect);
  if (other) {
    host.tlv = tlv;
    host.attached = std::make_shared<const Bytes>(attached_of(tlv));
    touch(host);
  }
  if (moved) {
    hosts_.file(id);
    hosts_.set_zones(id, zones_of(tlv.address));
  }
  hosts_.heard(id, now);
  if (resubscribed) {
    notifier_.unsubscribe(id);
    if (host.subscribed()) notifier_.subscribe(id, host.key.port, tlv.dialect, tlv.address, now);
  }
  if (news) tell_mates(id, State::Online, Reason::Normal);
  if (host.online() && other && remote_ && host.key.local()) remote_->local_host(host, true);
  settle(id, Reason::Normal, now);
}

void Switch::lose(HostId id, Reason reason, Micros now) {
  Host& host = hosts_.at(id);
  if (!host.present) return;
  if (is_flap(reason)) {
    host.damping.leave(now);
    if (host.damping.held(now)) releases_.push({host.damping.release(), id});
  }
  hosts_.gone(id);
  hosts_.give_up(id);
  settle(id, reason, now);
  settle_address(host.tlv.address, now);
}

void Switch::forget(HostId id) {
  touch(hosts_.at(id));
  notifier_.forget(id);
  hosts_.remove(id);
}

void Switch::goodbye(PortId port, const lldp::Id& chassis, const lldp::Id& port_id, Reason reason,
                     Micros now) {
  const HostId id = hosts_.find({.port = port, .origin = 0, .chassis = chassis, .port_id = port_id});
  if (id != kNoHost) lose(id, reason, now);
}

HostState Switch::judge(const Host& host, Micros now, std::string& why) const {
  if (!host.present) return HostState::Offline;
  if (host.key.local()) {
    if (auto reason = denied(config_.whitelist, ports_[host.key.port].name, host.tlv.address)) {
      why = std::move(*reason);
      return HostState::Denied;
    }
  }
  const HostId owner = hosts_.owner(host.tlv.address);
  if (owner != kNoHost && &hosts_.at(owner) != &host) {
    const Host& first = hosts_.at(owner);
    why = "its address belongs to " + lldp::chassis_text(first.key.chassis) +
          (first.key.local() ? " on " + ports_[first.key.port].name : " at another switch");
    return HostState::Conflict;
  }
  if (host.key.local() && ports_[host.key.port].deadlocked != 0) return HostState::Deadlock;
  if (Damping(host.damping).held(now)) return HostState::Damped;
  return HostState::Online;
}

void Switch::settle(HostId id, Reason reason, Micros now) {
  Host& host = hosts_.at(id);
  std::string why;
  HostState state = judge(host, now, why);
  // Whoever is let in claims the address; whoever is denied has no claim.
  const bool owned = hosts_.owner(host.tlv.address) == id;
  if (state == HostState::Denied) {
    hosts_.give_up(id);
  } else if (host.present) {
    hosts_.claim(id);
    state = judge(host, now, why);
  }
  host.why = std::move(why);
  if (state != host.state) enter(id, state, reason, now);
  if (owned && state == HostState::Denied) settle_address(host.tlv.address, now);
}

// Another host may own the address now.
void Switch::settle_address(const IpAddress& address, Micros now) {
  for (const HostId id : std::vector<HostId>(hosts_.with_address(address))) settle(id, Reason::Normal, now);
}

void Switch::enter(HostId id, HostState state, Reason reason, Micros now) {
  Host& host = hosts_.at(id);
  const bool was_online = host.online();
  host.state = state;
  host.changed = now;
  host.reason = host.online() ? Reason::Normal : reason;
  touch(host);
  if (was_online) go_offline(id, host.reason, now);
  if (host.online()) go_online(id, now);
  report(host);
}

void Switch::go_online(HostId id, Micros now) {
  Host& host = hosts_.at(id);
  ++counters_.joined;
  tell_mates(id, State::Online, Reason::Normal);
  if (host.subscribed()) notifier_.subscribe(id, host.key.port, host.tlv.dialect, host.tlv.address, now);
  if (remote_ && host.key.local()) remote_->local_host(host, true);
}

void Switch::go_offline(HostId id, Reason reason, Micros) {
  Host& host = hosts_.at(id);
  ++counters_.left;
  notifier_.unsubscribe(id);
  tell_mates(id, State::Offline, reason);
  if (remote_ && host.key.local()) remote_->local_host(host, false);
}

void Switch::report(const Host& host) {
  actions_.changes.push_back({.address = host.tlv.address,
                              .local = host.key.local(),
                              .port = host.key.port,
                              .origin = host.key.origin,
                              .state = host.state,
                              .reason = host.reason,
                              .why = host.why});
}

void Switch::frame(PortId port, const StatusFrame& frame, Micros now) {
  (void)now;
  for (const Message& message : frame.messages) {
    if (const auto* ack = std::get_if<Ack>(&message)) {
      const HostId id = hosts_.owner(ack->notified);
      if (id == kNoHost) {
        notifier_.count_bad_ack(BadAck::NotAsked);
      } else {
        (void)notifier_.ack(id, port, *ack);
      }
    } else if (const auto* query = std::get_if<QueryZone>(&message)) {
      ++counters_.queries;
      const HostId id = hosts_.owner(query->address);
      if (id != kNoHost && hosts_.at(id).key.port == port && notifier_.subscribed(id)) {
        notifier_.resync(id);
      } else {
        ++counters_.queries_unknown;
      }
    } else {
      ++counters_.stray_notifications;
    }
  }
}

void Switch::pfc_deadlock(PortId port, unsigned tc, bool on, Micros now) {
  if (port >= ports_.size() || tc >= kTcs) return;
  const auto bit = static_cast<std::uint8_t>(1U << tc);
  std::uint8_t& mask = ports_[port].deadlocked;
  mask = static_cast<std::uint8_t>(on ? mask | bit : mask & ~bit);
  for (const HostId id : std::vector<HostId>(hosts_.on_port(port))) settle(id, Reason::PfcDeadlock, now);
}

void Switch::remote_joined(const RemoteHost& remote, Micros now) {
  const HostId id = find_or_add(
      {.port = kNoPort, .origin = remote.origin, .chassis = remote.chassis, .port_id = remote.port_id}, now);
  if (id != kNoHost) hear(id, remote.tlv, now);
}

void Switch::remote_left(std::uint32_t origin, const lldp::Id& chassis, const lldp::Id& port_id,
                         Reason reason, Micros now) {
  const HostId id = hosts_.find({.port = kNoPort, .origin = origin, .chassis = chassis, .port_id = port_id});
  if (id != kNoHost) lose(id, reason, now);
}

void Switch::remote_switch_lost(std::uint32_t origin, Micros now) {
  for (HostId id = 0; id < hosts_.end(); ++id) {
    const Host& host = hosts_.at(id);
    if (host.used && !host.key.local() && host.key.origin == origin) lose(id, Reason::Bfd, now);
  }
}

void Switch::advance(Micros now) {
  const Micros age = std::chrono::seconds(config_.age_s);
  for (HostId id = hosts_.longest_silent(); id != kNoHost; id = hosts_.longest_silent()) {
    if (hosts_.at(id).heard + age > now) break;
    lose(id, Reason::LldpTimeout, now);
  }
  for (HostId id = hosts_.longest_gone(); id != kNoHost; id = hosts_.longest_gone()) {
    if (hosts_.at(id).changed + kForgetAfter > now) break;
    forget(id);
  }
  while (!releases_.empty() && releases_.top().at <= now) {
    const HostId id = releases_.top().id;
    releases_.pop();
    if (!hosts_.at(id).used) continue;
    if (hosts_.at(id).damping.held(now)) {
      releases_.push({hosts_.at(id).damping.release(), id});
    } else {
      settle(id, Reason::Normal, now);
    }
  }
}

std::optional<Micros> Switch::due(Micros now) const {
  std::optional<Micros> earliest = notifier_.due(now);
  const auto at = [&](Micros time) { earliest = earliest ? std::min(*earliest, time) : time; };
  if (const HostId id = hosts_.longest_silent(); id != kNoHost)
    at(hosts_.at(id).heard + std::chrono::seconds(config_.age_s));
  if (const HostId id = hosts_.longest_gone(); id != kNoHost) at(hosts_.at(id).changed + kForgetAfter);
  if (!releases_.empty()) at(releases_.top().at);
  return earliest;
}

Switch::Actions Switch::take(Micros now) {
  Actions out = std::exchange(actions_, {});
  out.frames = notifier_.flush(now);
  return out;
}

}  // namespace lossless::inof
