// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/notifier.h"

#include <algorithm>
#include <utility>

namespace lossless::inof {
namespace {

constexpr Micros kNever = Micros::max();
constexpr double kMicroseconds = 1e6;

void refill(double& tokens, Micros& filled, Micros now) {
  const double earned = static_cast<double>((now - filled).count()) / kMicroseconds * kFramesPerSecond;
  tokens = std::min(kBurst, tokens + earned);
  filled = now;
}

Notify message_of(const Fact& fact, const IpAddress& notified, std::uint32_t sequence) {
  Notify out;
  out.subject = fact.subject;
  out.notified = notified;
  out.sequence = sequence;
  out.state = fact.state;
  out.reason = fact.reason;
  out.attached = fact.attached ? *fact.attached : Bytes(kMinAttached);
  return out;
}

// Appends the message if the room is enough for it.
bool append(OutFrame& frame, std::size_t& room, Notify&& notify) {
  Message message = std::move(notify);
  const std::size_t size = encoded_size(message);
  if (size > room) return false;
  room -= size;
  frame.messages.push_back(std::move(message));
  return true;
}

}  // namespace

void Notifier::drop_all(Subscriber& s) {
  for (Sent& sent : s.sent) finish(s, sent);
  forget_done(s);
  s.pending.clear();
  s.walk.reset();
}

void Notifier::forget_done(Subscriber& s) {
  const auto kept =
      std::ranges::find_if(s.sent, [](const Sent& sent) { return sent.fate != Sent::Fate::Done; });
  if (kept == s.sent.end()) {
    s.sent = {};
  } else {
    s.sent.erase(s.sent.begin(), kept);
  }
}

void Notifier::finish(Subscriber&, Sent& sent) {
  if (sent.fate == Sent::Fate::UnderWay) --under_way_;
  sent.fate = Sent::Fate::Done;
}

void Notifier::subscribe(SubscriberId id, PortId port, Dialect dialect, const IpAddress& address,
                         Micros now) {
  Subscriber& s = subscribers_[id];
  drop_all(s);
  s.active = true;
  s.port = port;
  s.dialect = dialect;
  s.address = address;
  const auto [at, is_new] = ports_.try_emplace(port);
  if (is_new) at->second.filled = now;
  resync(id);
}

void Notifier::unsubscribe(SubscriberId id) {
  const auto at = subscribers_.find(id);
  if (at == subscribers_.end()) return;
  drop_all(at->second);
  at->second.active = false;
}

std::optional<SavedSubscriber> Notifier::save(SubscriberId id) const {
  const auto at = subscribers_.find(id);
  if (at == subscribers_.end()) return std::nullopt;
  const Subscriber& s = at->second;
  return SavedSubscriber{.next_sequence = s.next_sequence,
                         .active = s.active,
                         .walk = s.walk.has_value(),
                         .walk_all = s.walk_all,
                         .sent = s.sent,
                         .pending = {s.pending.begin(), s.pending.end()}};
}

void Notifier::restore(SubscriberId id, PortId port, Dialect dialect, const IpAddress& address,
                       const SavedSubscriber& saved, bool current, Micros now) {
  constexpr std::uint32_t kMayBeUsed = 4096;  // more than go out to one host between two times of saving
  Subscriber& s = subscribers_[id];
  s.active = saved.active;
  s.port = port;
  s.dialect = dialect;
  s.address = address;
  s.next_sequence = saved.next_sequence + (current ? 0 : kMayBeUsed);
  const auto [at, is_new] = ports_.try_emplace(port);
  if (is_new) at->second.filled = now;
  if (!current) return resync(id, true);
  s.sent = saved.sent;
  for (const Sent& sent : s.sent)
    if (sent.fate == Sent::Fate::UnderWay) ++under_way_;
  s.pending = {saved.pending.begin(), saved.pending.end()};
  s.due = kNever;
  schedule(id, s);
  if (saved.walk) resync(id, saved.walk_all);
  if (!s.pending.empty()) take_turn(id, s);
}

bool Notifier::subscribed(SubscriberId id) const {
  const auto at = subscribers_.find(id);
  return at != subscribers_.end() && at->second.active;
}

void Notifier::resync(SubscriberId id, bool all) {
  const auto at = subscribers_.find(id);
  if (at == subscribers_.end() || !at->second.active) return;
  Subscriber& s = at->second;
  if (s.walk && !all) return;
  s.walk = Cursor{};
  s.walk_all = all;
  ++s.stats.resyncs;
  ++total_.resyncs;
  take_turn(id, s);
}

void Notifier::tell(SubscriberId id, const Fact& fact) {
  const auto at = subscribers_.find(id);
  if (at == subscribers_.end() || !at->second.active) return;
  Subscriber& s = at->second;
  for (Sent& sent : s.sent) {
    if (sent.fate != Sent::Fate::UnderWay || sent.fact.subject != fact.subject) continue;
    sent.fate = Sent::Fate::Superseded;
    --under_way_;
  }
  const auto same = std::ranges::find(s.pending, fact.subject, &Fact::subject);
  if (same != s.pending.end()) {
    *same = fact;
  } else if (s.pending.size() < kMaxPending) {
    s.pending.push_back(fact);
  } else {
    s.pending.clear();
    resync(id, true);
  }
  take_turn(id, s);
}

void Notifier::take_turn(SubscriberId id, Subscriber& s) {
  if (s.waiting) return;
  s.waiting = true;
  ports_[s.port].turns.push_back(id);
  ++turns_;
}

std::optional<BadAck> Notifier::ack(SubscriberId id, PortId port, const Ack& ack) {
  const auto refuse = [this](BadAck kind) {
    count_bad_ack(kind);
    return kind;
  };
  const auto at = subscribers_.find(id);
  if (at == subscribers_.end() || !at->second.active) return refuse(BadAck::NotAsked);
  Subscriber& s = at->second;
  if (s.port != port) return refuse(BadAck::WrongPort);
  const std::uint32_t oldest = s.sent.empty() ? s.next_sequence : s.sent.front().sequence;
  if (ack.sequence == 0 || ack.sequence >= s.next_sequence) return refuse(BadAck::WrongSequence);
  if (ack.sequence < oldest) return refuse(BadAck::Duplicate);
  Sent& sent = s.sent[ack.sequence - oldest];
  if (sent.fact.subject != ack.subject) return refuse(BadAck::WrongSequence);
  if (sent.fate == Sent::Fate::Done) return refuse(BadAck::Duplicate);
  finish(s, sent);
  ++s.stats.acked;
  ++total_.acked;
  forget_done(s);
  // The window may have been full.
  if (s.walk || !s.pending.empty()) take_turn(id, s);
  return std::nullopt;
}

Micros Notifier::backoff(unsigned repeated) const {
  Micros wait = timers_.retransmit;
  for (unsigned i = 0; i < repeated && wait < kMaxBackoff; ++i) wait *= 2;
  return std::min(wait, std::max(kMaxBackoff, timers_.retransmit));
}

// What nobody acknowledges any more goes, whoever has something to repeat takes a turn.
void Notifier::collect_due(Micros now) {
  while (!dues_.empty() && dues_.top().at <= now) {
    const Due due = dues_.top();
    dues_.pop();
    const auto at = subscribers_.find(due.id);
    if (at == subscribers_.end() || at->second.due != due.at) continue;
    Subscriber& s = at->second;
    s.due = kNever;
    for (Sent& sent : s.sent) {
      if (sent.due > now) continue;
      if (sent.fate == Sent::Fate::Superseded) sent.fate = Sent::Fate::Done;
      if (sent.fate != Sent::Fate::UnderWay || sent.repeated < timers_.limit) continue;
      finish(s, sent);
      ++s.stats.expired;
      ++total_.expired;
    }
    forget_done(s);
    if (s.active) take_turn(due.id, s);
  }
}

void Notifier::schedule(SubscriberId id, Subscriber& s) {
  Micros earliest = kNever;
  for (const Sent& sent : s.sent)
    if (sent.fate != Sent::Fate::Done) earliest = std::min(earliest, sent.due);
  if (earliest == s.due || earliest == kNever) return;
  s.due = earliest;
  dues_.push({earliest, id});
}

void Notifier::add_repeated(Subscriber& s, OutFrame& frame, std::size_t& room, Micros now) {
  for (Sent& sent : s.sent) {
    if (sent.fate != Sent::Fate::UnderWay || sent.due > now) continue;
    if (!append(frame, room, message_of(sent.fact, s.address, sent.sequence))) return;
    ++sent.repeated;
    sent.due = now + backoff(sent.repeated);
    ++s.stats.retransmitted;
    ++total_.retransmitted;
  }
}

std::optional<Fact> Notifier::next_fact(SubscriberId id, Subscriber& s) {
  if (!s.pending.empty()) {
    Fact fact = std::move(s.pending.front());
    s.pending.pop_front();
    return fact;
  }
  if (!s.walk) return std::nullopt;
  auto fact = walk_(id, *s.walk, s.walk_all);
  if (!fact) s.walk.reset();
  return fact;
}

void Notifier::add_new(SubscriberId id, Subscriber& s, OutFrame& frame, std::size_t& room, Micros now) {
  while (s.sent.size() < kWindow) {
    auto fact = next_fact(id, s);
    if (!fact) return;
    if (!append(frame, room, message_of(*fact, s.address, s.next_sequence))) {
      s.pending.push_front(std::move(*fact));
      return;
    }
    s.sent.push_back(
        {.fact = std::move(*fact), .sequence = s.next_sequence++, .repeated = 0, .due = now + backoff(0)});
    ++under_way_;
    ++s.stats.sent;
    ++total_.sent;
  }
}

OutFrame Notifier::next_frame(SubscriberId id, Subscriber& s, Micros now) {
  OutFrame frame{.port = s.port, .dialect = s.dialect, .messages = {}};
  std::size_t room = kMaxMessages;
  add_repeated(s, frame, room, now);
  add_new(id, s, frame, room, now);
  schedule(id, s);
  return frame;
}

bool Notifier::has_work(const Subscriber& s, Micros now) const {
  if (!s.active) return false;
  if (s.sent.size() < kWindow && (s.walk || !s.pending.empty())) return true;
  return std::ranges::any_of(
      s.sent, [&](const Sent& sent) { return sent.fate == Sent::Fate::UnderWay && sent.due <= now; });
}

void Notifier::flush_port(Port& port, Micros now, std::vector<OutFrame>& out) {
  refill(port.tokens, port.filled, now);
  while (!port.turns.empty() && port.tokens >= 1) {
    const SubscriberId id = port.turns.front();
    port.turns.pop_front();
    --turns_;
    const auto at = subscribers_.find(id);
    if (at == subscribers_.end()) continue;
    Subscriber& s = at->second;
    s.waiting = false;
    if (!has_work(s, now)) continue;
    OutFrame frame = next_frame(id, s, now);
    if (has_work(s, now)) take_turn(id, s);
    if (frame.messages.empty()) continue;
    port.tokens -= 1;
    ++frames_;
    out.push_back(std::move(frame));
  }
}

std::vector<OutFrame> Notifier::flush(Micros now) {
  std::vector<OutFrame> out;
  collect_due(now);
  if (turns_ == 0) return out;
  for (auto& [id, port] : ports_)
    if (!port.turns.empty()) flush_port(port, now, out);
  return out;
}

std::optional<Micros> Notifier::due(Micros now) const {
  Micros earliest = dues_.empty() ? kNever : dues_.top().at;
  if (turns_ > 0) {
    for (const auto& [id, port] : ports_) {
      if (port.turns.empty()) continue;
      const double missing = std::max(0.0, 1 - port.tokens);
      const Micros wait(static_cast<Micros::rep>(missing / kFramesPerSecond * kMicroseconds) + 1);
      earliest = std::min(earliest, port.tokens >= 1 ? now : port.filled + wait);
    }
  }
  if (earliest == kNever) return std::nullopt;
  return earliest;
}

NotifyStats Notifier::stats(SubscriberId id) const {
  const auto at = subscribers_.find(id);
  return at == subscribers_.end() ? NotifyStats{} : at->second.stats;
}

}  // namespace lossless::inof
