// SPDX-License-Identifier: Apache-2.0
// The speaker's state for the next process, and there.
#include <algorithm>
#include <map>
#include <set>

#include "daemon/bgp/saved.h"
#include "daemon/bgp/speaker.h"

namespace lossless::bgp {
namespace {

using std::chrono::seconds;

}  // namespace

SavedNeighbor Neighbor::save() const {
  SavedNeighbor out{.peer = settings_.peer(),
                    .dynamic = settings_.dynamic,
                    .held_down = held_down_,
                    .last_error = last_error_,
                    .since = since_,
                    .counters = counters_,
                    .handed_over = handed_over_};
  if (!established() || main_->state != State::Established) return out;
  const ByteView partial = main_->in.rest();
  out.session = SavedSession{.outgoing = main_->outgoing,
                             .open = *peer_open_,
                             .agreed = agreed_,
                             .partial = Bytes(partial.begin(), partial.end())};
  return out;
}

void Neighbor::restore(const SavedNeighbor& saved, ConnId conn, Time now) {
  counters_ = saved.counters;
  last_error_ = saved.last_error;
  held_down_ = saved.held_down;
  stopped_ = !held_down_.empty();
  if (!saved.session) {
    if (!stopped_) start(now);
    return;
  }
  const SavedSession& session = *saved.session;
  since_ = saved.since;
  handed_over_ = saved.handed_over + 1;
  peer_open_ = session.open;
  agreed_ = session.agreed;
  Connection& c = main_.emplace();
  c.id = conn;
  c.outgoing = session.outgoing;
  c.state = State::Established;
  c.open = session.open;
  c.agreed = session.agreed;
  if (agreed_.extended_message) c.in.allow_extended();
  c.in.feed(session.partial);
  if (agreed_.hold_s == 0) return;
  c.hold_due = now + seconds(agreed_.hold_s);
  c.keepalive_due = now;  // the neighbour has not heard from us for a while
}

SavedSpeaker Speaker::save() const {
  SavedSpeaker out;
  std::map<PeerId, PeerId> index;
  for (const auto& [id, peer] : peers_) {
    index[id] = static_cast<PeerId>(out.neighbors.size());
    SavedNeighbor& n = out.neighbors.emplace_back(peer.neighbor->save());
    n.router = peer.source.router;
    n.stale = peer.stale;
    n.stale_until = peer.stale_until;
    if (!n.session) continue;
    n.session->local = peer.local;
    for (const Walk& walk : walks_)
      if (walk.peer == id) n.session->walks.add(walk.family);
    // Its End-of-RIB is owed: a whole table ends with one.
    if (peer.end_of_rib_held) n.session->walks = n.session->agreed.families;
  }
  std::map<const PathAttributes*, std::uint32_t> known;
  for (const Rib& r : ribs_) {
    for (std::uint32_t slot = 0; slot < r.end(); ++slot) {
      for (const Path& path : r.net(slot).paths) {
        const auto [at, is_new] = known.try_emplace(path.attributes.get(), out.attributes.size());
        if (is_new) out.attributes.push_back(*path.attributes);
        const ByteView nlri = path.nlri.view();
        out.routes.push_back({.family = r.family(),
                              .from = path.peer == kLocal ? kLocal : index.at(path.peer),
                              .stale = path.stale,
                              .attributes = at->second,
                              .nlri = Bytes(nlri.begin(), nlri.end())});
      }
    }
  }
  return out;
}

void Speaker::restore_routes(const SavedSpeaker& saved, const std::vector<PeerId>& peers) {
  std::vector<AttributesRef> attributes;
  attributes.reserve(saved.attributes.size());
  for (const PathAttributes& a : saved.attributes) attributes.push_back(pool_.intern(a));
  for (const SavedRoute& route : saved.routes) {
    const PeerId from = route.from == kLocal ? kLocal : peers[route.from];
    if (route.from != kLocal && from == kLocal) continue;  // of a neighbour that is none any more
    rib_of(route.family).restore(from, route.nlri, attributes[route.attributes], route.stale);
  }
  for (Rib& r : ribs_) {
    tell_sink(r);
    r.finish_changes();
  }
}

void Speaker::restore(const SpeakerConfig& config, const SavedSpeaker& saved, const ConnOf& conn_of,
                      Time now) {
  now_ = now;
  config_ = config;
  take_filters(config.filters);
  std::map<PeerAddress, std::size_t> known;
  for (std::size_t i = 0; i < saved.neighbors.size(); ++i) known[saved.neighbors[i].peer] = i;
  std::vector<PeerId> ids(saved.neighbors.size(), kLocal);
  std::vector<std::pair<PeerId, ConnId>> lost;
  for (const NeighborSettings& settings : config.neighbors) {
    const auto at = known.find(settings.peer());
    if (at == known.end() || by_address_.contains(settings.peer())) continue;  // configure() adds it
    const SavedNeighbor& n = saved.neighbors[at->second];
    Peer& peer = make(settings);
    const PeerId id = ids[at->second] = peer.neighbor->id();
    peer.source.router = n.router;
    peer.stale = n.stale;
    peer.stale_until = n.stale_until;
    ConnId conn = n.session ? conn_of(at->second, settings) : 0;
    if (n.session && conn == 0) lost.emplace_back(id, conn = next_conn_++);
    if (conn != 0) conns_[conn] = id;
    peer.neighbor->restore(n, conn, now);
    if (!n.session) continue;
    peer.local = n.session->local;
    enter_group(id);
    for (const FamilyFacts& f : kFamilyTable)
      if (n.session->walks.has(f.family)) walks_.push_back({.peer = id, .family = f.family});
  }
  restore_routes(saved, ids);
  for (const auto& [id, conn] : lost) disconnected(conn, "its connection did not survive our restart", now);
}

}  // namespace lossless::bgp
