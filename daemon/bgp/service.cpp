// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/service.h"

#include <spdlog/spdlog.h>
#include <sys/utsname.h>

#include <algorithm>
#include <asio/post.hpp>

#include "daemon/core/config_rule.h"

namespace lossless::bgp {
namespace {

Self self_of(const BgpConfig& config) {
  const RouterId id = id_of(*parse_ip(config.router_id));
  return {.asn = config.asn,
          .router_id = id,
          .cluster_id = config.cluster_id.empty() ? id : id_of(*parse_ip(config.cluster_id))};
}

NeighborSettings settings_of(const BgpConfig& config, const BgpNeighborConfig& n, const AddressRange& range) {
  NeighborSettings out{.address = range.first,
                       .asn = n.asn > 0 ? n.asn : config.asn,
                       .local_asn = config.asn,
                       .router_id = self_of(config).router_id,
                       .client = n.client,
                       .passive = n.passive || !range.single(),
                       .shutdown = n.shutdown,
                       .hold_s = config.hold_s,
                       .connect_retry_s = config.connect_retry_s,
                       .restart_s = config.restart_s,
                       .max_prefixes = n.max_prefixes,
                       .password = n.password,
                       .key_chain = n.key_chain,
                       .ttl_security = n.ttl_security,
                       .interface = n.interface,
                       .bfd = n.bfd,
                       .description = n.description,
                       .dynamic = !range.single(),
                       .import_filter = n.import_filter,
                       .export_filter = n.export_filter};
  if (!n.source.empty()) out.source = *parse_ip(n.source);
  if (n.inof) out.families.add(Family::Inof);
  if (n.ipv4_unicast) out.families.add(Family::Ipv4Unicast);
  return out;
}

std::vector<AoPeer> ao_peers(const Config& config) {
  std::vector<AoPeer> all;
  for (const BgpNeighborConfig& n : config.bgp_neighbors)
    if (!n.key_chain.empty()) all.push_back({*parse_range(n.address), n.key_chain});
  std::vector<AoPeer> out;
  for (const AoPeer& peer : all) {
    // A range that has the same chain has the keys for an address in it, too; the kernel refuses them twice.
    const bool covered =
        peer.from.single() && std::ranges::any_of(all, [&](const AoPeer& range) {
          return !range.from.single() && range.chain == peer.chain && range.from.contains(peer.from.first);
        });
    if (!covered) out.push_back(peer);
  }
  return out;
}

}  // namespace

Time BgpService::now() {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

BgpService::BgpService(asio::io_context& loop, inof::SwitchService& inof, bfd::BfdService& bfd,
                       bool restarted)
    : loop_(loop),
      bfd_(bfd),
      timer_(loop),
      tcp_(loop, *this),
      bridge_(inof),
      speaker_(tcp_, &bridge_),
      keeper_(loop, restart::Kind::Bgp) {
  bridge_.set_speaker(&speaker_, [this] { soon(); });
  if (restarted) speaker_.begin_restart();
}

BgpService::~BgpService() {
  keeper_.stop();
  bridge_.set_speaker(nullptr, {});
}

void BgpService::apply(const Config& config) {
  if (!config.bgp.on) return end();
  const bool begins = !config_.on;
  ranges_.clear();
  SpeakerConfig wanted{
      .self = self_of(config.bgp), .restart_s = config.bgp.restart_s, .filters = config.bgp_filters};
  std::vector<TcpKey> keys;
  for (const BgpNeighborConfig& n : config.bgp_neighbors) {
    const AddressRange range = *parse_range(n.address);
    const NeighborSettings settings = settings_of(config.bgp, n, range);
    if (!n.password.empty()) keys.push_back({range, n.password});
    if (range.single()) {
      wanted.neighbors.push_back(settings);
    } else {
      ranges_.push_back({range, settings});
    }
  }
  listen(config.bgp);
  if (const auto wrong = set_keys(config, keys)) tcp_trouble(*wrong);
  config_ = config.bgp;
  // A restart is over when every host that is still there has been heard again.
  age_s_ = config.inof.on ? config.inof.age_s : 1;
  if (begins) restart_ends_ = now() + std::chrono::seconds(age_s_);
  // Those of listen ranges stay as long as their range says the same.
  for (const Neighbor* n : speaker_.neighbors()) {
    if (!n->settings().dynamic) continue;
    for (const Range& range : ranges_) {
      if (!range.addresses.contains(n->settings().address)) continue;
      wanted.neighbors.push_back(range.settings);
      wanted.neighbors.back().address = n->settings().address;
      break;
    }
  }
  keeper_.begin();
  ++own_changes_;
  config_text_ = to_toml(config);
  if (restored_) restore_speaker(wanted);
  speaker_.configure(wanted, now());
  bridge_.configure(config.inof.on, self_of(config.bgp).router_id, config.bgp.local_pref);
  after();
  watch_by_bfd();
}

void BgpService::listen(const BgpConfig& config) {
  tcp_.set_port(static_cast<std::uint16_t>(config.port));
  const bool same = config_.on && config_.listen == config.listen && config_.port == config.port;
  std::optional<std::string> wrong;
  if (!same || !tcp_.listening())
    wrong = tcp_.listen(config.listen.empty() ? IpAddress{} : *parse_ip(config.listen),
                        static_cast<std::uint16_t>(config.port));
  if (wrong) spdlog::error("BGP: {}", *wrong);
  listen_error_ = wrong.value_or("");
}

// The kernel has one kind of signature for an address: what goes, goes first.
std::optional<std::string> BgpService::set_keys(const Config& config, const std::vector<TcpKey>& md5) {
  std::map<std::string, net::KeyChain> chains;
  for (const KeyChainConfig& chain : config.key_chains) chains[chain.name] = chain.keys;
  const std::vector<AoPeer> peers = ao_peers(config);
  tcp_.keep_key_chains(peers);
  const auto wrong_md5 = tcp_.set_keys(md5);
  const auto wrong_ao = tcp_.set_key_chains(std::move(chains), peers);
  return wrong_md5 ? wrong_md5 : wrong_ao;
}

std::optional<std::string> BgpService::find_kernel_fault(const Config& config) {
  const auto at = std::ranges::find_if(config.bgp_neighbors,
                                       [](const BgpNeighborConfig& n) { return !n.key_chain.empty(); });
  if (!config.bgp.on || at == config.bgp_neighbors.end() || net::has_tcp_ao()) return std::nullopt;
  utsname kernel{};
  uname(&kernel);
  return "bgp_neighbor " + at->address + ": key_chain " + quoted(at->key_chain) +
         " needs TCP-AO, which this kernel (" + kernel.release +
         ") does not have; it is in Linux 6.7 and later, where that is built with CONFIG_TCP_AO";
}

void BgpService::tcp_trouble(const std::string& what) {
  spdlog::error("BGP: {}", what);
  listen_error_ = what;
}

void BgpService::end() {
  if (!config_.on) return;
  bridge_.configure(false, 0, 0);
  speaker_.configure({}, now());
  after();
  tcp_.stop_listening();
  ranges_.clear();
  watch_by_bfd();
  config_ = {};
}

void BgpService::stop(bool for_good) {
  if (handed_over_) return tcp_.stop_listening();
  // With graceful restart the sockets fall without a word, and peers keep what they have of us.
  if (config_.on && (for_good || config_.restart_s == 0)) speaker_.configure({}, now());
  tcp_.push();
  tcp_.stop_listening();
}

std::optional<std::string> BgpService::clear(const PeerAddress& address, std::optional<Speaker::Soft> soft) {
  keeper_.begin();
  ++own_changes_;
  const auto wrong = speaker_.clear(address, soft, now());
  after();
  return wrong;
}

std::optional<std::string> BgpService::set_shutdown(const PeerAddress& address, bool down,
                                                    const std::string& text) {
  keeper_.begin();
  ++own_changes_;
  const auto wrong = speaker_.set_shutdown(address, down, text, now());
  after();
  watch_by_bfd();
  return wrong;
}

// A session for each neighbour that wants one, as long as it is not shut down.
void BgpService::watch_by_bfd() {
  std::map<PeerAddress, IpAddress> wanted;  // theirs, and ours where it is known
  for (const Neighbor* n : speaker_.neighbors())
    if (n->settings().bfd && n->held_down().empty()) wanted[n->settings().peer()] = n->settings().source;
  for (auto at = watched_.begin(); at != watched_.end();) {
    if (wanted.contains(at->first)) {
      ++at;
      continue;
    }
    bfd_.remove(at->second);
    at = watched_.erase(at);
  }
  for (const auto& [address, source] : wanted) {
    if (watched_.contains(address)) continue;
    bfd::Client client{.owner = "bgp", .key = {.peer = address.address, .interface = address.interface}};
    if (!source.is_zero()) client.key.local = source;
    client.listener = [this, address](const bfd::Event& event) {
      if (event.failed) bfd_down(address);
    };
    watched_[address] = bfd_.add(std::move(client));
  }
}

void BgpService::bfd_down(const PeerAddress& address) {
  keeper_.begin();
  speaker_.bfd_down(address, now());
  after();
}

const NeighborSettings* BgpService::tcp_wanted(const PeerAddress& remote, ConnId& conn) {
  const Neighbor* known = speaker_.find(remote);
  if (!known) {
    const auto range =
        std::ranges::find_if(ranges_, [&](const Range& r) { return r.addresses.contains(remote.address); });
    if (range == ranges_.end() || speaker_.neighbors().size() >= kMaxBgpNeighbors) return nullptr;
    NeighborSettings settings = range->settings;
    settings.address = remote.address;
    speaker_.add_dynamic(settings, now());
    known = speaker_.find(remote);
  }
  conn = speaker_.new_connection();
  return &known->settings();
}

bool BgpService::tcp_accepted(ConnId conn, const PeerAddress& remote, const IpAddress& local) {
  keeper_.begin();
  const bool wanted = speaker_.accepted(conn, remote, local, now());
  after();
  return wanted;
}

void BgpService::tcp_connected(ConnId conn, const IpAddress& local) {
  keeper_.begin();
  speaker_.connected(conn, local, now());
  after();
}

void BgpService::tcp_disconnected(ConnId conn, const std::string& why) {
  keeper_.begin();
  speaker_.disconnected(conn, why, now());
  after();
}

void BgpService::tcp_received(ConnId conn, ByteView bytes) {
  speaker_.received(conn, bytes, now());
  after();
}

void BgpService::tcp_drained(ConnId) { after(); }

void BgpService::after() {
  speaker_.flush(now());
  bridge_.carry_out();
  speaker_.flush(now());
  const bool more = speaker_.fill(now());
  tcp_.push();
  log_states();
  reap();
  schedule();
  keep_event();
  if (more) soon();
}

// Once this event is over: the switch must not be called while it calls us.
void BgpService::soon() {
  keeper_.begin();
  ++own_changes_;
  if (std::exchange(posted_, true)) return;
  asio::post(loop_, [this] {
    posted_ = false;
    after();
  });
}

// Neighbours of listen ranges that have gone, and of whom nothing is kept.
void BgpService::reap() {
  if (ranges_.empty()) return;
  for (const Neighbor* n : speaker_.neighbors()) {
    if (!n->settings().dynamic || n->state() != State::Active || speaker_.stale(*n) > 0) continue;
    const PeerAddress address = n->settings().peer();
    states_.erase(address);
    speaker_.remove(address, error::kDeconfigured, now());
  }
}

void BgpService::log_states() {
  for (const Neighbor* n : speaker_.neighbors()) {
    State& before = states_.try_emplace(n->settings().peer(), State::Idle).first->second;
    const bool was_up = before == State::Established;
    before = n->state();
    if (was_up == n->established()) continue;
    if (n->established()) {
      spdlog::info("BGP: neighbour {} is up", to_string(n->settings().peer()));
    } else {
      spdlog::warn("BGP: neighbour {} is down: {}", to_string(n->settings().peer()), n->last_error());
    }
  }
}

void BgpService::schedule() {
  auto due = speaker_.due();
  const auto at = [&](const std::optional<Time>& t) {
    if (t && (!due || *t < *due)) due = t;
  };
  at(restart_ends_);
  at(bridge_.due());
  std::optional<std::chrono::steady_clock::time_point> when;
  if (due) when.emplace(std::chrono::duration_cast<std::chrono::steady_clock::duration>(*due));
  timer_.set(when, [this] {
    if (restart_ends_ && *restart_ends_ <= now()) {
      restart_ends_.reset();
      speaker_.finish_restart();
      if (std::exchange(hosts_unheard_, false)) bridge_.compare_ours(true);
    }
    keeper_.begin();
    bridge_.advance(now());
    speaker_.advance(now());
    after();
  });
}

}  // namespace lossless::bgp
