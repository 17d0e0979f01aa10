// SPDX-License-Identifier: Apache-2.0
#include "daemon/bfd/table.h"

namespace lossless::bfd {
namespace {

bool fits(const Peer& peer, const Datagram& datagram) {
  const PeerKey& key = peer.key;
  if (key.multihop != datagram.multihop || key.peer != datagram.from) return false;
  if (key.local && *key.local != datagram.to) return false;
  return key.interface.empty() || (peer.ifindex != 0 && peer.ifindex == datagram.ifindex);
}

unsigned exactness(const PeerKey& key) { return (key.local ? 1U : 0U) + (key.interface.empty() ? 0U : 2U); }

}  // namespace

std::string to_string(const PeerKey& key) {
  std::string out = to_string(key.peer);
  if (key.multihop) out += " (multihop)";
  if (!key.interface.empty()) out += " on " + key.interface;
  if (key.local) out += " from " + to_string(*key.local);
  return out;
}

std::uint32_t Table::new_discriminator() {
  for (;;) {
    const std::uint32_t candidate = draw();
    if (candidate != 0 && !entries_.contains(candidate)) return candidate;
  }
}

template <class Act>
void Table::with(Entry& entry, const Act& act) {
  const std::uint32_t id = entry.session.discriminator();
  due_.erase({entry.session.deadline(), id});
  act(entry.session,
      Session::Out{.sends =
                       [&](const Bytes& packet) {
                         if (!io_.send(entry.peer, id, packet)) ++entry.send_failures;
                       },
                   .changed = [&](const Change& change) { io_.changed(entry.peer.key, change); }});
  if (const Nanos next = entry.session.deadline(); next != kNever) due_.emplace(next, id);
}

void Table::set(const Peer& peer, Nanos now) {
  if (const auto known = by_key_.find(peer.key); known != by_key_.end()) {
    Entry& entry = entries_.at(known->second);
    entry.peer = peer;
    with(entry,
         [&](Session& session, const Session::Out& out) { session.configure(peer.settings, now, out); });
    return;
  }
  const std::uint32_t id = new_discriminator();
  add(peer, Session(peer.settings, id, draw(), now, [this] { return draw(); }));
}

void Table::adopt(const Peer& peer, const SavedSession& saved, Nanos now) {
  if (by_key_.contains(peer.key) || entries_.contains(saved.discriminator)) return set(peer, now);
  add(peer, Session(peer.settings, saved, now, [this] { return draw(); }));
}

void Table::prepare_hand_over(Nanos now) {
  for (auto& [id, entry] : entries_)
    with(entry, [&](Session& session, const Session::Out& out) { session.prepare_hand_over(now, out); });
}

void Table::freeze() {
  entries_.clear();
  by_key_.clear();
  by_address_.clear();
  due_.clear();
}

void Table::add(const Peer& peer, Session session) {
  const std::uint32_t id = session.discriminator();
  Entry& entry = entries_.emplace(id, Entry{peer, std::move(session)}).first->second;
  by_key_.emplace(peer.key, id);
  by_address_.emplace(peer.key.peer, id);
  with(entry, [](Session&, const Session::Out&) {});
}

void Table::remove(const PeerKey& key, Nanos now) {
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) return;
  const std::uint32_t id = known->second;
  Entry& entry = entries_.at(id);
  with(entry, [&](Session& session, const Session::Out& out) { session.say_goodbye(now, out); });
  due_.erase({entry.session.deadline(), id});
  const auto [begin, end] = by_address_.equal_range(key.peer);
  for (auto at = begin; at != end; ++at) {
    if (at->second != id) continue;
    by_address_.erase(at);
    break;
  }
  by_key_.erase(known);
  entries_.erase(id);
}

// By our discriminator once the neighbour knows it, else by address; then the one that asks for most.
Table::Entry* Table::find(const Datagram& datagram, const Packet& packet) {
  if (packet.your_discriminator != 0) {
    const auto at = entries_.find(packet.your_discriminator);
    return at != entries_.end() && fits(at->second.peer, datagram) ? &at->second : nullptr;
  }
  Entry* best = nullptr;
  const auto [begin, end] = by_address_.equal_range(datagram.from);
  for (auto at = begin; at != end; ++at) {
    Entry& entry = entries_.at(at->second);
    if (fits(entry.peer, datagram) && (!best || exactness(entry.peer.key) > exactness(best->peer.key)))
      best = &entry;
  }
  return best;
}

void Table::receive(const Datagram& datagram, Nanos now) {
  if (!datagram.multihop && datagram.ttl != kFullTtl) {
    ++strays_.ttl;
    return;
  }
  const auto decoded = decode(datagram.payload);
  if (!decoded) {
    ++strays_.faults[static_cast<std::size_t>(decoded.error())];
    return;
  }
  Entry* entry = find(datagram, decoded->packet);
  if (!entry) {
    ++strays_.unknown;
    return;
  }
  if (datagram.multihop && datagram.ttl < entry->peer.min_ttl) {
    ++strays_.ttl;
    return;
  }
  with(*entry, [&](Session& session, const Session::Out& out) {
    session.receive(*decoded, datagram.payload, now, out);
  });
}

void Table::advance(Nanos now) {
  while (deadline() <= now) {
    Entry& entry = entries_.at(due_.begin()->second);
    with(entry, [&](Session& session, const Session::Out& out) { session.advance(now, out); });
  }
}

void Table::say_goodbye(Nanos now) {
  for (auto& [id, entry] : entries_)
    with(entry, [&](Session& session, const Session::Out& out) { session.say_goodbye(now, out); });
}

}  // namespace lossless::bfd
