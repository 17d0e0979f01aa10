// SPDX-License-Identifier: Apache-2.0
#include "daemon/dcbx/machine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <utility>

namespace lossless::dcbx {
namespace {

constexpr std::uint8_t kVersion = 0;  // of CEE, and the highest that we know

// Two willing ends: the numerically lower address decides (38.4.2).
bool is_lower(const Mac& a, const Mac& b) { return a < b; }

std::string bits_text(std::uint8_t bits) {
  std::string out;
  for (unsigned p = 0; p < 8; ++p)
    if ((bits >> p & 1U) != 0) out += (out.empty() ? "" : ",") + std::to_string(p);
  return out.empty() ? "none" : out;
}

// Protocols to which both give a priority, and not the same one.
std::string differing(const std::vector<App>& ours, const std::vector<App>& theirs) {
  std::string out;
  for (const App& app : ours)
    for (const App& other : theirs)
      if (app.selector == other.selector && app.protocol == other.protocol && app.priority != other.priority)
        out += (out.empty() ? "" : "; ") + to_string(app) + " here, " + std::to_string(other.priority) +
               " there";
  return out;
}

// CEE's groups are TCs here: a TC with a share is the group of its number, strict ones are in group 15.
CeeGroups groups_of(const Table& ets) {
  CeeGroups out;
  out.share = ets.share;
  for (std::size_t p = 0; p < out.group.size(); ++p) {
    const std::uint8_t tc = ets.priority_tc[p];
    out.group[p] = ets.tsa[tc] == kEtsTsa ? tc : kStrictGroup;
  }
  return out;
}

// The other way round. Priorities of group 15 keep their TCs where those are strict here, else they share the
// highest TC that has no group.
Table table_of(const CeeGroups& groups, const Table& local) {
  Table out;
  std::uint8_t used = 0;
  for (const std::uint8_t group : groups.group)
    if (group != kStrictGroup) used = static_cast<std::uint8_t>(used | 1U << group);
  std::uint8_t spare = 7;
  while (spare > 0 && (used >> spare & 1U) != 0) --spare;
  for (std::size_t p = 0; p < groups.group.size(); ++p) {
    const std::uint8_t own = local.priority_tc[p];
    const bool keeps = local.tsa[own] == kStrict && (used >> own & 1U) == 0;
    out.priority_tc[p] = groups.group[p] != kStrictGroup ? groups.group[p] : keeps ? own : spare;
  }
  for (std::size_t tc = 0; tc < out.tsa.size(); ++tc) {
    if ((used >> tc & 1U) == 0) continue;
    out.tsa[tc] = kEtsTsa;
    out.share[tc] = groups.share[tc];
  }
  return out;
}

// Selectors of both dialects; CEE has no more than these.
std::vector<CeeApp> cee_apps(const std::vector<App>& apps) {
  std::vector<CeeApp> out;
  for (const App& app : apps) {
    const bool ethertype = app.selector == 1;
    if (!ethertype && (app.selector < 2 || app.selector > 4)) continue;
    out.push_back({.protocol = app.protocol,
                   .selector = static_cast<std::uint8_t>(ethertype ? 0 : 1),
                   .priorities = static_cast<std::uint8_t>(1U << app.priority)});
  }
  return out;
}

// A willing end's table: the neighbour's entries, and ours for protocols that it has none for. Neighbours
// that took ours say them back to us beside their own: their own counts. Of several priorities the highest.
std::vector<App> joined(const std::vector<App>& ours, const std::vector<App>& theirs) {
  std::map<std::pair<std::uint8_t, std::uint16_t>, std::uint8_t> chosen;
  const auto is_ours = [&](const App& app) { return std::ranges::find(ours, app) != ours.end(); };
  for (const App& app : theirs) {
    const auto [at, is_new] = chosen.emplace(std::pair(app.selector, app.protocol), app.priority);
    if (is_new || is_ours(app)) continue;
    const bool echo = is_ours({at->second, app.selector, app.protocol});
    at->second = echo ? app.priority : std::max(at->second, app.priority);
  }
  // TCP and UDP ports are also named by "either".
  const auto has = [&](std::uint8_t selector, std::uint16_t protocol) {
    return chosen.contains({selector, protocol});
  };
  for (const App& app : ours) {
    const bool tcp_or_udp = app.selector == 2 || app.selector == 3;
    const bool named = has(app.selector, app.protocol) || (tcp_or_udp && has(4, app.protocol)) ||
                       (app.selector == 4 && (has(2, app.protocol) || has(3, app.protocol)));
    if (!named) chosen.emplace(std::pair(app.selector, app.protocol), app.priority);
  }
  std::vector<App> out;
  out.reserve(chosen.size());
  for (const auto& [what, priority] : chosen)
    out.push_back({.priority = priority, .selector = what.first, .protocol = what.second});
  return out;
}

CeeFeature our_feature(bool willing, bool error = false) {
  return {
      .oper_version = kVersion, .max_version = kVersion, .enable = true, .willing = willing, .error = error};
}

std::vector<App> ieee_apps(const std::vector<CeeApp>& apps) {
  std::vector<App> out;
  for (const CeeApp& app : apps) {
    if (app.priorities == 0 || app.selector > 1) continue;
    // Of several priorities the highest.
    const auto highest = static_cast<std::uint8_t>(std::bit_width(app.priorities) - 1);
    out.push_back({.priority = highest,
                   .selector = static_cast<std::uint8_t>(app.selector == 0 ? 1 : 4),
                   .protocol = app.protocol});
  }
  return out;
}

}  // namespace

std::string_view to_string(Dialect dialect) { return dialect == Dialect::Ieee ? "ieee" : "cee"; }
std::string_view to_string(Source source) { return source == Source::Local ? "local" : "peer"; }
std::string_view to_string(Alarm alarm) {
  constexpr std::array<std::string_view, 6> kNames{"multiple peers", "version mismatch",   "PFC mismatch",
                                                   "APP mismatch",   "neighbour in error", "malformed TLVs"};
  return kNames[static_cast<std::size_t>(alarm)];
}

void Machine::configure(const DcbxConfig& config, const Params& local, const Mac& mac) {
  config_ = config;
  local_ = local;
  mac_ = mac;
  run();
}

void Machine::heard(const lldp::NeighbourKey& from, Said said, const Mac& mac) {
  if (said.none()) return gone(from);
  peers_[from] = {.said = std::move(said), .mac = mac};
  run();
}

void Machine::gone(const lldp::NeighbourKey& from) {
  if (peers_.erase(from) > 0) run();
}

const PeerView* Machine::peer() const { return peers_.size() == 1 ? &peers_.begin()->second : nullptr; }

bool Machine::peer_acked() const {
  const PeerView* view = peer();
  return view && view->said.cee && view->said.cee->control.ack == sequence_;
}

// Everything follows from what is known now.
void Machine::run() {
  alarms_.clear();
  operational_ = {.params = local_};
  const PeerView* view = peer();
  if (peers_.size() > 1)
    alarms_[Alarm::MultiplePeers] =
        std::to_string(peers_.size()) + " neighbours speak DCBX; none of them counts";
  choose_dialect(view);
  if (!view) {
    peer_sequence_ = 0;
    return number_changes();
  }
  std::string faults;
  for (const std::string& fault : view->said.faults) faults += (faults.empty() ? "" : "; ") + fault;
  if (!faults.empty()) alarms_[Alarm::Malformed] = faults;
  if (dialect_ == Dialect::Ieee && view->said.ieee) {
    run_ieee(*view->said.ieee, view->mac);
  } else if (dialect_ == Dialect::Cee && view->said.cee) {
    run_cee(*view->said.cee);
  } else if (view->said.ieee || view->said.cee || view->said.cee100) {
    const std::string theirs = view->said.ieee ? "ieee" : view->said.cee ? "cee" : "CEE 1.00";
    alarms_[Alarm::VersionMismatch] =
        "the neighbour speaks " + theirs + ", this port " + std::string(to_string(dialect_));
  }
  number_changes();
}

// Auto: IEEE, unless the neighbour speaks CEE and not IEEE.
void Machine::choose_dialect(const PeerView* view) {
  if (config_.version != DcbxVersion::Auto) {
    dialect_ = config_.version == DcbxVersion::Ieee ? Dialect::Ieee : Dialect::Cee;
    return;
  }
  dialect_ = view && view->said.cee && !view->said.ieee ? Dialect::Cee : Dialect::Ieee;
}

void Machine::run_ieee(const Ieee& peer, const Mac& mac) {
  Operational& out = operational_;
  if (config_.ets_willing && peer.recommendation) {
    out.ets = Source::Peer;
    out.params.ets = *peer.recommendation;
  }
  if (peer.pfc) {
    const bool takes = config_.pfc_willing && (!peer.pfc->willing || is_lower(mac, mac_));
    if (takes) {
      out.pfc = Source::Peer;
      out.params.pfc = peer.pfc->enabled;
    }
    const bool follows = peer.pfc->willing && !takes;
    if (!takes && !follows && peer.pfc->enabled != local_.pfc) {
      alarms_[Alarm::PfcMismatch] = "neither end is willing: PFC on priorities " + bits_text(local_.pfc) +
                                    " here, " + bits_text(peer.pfc->enabled) + " there";
    } else if (std::popcount(out.params.pfc) > peer.pfc->cap) {
      alarms_[Alarm::PfcMismatch] = "PFC on " + std::to_string(std::popcount(out.params.pfc)) +
                                    " priorities, the neighbour can have it on " +
                                    std::to_string(peer.pfc->cap);
    }
  }
  if (!peer.apps) return;
  if (config_.app_willing && !peer.apps->empty()) {
    out.apps = Source::Peer;
    out.params.apps = joined(local_.apps, *peer.apps);
  } else if (const std::string what = differing(local_.apps, *peer.apps); !what.empty()) {
    alarms_[Alarm::AppMismatch] = what;
  }
}

// The willing end takes what the other has, once that has seen that it will.
bool Machine::cee_takes_peer(std::string_view what, bool willing, const CeeFeature& theirs) {
  if (!willing || theirs.willing || !theirs.enable || !peer_acked()) return false;
  if (!theirs.error) return true;
  std::string& text = alarms_[Alarm::PeerError];
  text += text.empty() ? "it reports an error, so this is not taken over: " : ", ";
  text += what;
  return false;
}

void Machine::run_cee(const Cee& peer) {
  peer_sequence_ = peer.control.sequence;
  if (peer.control.oper_version > kVersion) {
    alarms_[Alarm::VersionMismatch] = "the neighbour operates CEE version " +
                                      std::to_string(peer.control.oper_version) +
                                      ", allowed: " + std::to_string(kVersion);
    return;
  }
  Operational& out = operational_;
  if (peer.groups && cee_takes_peer("ETS", config_.ets_willing, peer.groups->feature)) {
    out.ets = Source::Peer;
    out.params.ets = table_of(*peer.groups, local_.ets);
  }
  if (peer.pfc) {
    const CeeFeature& theirs = peer.pfc->feature;
    if (cee_takes_peer("PFC", config_.pfc_willing, theirs)) {
      out.pfc = Source::Peer;
      out.params.pfc = peer.pfc->enabled;
    } else if (theirs.enable && theirs.willing == config_.pfc_willing && peer.pfc->enabled != local_.pfc) {
      alarms_[Alarm::PfcMismatch] = std::string(theirs.willing ? "both ends are" : "neither end is") +
                                    " willing: PFC on priorities " + bits_text(local_.pfc) + " here, " +
                                    bits_text(peer.pfc->enabled) + " there";
    }
  }
  if (!peer.apps) return;
  const CeeFeature& theirs = peer.apps->feature;
  const std::vector<App> said = ieee_apps(peer.apps->entries);
  if (cee_takes_peer("applications", config_.app_willing, theirs)) {
    out.apps = Source::Peer;
    out.params.apps = joined(local_.apps, said);
  } else if (theirs.enable && theirs.willing == config_.app_willing) {
    // Both sides of the comparison as CEE can say them.
    if (const std::string what = differing(ieee_apps(cee_apps(local_.apps)), said); !what.empty())
      alarms_[Alarm::AppMismatch] = what;
  }
}

// Whatever is said anew has a new number, which the neighbour acknowledges.
void Machine::number_changes() {
  Cee now = cee();
  now.control = {};
  if (now == numbered_) return;
  numbered_ = std::move(now);
  ++sequence_;
}

Ieee Machine::ieee() const {
  Ieee out;
  if (config_.advertise_ets) {
    out.ets = Ets{.willing = config_.ets_willing, .table = operational_.params.ets};
    out.recommendation = local_.ets;
  }
  // A willing end says what holds, so that the other sees whether it agrees (38.4.2).
  if (config_.advertise_pfc)
    out.pfc = Pfc{.willing = config_.pfc_willing, .cap = 8, .enabled = operational_.params.pfc};
  // Ours as far as it holds. Never what the neighbour said: one that takes ours would hear that from us when
  // it has left it itself, and it would stay for ever.
  if (config_.advertise_app) {
    std::vector<App> hold;
    std::ranges::copy_if(local_.apps, std::back_inserter(hold), [&](const App& app) {
      return std::ranges::find(operational_.params.apps, app) != operational_.params.apps.end();
    });
    if (!hold.empty()) out.apps = std::move(hold);
  }
  return out;
}

Cee Machine::cee() const {
  Cee out{
      .control = {
          .oper_version = kVersion, .max_version = kVersion, .sequence = sequence_, .ack = peer_sequence_}};
  if (config_.advertise_ets) {
    out.groups = groups_of(local_.ets);
    out.groups->feature = our_feature(config_.ets_willing);
  }
  if (config_.advertise_pfc)
    out.pfc = CeePfc{.feature = our_feature(config_.pfc_willing, alarms_.contains(Alarm::PfcMismatch)),
                     .enabled = local_.pfc};
  if (config_.advertise_app)
    out.apps = CeeApps{.feature = our_feature(config_.app_willing, alarms_.contains(Alarm::AppMismatch)),
                       .entries = cee_apps(local_.apps)};
  return out;
}

std::vector<lldp::OrgTlv> Machine::tlvs() const {
  if (dialect_ == Dialect::Ieee) return encode(ieee());
  return {encode(cee())};
}

}  // namespace lossless::dcbx
