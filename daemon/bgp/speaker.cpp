// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/speaker.h"

#include <algorithm>

namespace lossless::bgp {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t kSlotsAtOnce = 2048;
// RFC 4724 section 4.2: routes that stay stale for so long after the session is back go.
constexpr auto kStaleLimit = seconds(360);

}  // namespace

Speaker::Speaker(Transport& transport, RouteSink* sink)
    : transport_(transport),
      sink_(sink),
      ribs_{Rib(Family::Ipv4Unicast, [this](PeerId id) { return sources_(id); }),
            Rib(Family::Inof, [this](PeerId id) { return sources_(id); })},
      sources_([this](PeerId id) {
        const auto at = peers_.find(id);
        return at == peers_.end() ? Source{} : at->second.source;
      }) {}

// ---- neighbours come and go

void Speaker::configure(const SpeakerConfig& config, Time now) {
  now_ = now;
  const bool same_self = config.self.asn == config_.self.asn &&
                         config.self.router_id == config_.self.router_id &&
                         config.self.cluster_id == config_.self.cluster_id;
  config_ = config;
  take_filters(config.filters);
  std::map<PeerAddress, const NeighborSettings*> wanted;
  for (const NeighborSettings& n : config.neighbors) wanted[n.peer()] = &n;
  const auto known = by_address_;
  for (const auto& [address, id] : known) {
    const NeighborSettings& have = peers_.at(id).neighbor->settings();
    const auto at = wanted.find(address);
    if (same_self && at != wanted.end() && at->second->same_session(have)) {
      peers_.at(id).neighbor->set_filters(at->second->import_filter, at->second->export_filter);
      continue;
    }
    erase(id, at == wanted.end() ? error::kDeconfigured : error::kConfigChanged, now);
  }
  for (const auto& [address, settings] : wanted)
    if (!by_address_.contains(address)) add(*settings, now);
  for (auto& [id, peer] : peers_) follow_filters(id, peer);
  flush(now);
}

Speaker::Peer& Speaker::make(const NeighborSettings& settings) {
  const PeerId id = next_peer_++;
  Peer& peer = peers_[id];
  peer.neighbor = std::make_unique<Neighbor>(id, settings, static_cast<NeighborHost&>(*this));
  peer.source = {.external = settings.external(), .client = settings.client, .address = settings.address};
  by_address_[settings.peer()] = id;
  peer.import_filter = filter(settings.import_filter);
  peer.export_filter = filter(settings.export_filter);
  return peer;
}

void Speaker::add(const NeighborSettings& settings, Time now) { make(settings).neighbor->start(now); }

void Speaker::add_dynamic(const NeighborSettings& settings, Time now) {
  now_ = now;
  if (!by_address_.contains(settings.peer())) add(settings, now);
}

void Speaker::erase(PeerId id, std::uint8_t subcode, Time now) {
  Peer& peer = peers_.at(id);
  peer.neighbor->stop(subcode, "", "", now);
  for (Rib& r : ribs_) r.drop(id);
  flush(now);
  by_address_.erase(peer.neighbor->settings().peer());
  std::erase_if(conns_, [&](const auto& entry) { return entry.second == id; });
  peers_.erase(id);
}

void Speaker::remove(const PeerAddress& address, std::uint8_t subcode, Time now) {
  now_ = now;
  if (const auto at = by_address_.find(address); at != by_address_.end()) erase(at->second, subcode, now);
}

// ---- filters

// One that is what it was stays, with what it counted.
void Speaker::take_filters(const std::vector<BgpFilterConfig>& filters) {
  std::map<std::string, FilterRef> wanted;
  for (const BgpFilterConfig& config : filters) {
    const FilterRef known = filter(config.name);
    wanted[config.name] = known && known->config() == config ? known : std::make_shared<Filter>(config);
  }
  filters_ = std::move(wanted);
}

FilterRef Speaker::filter(const std::string& name) const {
  const auto at = filters_.find(name);
  return at == filters_.end() ? nullptr : at->second;
}

// The session stays: what is denied now goes at once, and what is permitted now comes.
void Speaker::follow_filters(PeerId id, Peer& peer) {
  const NeighborSettings& settings = peer.neighbor->settings();
  const FilterRef import_before = std::exchange(peer.import_filter, filter(settings.import_filter));
  const FilterRef export_before = std::exchange(peer.export_filter, filter(settings.export_filter));
  if (export_before != peer.export_filter) {
    flush(now_);  // what changed before is told as it was
    if (peer.group) change_export(id, peer);
  }
  if (import_before == peer.import_filter) return;
  for (Rib& r : ribs_) {
    if (peer.import_filter) r.drop_denied(id, *peer.import_filter);
    (void)peer.neighbor->ask_refresh(r.family());
  }
}

void Speaker::change_export(PeerId id, Peer& peer) {
  const GroupKey before = *peer.group;
  GroupKey key = before;
  key.filter = peer.export_filter;
  join_group(id, key);
  for (const Rib& r : ribs_) {
    if (!key.families.has(r.family())) continue;
    std::vector<Exporter::Out> out;
    Exporter(config_.self, key, r, sources_).narrow(id, before, out);
    for (const Exporter::Out& o : out) hand_over(id, o.bytes, o.messages);
    walks_.push_back({.peer = id, .family = r.family()});
  }
}

Speaker::Peer* Speaker::peer_at(const PeerAddress& address) {
  const auto at = by_address_.find(address);
  return at == by_address_.end() ? nullptr : &peers_.at(at->second);
}

Speaker::Peer* Speaker::peer_of(ConnId conn) {
  const auto at = conns_.find(conn);
  return at == conns_.end() ? nullptr : &peers_.at(at->second);
}

// ---- connections

bool Speaker::accepted(ConnId conn, const PeerAddress& remote, const IpAddress& local, Time now) {
  now_ = now;
  Peer* peer = peer_at(remote);
  if (!peer) return false;
  conns_[conn] = peer->neighbor->id();
  peer->local = local;
  if (peer->neighbor->accept(conn, now)) return true;
  conns_.erase(conn);
  return false;
}

void Speaker::connected(ConnId conn, const IpAddress& local, Time now) {
  now_ = now;
  Peer* peer = peer_of(conn);
  if (!peer) return;
  peer->local = local;
  peer->neighbor->connected(conn, now);
}

void Speaker::disconnected(ConnId conn, const std::string& why, Time now) {
  now_ = now;
  Peer* peer = peer_of(conn);
  if (!peer) return;
  peer->neighbor->disconnected(conn, why, now);
  conns_.erase(conn);
  flush(now);
}

void Speaker::received(ConnId conn, ByteView bytes, Time now) {
  now_ = now;
  if (Peer* peer = peer_of(conn)) peer->neighbor->received(conn, bytes, now);
  flush(now);
}

void Speaker::bfd_down(const PeerAddress& address, Time now) {
  now_ = now;
  if (Peer* peer = peer_at(address)) peer->neighbor->fell(now);
  flush(now);
}

ConnId Speaker::connect(const Neighbor& neighbor) {
  const ConnId conn = next_conn_++;
  conns_[conn] = neighbor.id();
  transport_.connect(conn, neighbor.settings());
  return conn;
}

void Speaker::send(ConnId conn, Bytes message) {
  transport_.send(conn, std::make_shared<const Bytes>(std::move(message)));
}

void Speaker::close(ConnId conn) {
  conns_.erase(conn);
  transport_.close(conn);
}

// ---- time

void Speaker::advance(Time now) {
  now_ = now;
  for (auto& [id, peer] : peers_) {
    peer.neighbor->advance(now);
    if (!peer.stale_until || *peer.stale_until > now) continue;
    peer.stale_until.reset();
    for (const FamilyFacts& f : kFamilyTable) sweep(id, f.family);
  }
  flush(now);
}

std::optional<Time> Speaker::due() const {
  std::optional<Time> earliest;
  const auto at = [&](const std::optional<Time>& t) {
    if (t && (!earliest || *t < *earliest)) earliest = t;
  };
  for (const auto& [id, peer] : peers_) {
    at(peer.neighbor->due());
    at(peer.stale_until);
  }
  return earliest;
}

// ---- sessions

void Speaker::enter_group(PeerId id) {
  Peer& peer = peers_.at(id);
  const Neighbor& neighbor = *peer.neighbor;
  const Open& open = *neighbor.peer_open();
  const Agreed& agreed = neighbor.agreed();
  GroupKey key{.external = neighbor.settings().external(),
               .client = neighbor.settings().client,
               .four_octet_as = agreed.four_octet_as,
               .extended_message = agreed.extended_message,
               .families = agreed.families};
  if (key.external) key.asn = open.asn;
  if (key.external) key.next_hop = peer.local;
  key.filter = peer.export_filter;
  join_group(id, std::move(key));
}

void Speaker::established(Neighbor& neighbor) {
  const PeerId id = neighbor.id();
  Peer& peer = peers_.at(id);
  const Open& open = *neighbor.peer_open();
  const Agreed& agreed = neighbor.agreed();
  peer.source.router = open.router_id;
  enter_group(id);
  // RFC 4724 section 4.2: kept routes go at once if the neighbour does not say that it kept them too.
  for (const FamilyFacts& f : kFamilyTable) {
    if (peer.stale.has(f.family)) {
      const auto& gr = open.graceful_restart;
      const bool kept =
          agreed.families.has(f.family) && gr && std::ranges::any_of(gr->families, [&](const auto& k) {
            return k.family == f.family && k.forwarding;
          });
      if (!kept) sweep(id, f.family);
    }
    if (agreed.families.has(f.family)) walks_.push_back({.peer = id, .family = f.family});
  }
  if (peer.stale_until) peer.stale_until = now_ + kStaleLimit;
}

void Speaker::join_group(PeerId id, GroupKey key) {
  for (Group& group : groups_) std::erase(group.members, id);
  std::erase_if(groups_, [](const Group& g) { return g.members.empty(); });
  auto group = std::ranges::find(groups_, key, &Group::key);
  if (group == groups_.end()) group = groups_.insert(groups_.end(), Group{key, {}});
  group->members.push_back(id);
  peers_.at(id).group = std::move(key);
}

void Speaker::leave_group(PeerId id) {
  peers_.at(id).group.reset();
  for (Group& group : groups_) std::erase(group.members, id);
  std::erase_if(groups_, [](const Group& g) { return g.members.empty(); });
  std::erase_if(walks_, [&](const Walk& w) { return w.peer == id; });
}

void Speaker::lost(Neighbor& neighbor, Loss loss) {
  const PeerId id = neighbor.id();
  Peer& peer = peers_.at(id);
  leave_group(id);
  const auto& gr = neighbor.peer_open()->graceful_restart;
  const bool keeps = loss == Loss::Tcp && neighbor.settings().restart_s > 0 && gr && gr->time_s > 0;
  for (Rib& r : ribs_) {
    const bool kept =
        keeps && neighbor.agreed().families.has(r.family()) &&
        std::ranges::any_of(gr->families, [&](const auto& k) { return k.family == r.family(); });
    // What was stale already has had its time (RFC 4724 section 4.2).
    r.sweep_stale(id);
    peer.stale.remove(r.family());
    if (kept && r.paths_of(id) > 0) {
      r.mark_stale(id);
      peer.stale.add(r.family());
    } else {
      r.drop(id);
    }
  }
  peer.stale_until.reset();
  if (!peer.stale.empty()) peer.stale_until = now_ + seconds(gr->time_s);
}

void Speaker::sweep(PeerId id, Family family) {
  rib_of(family).sweep_stale(id);
  Peer& peer = peers_.at(id);
  peer.stale.remove(family);
  if (peer.stale.empty()) peer.stale_until.reset();
}

void Speaker::update(Neighbor& neighbor, const Update& update) {
  const PeerId id = neighbor.id();
  for (const FamilyRoutes& routes : update.withdrawn)
    for (std::size_t i = 0; i < routes.nlris.size(); ++i) rib_of(routes.family).withdraw(id, routes.nlris[i]);
  if (!update.announced.empty()) {
    const auto loop = loop_of(config_.self, neighbor.settings().external(), update.attributes);
    const AttributesRef attributes = pool_.intern(update.attributes);
    const FilterRef filter = peers_.at(id).import_filter;
    for (const FamilyRoutes& routes : update.announced) {
      Rib& r = rib_of(routes.family);
      for (std::size_t i = 0; i < routes.nlris.size(); ++i) {
        if (!loop.empty()) {
          r.withdraw(id, routes.nlris[i]);
          ++neighbor.counters().looped;
        } else if (filter && !filter->check(Way::Import, routes.family, routes.nlris[i])) {
          r.withdraw(id, routes.nlris[i]);
          ++neighbor.counters().filtered;
        } else {
          r.announce(id, routes.nlris[i], attributes);
        }
      }
    }
    check_prefixes(neighbor);
  }
  if (update.end_of_rib) sweep(id, *update.end_of_rib);
}

void Speaker::check_prefixes(Neighbor& neighbor) {
  const std::uint32_t max = neighbor.settings().max_prefixes;
  for (const Rib& r : ribs_) {
    if (r.paths_of(neighbor.id()) <= max) continue;
    // RFC 4486 section 4: AFI, SAFI, limit.
    WireWriter data;
    data.u16(facts(r.family()).afi).u8(facts(r.family()).safi).u32(max);
    failing_.try_emplace(
        neighbor.id(),
        Notification{.code = ErrorCode::Cease, .subcode = error::kMaxPrefixes, .data = data.take()});
  }
}

void Speaker::refresh(Neighbor& neighbor, const RouteRefresh& refresh) {
  const PeerId id = neighbor.id();
  const Family family = *refresh.family;
  switch (static_cast<RefreshKind>(refresh.kind)) {
    case RefreshKind::Request:
      std::erase_if(walks_, [&](const Walk& w) { return w.peer == id && w.family == family; });
      walks_.push_back({.peer = id, .family = family, .refresh = neighbor.agreed().enhanced_refresh});
      if (neighbor.agreed().enhanced_refresh)
        send(neighbor.connection(), encode_route_refresh(family, RefreshKind::Begin));
      return;
    case RefreshKind::Begin:
      return rib_of(family).mark_stale(id);
    case RefreshKind::End:
      return sweep(id, family);
  }
}

// ---- routes go out

void Speaker::originate(Family family, ByteView nlri, const PathAttributes& attributes) {
  rib_of(family).announce(kLocal, nlri, pool_.intern(attributes));
}

void Speaker::withdraw(Family family, ByteView nlri) { rib_of(family).withdraw(kLocal, nlri); }

void Speaker::tell_sink(const Rib& r) {
  if (!sink_) return;
  for (const Change& change : r.changes()) {
    const Net& net = r.net(change.slot);
    if (!same_path(change.before, net.used())) sink_->route_changed(r.family(), net.key(), net.used());
  }
}

void Speaker::hand_over(PeerId id, const Chunk& bytes, std::size_t messages) {
  const Peer& peer = peers_.at(id);
  const ConnId conn = peer.neighbor->connection();
  if (transport_.queued(conn) > kMaxQueued) {
    slow_.push_back(id);
    return;
  }
  transport_.send(conn, bytes);
  peer.neighbor->count_sent(MessageType::Update, messages);
}

void Speaker::deliver(const Group& group, const std::vector<Exporter::Out>& out) {
  for (const Exporter::Out& o : out)
    for (const PeerId member : group.members)
      if (o.to == kLocal ? member != o.except : member == o.to) hand_over(member, o.bytes, o.messages);
}

void Speaker::tell_groups(const Rib& r) {
  for (const Group& group : groups_) {
    if (!group.key.families.has(r.family())) continue;
    std::vector<Exporter::Out> out;
    Exporter(config_.self, group.key, r, sources_).changes(out);
    deliver(group, out);
  }
}

void Speaker::drop_slow() {
  for (const PeerId id : std::exchange(slow_, {}))
    if (peers_.contains(id))
      failing_.try_emplace(id, Notification{.code = ErrorCode::Cease, .subcode = error::kResources});
  for (const auto& [id, fault] : std::exchange(failing_, {})) {
    Neighbor& neighbor = *peers_.at(id).neighbor;
    if (!neighbor.established()) continue;
    neighbor.fail(fault, now_);
    if (fault.subcode == error::kMaxPrefixes) neighbor.stop(fault.subcode, "", "max-prefix", now_);
  }
}

void Speaker::flush(Time now) {
  now_ = now;
  do {
    for (Rib& r : ribs_) {
      if (r.changes().empty()) continue;
      tell_sink(r);
      tell_groups(r);
      r.finish_changes();
    }
    drop_slow();
  } while (std::ranges::any_of(ribs_, [](const Rib& r) { return !r.changes().empty(); }));
}

void Speaker::send_end_of_rib(Peer& peer, Family family) {
  hand_over(peer.neighbor->id(), std::make_shared<const Bytes>(encode_end_of_rib(family)), 1);
}

bool Speaker::step(Walk& walk) {
  Peer& peer = peers_.at(walk.peer);
  const Rib& r = rib(walk.family);
  const std::uint32_t to = std::min(r.end(), walk.next + kSlotsAtOnce);
  std::vector<Exporter::Out> out;
  Exporter(config_.self, *peer.group, r, sources_).table(walk.peer, walk.next, to, out);
  for (const Exporter::Out& o : out) hand_over(walk.peer, o.bytes, o.messages);
  walk.next = to;
  if (to < r.end()) return false;
  if (walk.refresh) {
    send(peer.neighbor->connection(), encode_route_refresh(walk.family, RefreshKind::End));
  } else if (restarting_) {
    peer.end_of_rib_held = true;
  } else {
    send_end_of_rib(peer, walk.family);
  }
  return true;
}

bool Speaker::fill(Time now) {
  flush(now);
  bool more = false;
  for (std::size_t i = 0; i < walks_.size();) {
    const ConnId conn = peers_.at(walks_[i].peer).neighbor->connection();
    if (transport_.queued(conn) >= kFillBelow) {
      ++i;
    } else if (step(walks_[i])) {
      walks_.erase(walks_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      more = true;
      ++i;
    }
  }
  return more;
}

void Speaker::finish_restart() {
  if (!restarting_) return;
  restarting_ = false;
  for (auto& [id, peer] : peers_) {
    if (!std::exchange(peer.end_of_rib_held, false) || !peer.neighbor->established()) continue;
    for (const FamilyFacts& f : kFamilyTable)
      if (peer.neighbor->agreed().families.has(f.family)) send_end_of_rib(peer, f.family);
  }
}

// ---- operators

std::optional<std::string> Speaker::clear(const PeerAddress& address, std::optional<Soft> soft, Time now) {
  now_ = now;
  Peer* peer = peer_at(address);
  if (!peer) return "no neighbour " + to_string(address);
  Neighbor& neighbor = *peer->neighbor;
  if (!soft) {
    neighbor.reset(error::kReset, "", now);
    flush(now);
    return std::nullopt;
  }
  if (!neighbor.established()) return to_string(address) + " is not established";
  bool asked = *soft == Soft::Out;
  for (const FamilyFacts& f : kFamilyTable) {
    if (!neighbor.agreed().families.has(f.family)) continue;
    if (*soft != Soft::Out) asked |= neighbor.ask_refresh(f.family);
    if (*soft != Soft::In) walks_.push_back({.peer = neighbor.id(), .family = f.family});
  }
  if (!asked) return to_string(address) + " does not do route refresh; clear it without soft";
  return std::nullopt;
}

std::optional<std::string> Speaker::set_shutdown(const PeerAddress& address, bool down, std::string_view text,
                                                 Time now) {
  now_ = now;
  Peer* peer = peer_at(address);
  if (!peer) return "no neighbour " + to_string(address);
  if (down) {
    peer->neighbor->stop(error::kShutdown, text, "shutdown", now);
  } else {
    peer->neighbor->start(now);
  }
  flush(now);
  return std::nullopt;
}

const Neighbor* Speaker::find(const PeerAddress& address) const {
  const auto at = by_address_.find(address);
  return at == by_address_.end() ? nullptr : peers_.at(at->second).neighbor.get();
}

std::vector<const Neighbor*> Speaker::neighbors() const {
  std::vector<const Neighbor*> out;
  out.reserve(by_address_.size());
  for (const auto& [address, id] : by_address_) out.push_back(peers_.at(id).neighbor.get());
  return out;
}

const Neighbor* Speaker::by_id(PeerId id) const {
  const auto at = peers_.find(id);
  return at == peers_.end() ? nullptr : at->second.neighbor.get();
}

std::size_t Speaker::advertised(const Neighbor& neighbor, Family family) const {
  const auto& group = peers_.at(neighbor.id()).group;
  if (!group || !group->families.has(family)) return 0;
  std::size_t out = 0;
  const Rib& r = rib(family);
  for (std::uint32_t slot = 0; slot < r.end(); ++slot) {
    const Path* used = r.net(slot).used();
    if (!used || used->peer == neighbor.id()) continue;
    const bool local = used->peer == kLocal;
    out += exports(*group, local ? Source{} : sources_(used->peer), local, *used->attributes, family,
                   used->nlri.view());
  }
  return out;
}

std::size_t Speaker::stale(const Neighbor& neighbor) const {
  std::size_t out = 0;
  for (const Rib& r : ribs_) {
    if (r.paths_of(neighbor.id()) == 0) continue;
    for (std::uint32_t slot = 0; slot < r.end(); ++slot)
      for (const Path& path : r.net(slot).paths) out += path.peer == neighbor.id() && path.stale;
  }
  return out;
}

std::size_t Speaker::groups() const { return groups_.size(); }

}  // namespace lossless::bgp
