// SPDX-License-Identifier: Apache-2.0
// BGP over a restart of the daemon (docs/restart.md): what is left to the next process, and what was found.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "daemon/bgp/saved.h"
#include "daemon/bgp/service.h"
#include "daemon/restart/fd_store_io.h"

namespace lossless::bgp {
namespace {

std::string socket_name(std::uint64_t number) { return fmt::format("{}{:x}", restart::kBgpSocket, number); }

struct Found {
  SavedSpeaker speaker;
  Config config;
  bool current = false;
};

Result<Found> read(int fd) {
  const auto file = restart::read_state_file(fd);
  if (!file) return fail(file.error());
  const auto body = restart::unwrap(file->image, restart::Kind::Bgp, kSavedVersion);
  if (!body) return fail(body.error());
  auto speaker = decode_saved(*body);
  if (!speaker) return fail(speaker.error());
  auto config = parse_config(speaker->config, "saved state");
  if (!config) return fail("its configuration is of another version: " + config.error().front().text());
  return Found{std::move(*speaker), std::move(*config), file->current};
}

}  // namespace

struct BgpService::Restored {
  SavedSpeaker speaker;
  bool current = false;
  std::map<std::uint64_t, restart::NamedFd> sockets;  // by number
};

void BgpService::restore(restart::NamedFds& fds) {
  Restored restored;
  Fd state;
  for (restart::NamedFd& named : fds) {
    if (named.name == restart::state_name(restart::Kind::Bgp)) state = std::move(named.fd);
    if (named.name.starts_with(restart::kBgpSocket))
      restored.sockets[socket_number(named.fd.get())] = std::move(named);
  }
  if (!state && restored.sockets.empty()) return;
  // What was read once must not be found again by a later process.
  restart::FdStore::drop(restart::state_name(restart::Kind::Bgp));
  auto found = state ? read(state.get()) : fail("there is none");
  if (!found) {
    spdlog::warn("BGP: the state of the process before is not used: {}; graceful restart goes on with it",
                 found.error());
  } else if (found->config.bgp.on) {
    restored.speaker = std::move(found->speaker);
    restored.current = found->current;
    if (!found->current)
      spdlog::warn(
          "BGP: sessions changed after their state was kept last; graceful restart takes the place of them");
    restored_ = &restored;
    apply(found->config);
    restored_ = nullptr;
  }
  // Those that are of no use close here, and in the store.
  for (const auto& [number, named] : restored.sockets)
    if (named.fd) restart::FdStore::drop(named.name);
}

ConnId BgpService::adopt(const SavedNeighbor& neighbor, const NeighborSettings& settings) {
  const auto at = restored_->sockets.find(neighbor.session->socket);
  if (!restored_->current || at == restored_->sockets.end() || !at->second.fd) return 0;
  const ConnId conn = speaker_.new_connection();
  const auto wrong = tcp_.adopt(conn, at->second.fd.release(), settings, neighbor.session->unsent);
  if (wrong) {
    spdlog::warn("BGP: neighbour {} cannot go on: {}", to_string(neighbor.peer), *wrong);
    restart::FdStore::drop(at->second.name);
    return 0;
  }
  stored_[conn] = at->second.name;
  return conn;
}

void BgpService::restore_speaker(SpeakerConfig& wanted) {
  const SavedSpeaker& saved = restored_->speaker;
  for (const SavedNeighbor& n : saved.neighbors) {
    if (!n.dynamic) continue;
    const auto range =
        std::ranges::find_if(ranges_, [&](const Range& r) { return r.addresses.contains(n.peer.address); });
    if (range == ranges_.end()) continue;
    wanted.neighbors.push_back(range->settings);
    wanted.neighbors.back().address = n.peer.address;
  }
  bridge_.begin_restore(wanted.self.router_id, config_.local_pref);
  std::size_t alive = 0;
  std::size_t lost = 0;
  const auto conn_of = [&](std::size_t i, const NeighborSettings& settings) {
    const ConnId conn = adopt(saved.neighbors[i], settings);
    ++(conn != 0 ? alive : lost);
    return conn;
  };
  speaker_.restore(wanted, saved, conn_of, now());
  bridge_.finish_restore();
  for (const Neighbor* n : speaker_.neighbors()) states_[n->settings().peer()] = n->state();
  spdlog::info("BGP: {} sessions go on, {} did not survive, {} routes", alive, lost, saved.routes.size());
  if (lost > 0) return;
  // Nobody has to be asked for patience.
  speaker_.finish_restart();
  restart_ends_.reset();
}

void BgpService::finish_restore(bool hosts_known) {
  if (!config_.on) return;
  bridge_.compare_ours(hosts_known);
  hosts_unheard_ = !hosts_known;
  // Those that stay silent are withdrawn then.
  if (hosts_unheard_ && !restart_ends_) restart_ends_ = now() + std::chrono::seconds(age_s_);
  after();
}

// ---- for the next one

Bytes BgpService::image() const {
  SavedSpeaker saved = speaker_.save();
  saved.config = config_text_;
  for (SavedNeighbor& n : saved.neighbors) {
    if (!n.session) continue;
    Tcp::Lent lent = tcp_.lend(speaker_.find(n.peer)->connection());
    n.session->socket = lent.socket;
    n.session->unsent = std::move(lent.unsent);
    if (lent.fd < 0) n.session.reset();
  }
  return restart::wrap(restart::Kind::Bgp, kSavedVersion, encode_saved(saved));
}

void BgpService::keep() {
  if (!restart::FdStore::is_there()) return;
  keeper_.start([this] { return image(); });
  store_sockets();
}

// The store has those of established sessions.
void BgpService::store_sockets() {
  std::uint64_t sessions = 0;
  for (const Neighbor* n : speaker_.neighbors())
    sessions = sessions * 31 + (n->established() ? n->connection() : 0);
  if (std::exchange(sessions_, sessions) == sessions) return;
  std::map<ConnId, std::string> wanted;
  for (const Neighbor* n : speaker_.neighbors()) {
    if (!n->established()) continue;
    const ConnId conn = n->connection();
    const auto known = stored_.find(conn);
    if (known != stored_.end()) {
      wanted.insert(*known);
      continue;
    }
    const Tcp::Lent lent = tcp_.lend(conn);
    if (lent.fd < 0) continue;
    const std::string& name = wanted[conn] = socket_name(lent.socket);
    restart::FdStore::keep(name, lent.fd);
  }
  for (const auto& [conn, name] : stored_)
    if (!wanted.contains(conn)) restart::FdStore::drop(name);
  stored_ = std::move(wanted);
}

// Two that are the same have the same to be kept, but for times.
std::uint64_t BgpService::stamp() const {
  std::uint64_t out = own_changes_ + tcp_.unsent();
  const auto add = [&](std::uint64_t value) { out = out * 31 + value; };
  for (const Neighbor* n : speaker_.neighbors()) {
    const NeighborCounters& c = n->counters();
    for (const MessageType type : {MessageType::Open, MessageType::Update, MessageType::RouteRefresh}) {
      add(c.in[static_cast<std::size_t>(type)]);
      add(c.out[static_cast<std::size_t>(type)]);
    }
    add(static_cast<std::uint64_t>(n->state()));
    add(n->partial());
    add(c.dropped + c.refused);
  }
  return out;
}

void BgpService::keep_event() {
  if (!restart::FdStore::is_there() || handed_over_) return;
  store_sockets();
  const std::uint64_t now = stamp();
  keeper_.end(std::exchange(stamp_, now) != now);
}

std::vector<restart::Lent> BgpService::hand_over() {
  if (!config_.on) return {};
  after();
  handed_over_ = true;
  const auto file = keeper_.write(image());
  if (!file) {
    spdlog::error("BGP: {}; graceful restart takes the place of a hand-over", file.error());
    return {};
  }
  std::vector<restart::Lent> out{{restart::state_name(restart::Kind::Bgp), *file}};
  for (const Neighbor* n : speaker_.neighbors()) {
    if (!n->established()) continue;
    const Tcp::Lent lent = tcp_.lend(n->connection());
    if (lent.fd >= 0) out.push_back({socket_name(lent.socket), lent.fd});
  }
  return out;
}

}  // namespace lossless::bgp
