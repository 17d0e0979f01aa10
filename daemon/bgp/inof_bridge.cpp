// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/inof_bridge.h"

#include <algorithm>
#include <set>
#include <utility>

namespace lossless::bgp {
namespace {

Bytes key_of(ByteView tlv) {
  const ByteView key = tlv.first(inof_key_size(tlv));
  return {key.begin(), key.end()};
}

bool is_host(const InofRoute& route) { return std::holds_alternative<HostRoute>(route); }

}  // namespace

InofBridge::~InofBridge() { inof_.set_remote_sink(nullptr); }

void InofBridge::set_speaker(Speaker* speaker, std::function<void()> wake) {
  speaker_ = speaker;
  wake_ = std::move(wake);
}

void InofBridge::configure(bool on, RouterId router_id, std::uint32_t local_pref) {
  if (on_ == on && router_id_ == router_id && local_pref_ == local_pref) return;
  if (on_) withdraw_all();
  on_ = on;
  router_id_ = router_id;
  local_pref_ = local_pref;
  config_changed_ = true;
  inof_.set_remote_sink(on ? this : nullptr);
  if (on) announce_all();
  if (on) learn_all();
  if (!on) forget_all();
}

void InofBridge::learn_all() {
  const Rib& rib = speaker_->rib(Family::Inof);
  for (std::uint32_t slot = 0; slot < rib.end(); ++slot)
    if (const Net& net = rib.net(slot); net.used()) route_changed(Family::Inof, net.key(), net.used());
}

void InofBridge::forget_all() {
  for (const auto& [key, known] : std::exchange(known_, {}))
    if (is_host(known.route)) tell_host(&std::get<HostRoute>(known.route), nullptr);
}

// ---- after a restart

void InofBridge::begin_restore(RouterId router_id, std::uint32_t local_pref) {
  on_ = true;
  router_id_ = router_id;
  local_pref_ = local_pref;
  config_changed_ = true;
}

void InofBridge::finish_restore() {
  inof_.set_remote_sink(this);
  const Time now = std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
  const Rib& rib = speaker_->rib(Family::Inof);
  for (std::uint32_t slot = 0; slot < rib.end(); ++slot) {
    for (const Path& path : rib.net(slot).paths) {
      if (path.peer != kLocal) continue;
      const ByteView tlv = path.nlri.view();
      ours_[key_of(tlv)] = Bytes(tlv.begin(), tlv.end());
      const auto route = decode_inof(tlv);
      if (route && is_host(*route) && !std::get<HostRoute>(*route).online)
        leaving_[key_of(tlv)] = now + kSayWhy;
    }
  }
}

void InofBridge::compare_ours(bool hosts_known) {
  if (!on_) return;
  const std::map<Bytes, Bytes> before = ours_;
  still_ours_.emplace();
  announce_all();
  const std::set<Bytes> still = *std::exchange(still_ours_, std::nullopt);
  for (const auto& [key, tlv] : before) {
    if (still.contains(key) || leaving_.contains(key)) continue;
    const auto route = decode_inof(tlv);
    if (route && (hosts_known || !is_host(*route))) withdraw(*route);
  }
}

// ---- ours to them

void InofBridge::announce(const InofRoute& route) {
  const Bytes tlv = encode_inof(route);
  if (still_ours_) still_ours_->insert(key_of(tlv));
  Bytes& known = ours_[key_of(tlv)];
  if (known == tlv) return;
  known = tlv;
  const PathAttributes attributes{.origin = Origin::Igp, .as_path = AsPath{}, .local_pref = local_pref_};
  speaker_->originate(Family::Inof, tlv, attributes);
  wake_();
}

void InofBridge::withdraw(const InofRoute& route) {
  const Bytes tlv = encode_inof(route);
  const Bytes key = key_of(tlv);
  leaving_.erase(key);
  if (ours_.erase(key) == 0) return;
  speaker_->withdraw(Family::Inof, tlv);
  wake_();
}

void InofBridge::announce_all() {
  const inof::Switch& model = inof_.model();
  const InofConfig config = model.running();
  for (const InofZoneConfig& z : config.zones) {
    zone(z.name, true);
    for (const AddressRange& member : z.hosts) zone_member(z.name, member, true);
  }
  default_zone(config.default_zone);
  hard_zoning(config.hard_zoning);
  for (inof::HostId id = 0; id < model.hosts().end(); ++id) {
    const inof::Host& host = model.hosts().at(id);
    if (host.used && host.key.local() && host.online()) local_host(host, true);
  }
}

void InofBridge::withdraw_all() {
  for (const auto& [key, tlv] : std::exchange(ours_, {})) speaker_->withdraw(Family::Inof, tlv);
  leaving_.clear();
}

void InofBridge::local_host(const inof::Host& host, bool online) {
  const HostRoute route{.origin = router_id_,
                        .chassis = host.key.chassis,
                        .port_id = host.key.port_id,
                        .tlv = host.tlv,
                        .online = online,
                        .reason = online ? inof::Reason::Normal : host.reason};
  const Bytes key = key_of(encode_inof(route));
  if (!online && !ours_.contains(key)) return;
  leaving_.erase(key);
  if (!online)
    leaving_[key] =
        std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch()) + kSayWhy;
  announce(route);
}

void InofBridge::zone(std::string_view name, bool there) {
  config_changed_ = true;
  const ZoneRoute route{router_id_, std::string(name)};
  if (there) return announce(route);
  // Its members go with it.
  std::vector<InofRoute> gone{route};
  for (const auto& [key, tlv] : ours_)
    if (const auto r = decode_inof(tlv); r && std::holds_alternative<ZoneHostRoute>(*r))
      if (std::get<ZoneHostRoute>(*r).zone == name) gone.push_back(*r);
  for (const InofRoute& r : gone) withdraw(r);
}

void InofBridge::zone_member(std::string_view name, const AddressRange& member, bool there) {
  config_changed_ = true;
  const ZoneHostRoute route{router_id_, std::string(name), member};
  there ? announce(route) : withdraw(route);
}

void InofBridge::default_zone(bool on) {
  config_changed_ = true;
  announce(DefaultZoneRoute{router_id_, on});
}

void InofBridge::hard_zoning(bool on) {
  config_changed_ = true;
  announce(HardZoneRoute{router_id_, on});
}

void InofBridge::advance(Time now) {
  for (auto at = leaving_.begin(); at != leaving_.end();) {
    if (at->second > now) {
      ++at;
      continue;
    }
    if (const auto ours = ours_.find(at->first); ours != ours_.end()) {
      speaker_->withdraw(Family::Inof, ours->second);
      ours_.erase(ours);
    }
    at = leaving_.erase(at);
  }
}

std::optional<Time> InofBridge::due() const {
  std::optional<Time> earliest;
  for (const auto& [key, at] : leaving_)
    if (!earliest || at < *earliest) earliest = at;
  return earliest;
}

// ---- theirs to us

void InofBridge::route_changed(Family family, ByteView key, const Path* used) {
  if (family != Family::Inof || !on_) return;
  News news{.key = Bytes(key.begin(), key.end()), .now = {}};
  if (used && used->peer != kLocal) {
    auto route = decode_inof(used->nlri.view());
    if (!route) ++unreadable_;
    if (route && origin_of(*route) != router_id_)
      news.now = Known{std::move(*route), used->attributes->local_pref.value_or(kDefaultLocalPref)};
  }
  news_.push_back(std::move(news));
}

void InofBridge::tell_host(const HostRoute* before, const HostRoute* now) {
  inof_.remote([&](inof::Switch& model, inof::Micros at) {
    if (now && now->online) {
      model.remote_joined(
          {.origin = now->origin, .chassis = now->chassis, .port_id = now->port_id, .tlv = now->tlv}, at);
    } else if (before && before->online) {
      // Whose leave nobody explains has lost its switch.
      const inof::Reason reason = now ? now->reason : inof::Reason::Bfd;
      model.remote_left(before->origin, before->chassis, before->port_id, reason, at);
    }
  });
}

void InofBridge::carry_out() {
  for (News& news : std::exchange(news_, {})) {
    const auto at = known_.find(news.key);
    std::optional<Known> before;
    if (at != known_.end()) {
      before = std::move(at->second);
      known_.erase(at);
    }
    if (!before && !news.now) continue;
    if (is_host(before ? before->route : news.now->route)) {
      tell_host(before ? &std::get<HostRoute>(before->route) : nullptr,
                news.now ? &std::get<HostRoute>(news.now->route) : nullptr);
    } else {
      config_changed_ = true;
    }
    if (news.now) known_[news.key] = std::move(*news.now);
  }
  if (std::exchange(config_changed_, false)) tell_config();
}

void InofBridge::tell_config() {
  std::vector<RemoteFact> facts;
  if (on_)
    for (const auto& [key, known] : known_)
      if (!is_host(known.route)) facts.push_back({known.route, known.local_pref});
  inof::RemoteConfig config = resolve(facts, inof_.model().running(), local_pref_);
  if (config == inof_.model().remote_config()) return;
  inof_.remote_config(std::move(config));
}

}  // namespace lossless::bgp
