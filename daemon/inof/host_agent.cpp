// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/host_agent.h"

#include <algorithm>
#include <array>

namespace lossless::inof {
namespace {

using std::chrono::seconds;

constexpr unsigned kFastStart = 3;         // announcements a second apart when an address appears
constexpr std::size_t kSeenMessages = 16;  // per member
constexpr seconds kSeenFor{30};            // a switch that started anew counts from 1 again
constexpr std::size_t kEvents = 256;
constexpr std::size_t kHooksAtOnce = 16;
constexpr unsigned kMaxBackoff = 60;  // seconds
constexpr unsigned kDoublings = 10;   // no further, the limit is long reached

bool same_place(const HostAddress& a, const HostAddress& b) {
  return a.port.ifindex == b.port.ifindex && a.interface == b.interface && a.address == b.address &&
         a.index == b.index;
}

Service service_of(const InofHostConfig& config) {
  return {.role = static_cast<Role>(static_cast<unsigned>(config.role) + 1),
          .protocol = static_cast<Protocol>(static_cast<unsigned>(config.protocol) + 1),
          .port = static_cast<std::uint16_t>(config.port),
          .id = config.id};
}

bool is_known(State state) { return state == State::Online || state == State::Offline; }

// A message that was taken already; forgets old ones.
bool seen_before(Member& member, const Mac& source, const Notify& notify, Time now) {
  auto& seen = member.seen;
  while (!seen.empty() && (seen.size() > kSeenMessages || now - seen.front().at > kSeenFor)) seen.pop_front();
  return std::ranges::any_of(seen, [&](const Member::Seen& s) {
    return s.source == source && s.sequence == notify.sequence && s.state == notify.state &&
           s.reason == notify.reason;
  });
}

}  // namespace

std::string_view to_string(HookState state) {
  constexpr std::array<std::string_view, 5> kNames{"idle", "waiting", "running", "done", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

void HostAgent::set_addresses(const std::vector<HostAddress>& addresses, Time now) {
  std::vector<Announced> next;
  for (const HostAddress& wanted : addresses) {
    const auto known = std::ranges::find_if(
        addresses_, [&](const Announced& entry) { return same_place(entry.address, wanted); });
    Announced entry = known == addresses_.end() ? Announced{} : *known;
    const bool appeared = wanted.up && !(known != addresses_.end() && known->address.up);
    const bool moved = entry.address.port.mac != wanted.port.mac;
    entry.address = wanted;
    next.push_back(std::move(entry));
    if (!appeared && !(wanted.up && moved)) continue;
    next.back().fast_left = kFastStart;
    announce(next.back(), now);
    query(next.back());
  }
  for (const Announced& old : addresses_) {
    const bool stays = std::ranges::any_of(
        next, [&](const Announced& entry) { return same_place(entry.address, old.address); });
    if (!stays && old.address.up) withdraw(old.address);
  }
  addresses_ = std::move(next);
}

void HostAgent::set_config(const InofHostConfig& config, Time now) {
  if (config == config_) return;
  const bool other_name = config.dialect != config_.dialect;  // the port IDs are others then
  for (const Announced& entry : addresses_)
    if (other_name && entry.address.up) withdraw(entry.address);
  config_ = config;
  for (Announced& entry : addresses_) {
    if (!entry.address.up) continue;
    announce(entry, now);
    query(entry);
  }
}

lldp::Packet HostAgent::announcement(const HostAddress& address) const {
  lldp::Packet packet{.chassis = lldp::chassis_of(address.port.mac),
                      .port = host_port_id(config_.dialect, address.interface, address.index),
                      .ttl_s = kHostTtl};
  packet.org.push_back(encode_host({.dialect = config_.dialect,
                                    .address = address.address,
                                    .subscribes = config_.subscribe,
                                    .service = service_of(config_)}));
  return packet;
}

void HostAgent::announce(Announced& entry, Time now) {
  if (entry.fast_left > 0) entry.fast_left--;
  entry.next = now + (entry.fast_left > 0 ? seconds(1) : seconds(config_.interval_s));
  const net::PortRef& port = entry.address.port;
  if (!send(port, lldp::encode(announcement(entry.address), port.mac))) return;
  entry.announced++;
  statistics_.announced++;
}

void HostAgent::query(Announced& entry) {
  const net::PortRef& port = entry.address.port;
  const std::array<Message, 1> message{QueryZone{entry.address.address}};
  if (!send(port, encode_frame(config_.dialect, port.mac, message))) return;
  entry.queries++;
  statistics_.queries++;
}

void HostAgent::withdraw(const HostAddress& address) {
  (void)send(address.port, lldp::encode_shutdown(announcement(address), address.port.mac));
}

bool HostAgent::send(const net::PortRef& port, ByteView frame) {
  const bool sent = outputs_.send(port, frame);
  if (!sent) statistics_.send_failures++;
  return sent;
}

const HostAgent::Announced* HostAgent::owner(int ifindex, const IpAddress& address) const {
  const auto at = std::ranges::find_if(addresses_, [&](const Announced& entry) {
    return entry.address.up && entry.address.port.ifindex == ifindex && entry.address.address == address;
  });
  return at == addresses_.end() ? nullptr : &*at;
}

// All ACKs of a frame go back together.
void HostAgent::receive(int ifindex, ByteView frame, Time now) {
  const auto decoded = decode_frame(frame);
  if (!decoded) return void(statistics_.malformed++);
  if (decoded->dialect != config_.dialect) return void(statistics_.other_dialect++);
  std::vector<Message> acks;
  const Announced* via = nullptr;
  for (const Message& message : decoded->messages) {
    const auto* notify = std::get_if<Notify>(&message);
    if (!notify) continue;
    const Announced* entry = owner(ifindex, notify->notified);
    if (!entry) {
      statistics_.not_for_us++;
      continue;
    }
    via = entry;
    if (take(entry->address.port, decoded->source, *notify, now))
      acks.emplace_back(Ack{notify->subject, notify->notified, notify->sequence});
  }
  if (!via) return;
  for (const Bytes& answer : encode_frames(config_.dialect, via->address.port.mac, acks))
    (void)send(via->address.port, answer);
  statistics_.acks += acks.size();
  start_hooks(now);
}

// What we have no room for is not ACKed: the switch shows us as one that does not answer.
bool HostAgent::take(const net::PortRef& port, const Mac& source, const Notify& notify, Time now) {
  statistics_.notifications++;
  const MemberKey key{.ifindex = port.ifindex, .notified = notify.notified, .subject = notify.subject};
  Member* member = member_for(key);
  if (!member) {
    statistics_.members_dropped++;
    return false;
  }
  member->port = port.name;
  if (seen_before(*member, source, notify, now)) {
    statistics_.duplicates++;
    return true;
  }
  member->seen.push_back({.source = source,
                          .sequence = notify.sequence,
                          .state = notify.state,
                          .reason = notify.reason,
                          .at = now});
  events_.push_back({.at = now, .port = port.name, .source = source, .notify = notify});
  if (events_.size() > kEvents) events_.pop_front();
  if (!is_known(notify.state)) return true;
  const bool news = member->hook == HookState::Idle || member->state != notify.state ||
                    (notify.state == State::Online && member->attached != notify.attached) ||
                    member->hook == HookState::Failed;
  update(*member, notify, now);
  if (news) want_hook(*member, now);
  return true;
}

// Nothing in the table is thrown out but hosts that are long gone and done with.
Member* HostAgent::member_for(const MemberKey& key) {
  const auto known = members_.find(key);
  if (known != members_.end()) return &known->second;
  if (members_.size() >= config_.max_members) {
    const auto idle = [](const auto& entry) {
      const HookState hook = entry.second.hook;
      return entry.second.state == State::Offline && hook != HookState::Running && hook != HookState::Waiting;
    };
    const auto gone = std::ranges::find_if(members_, idle);
    if (gone == members_.end()) return nullptr;
    members_.erase(gone);
  }
  return &members_[key];
}

void HostAgent::update(Member& member, const Notify& notify, Time now) {
  if (member.state != notify.state || member.hook == HookState::Idle) member.changed = now;
  member.state = notify.state;
  member.reason = notify.reason;
  member.sequence = notify.sequence;
  member.attached = notify.attached;
}

// A hook that still runs for the state before must not hold up the new one: a connect may hang for as long as
// the host is away.
void HostAgent::want_hook(Member& member, Time now) {
  member.attempts = 0;
  if (config_.hook == InofHook::None) {
    member.hook = HookState::Done;
    return;
  }
  if (member.hook != HookState::Running) {
    member.hook = HookState::Waiting;
    member.next = now;
    return;
  }
  if (!member.superseded) outputs_.kill(member.run);
  member.superseded = true;
}

// Hosts that went first: their paths take no more I/O until somebody says so.
void HostAgent::start_hooks(Time now) {
  for (const State first : {State::Offline, State::Online}) {
    for (auto& [key, member] : members_) {
      if (running_.size() >= kHooksAtOnce) return;
      if (member.hook == HookState::Waiting && member.state == first && member.next <= now)
        start_hook(key, member, now);
    }
  }
}

void HostAgent::start_hook(const MemberKey& key, Member& member, Time now) {
  member.hook = HookState::Running;
  member.run = ++last_run_;
  member.superseded = false;
  member.killed = false;
  member.attempts++;
  member.next = now + seconds(config_.hook_timeout_s);
  running_[member.run] = key;
  statistics_.hooks_started++;
  outputs_.start(member.run, {.state = member.state,
                              .reason = member.reason,
                              .subject = key.subject,
                              .notified = key.notified,
                              .port = member.port,
                              .sequence = member.sequence,
                              .service = decode_service(member.attached)});
}

void HostAgent::hook_ended(std::uint64_t run, const HookResult& result, Time now) {
  const auto at = running_.find(run);
  if (at == running_.end()) return;
  Member& member = members_.at(at->second);
  running_.erase(at);
  member.hook_result = to_string(result);
  if (member.killed)
    member.hook_result = "killed after " + std::to_string(config_.hook_timeout_s) + " s: " + result.words;
  if (member.superseded) {
    member.hook = HookState::Waiting;
    member.next = now;
  } else if (result.ok()) {
    member.hook = HookState::Done;
  } else {
    statistics_.hooks_failed++;
    retry_or_give_up(member, now);
  }
  start_hooks(now);
}

void HostAgent::retry_or_give_up(Member& member, Time now) {
  if (member.attempts > config_.hook_retries) {
    member.hook = HookState::Failed;
    statistics_.hooks_given_up++;
    return;
  }
  const unsigned limit = std::max(config_.hook_backoff_s, kMaxBackoff);
  const unsigned doubled = config_.hook_backoff_s << std::min(member.attempts - 1, kDoublings);
  member.hook = HookState::Waiting;
  member.next = now + seconds(std::min(doubled, limit));
}

void HostAgent::stop_late_hooks(Time now) {
  for (const auto& [run, key] : running_) {
    Member& member = members_.at(key);
    if (member.killed || member.next > now) continue;
    member.killed = true;
    statistics_.hooks_killed++;
    outputs_.kill(run);
  }
}

void HostAgent::advance(Time now) {
  for (Announced& entry : addresses_)
    if (entry.address.up && entry.next <= now) announce(entry, now);
  stop_late_hooks(now);
  start_hooks(now);
}

std::optional<Time> HostAgent::next_deadline() const {
  std::optional<Time> next;
  const auto take = [&](Time at) { next = next ? std::min(*next, at) : at; };
  for (const Announced& entry : addresses_)
    if (entry.address.up) take(entry.next);
  const bool room = running_.size() < kHooksAtOnce;
  for (const auto& [key, member] : members_) {
    if (member.hook == HookState::Waiting && room) take(member.next);
    if (member.hook == HookState::Running && !member.killed) take(member.next);
  }
  return next;
}

}  // namespace lossless::inof
