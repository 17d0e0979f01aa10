// SPDX-License-Identifier: Apache-2.0
#include "daemon/bfd/clients.h"

#include <algorithm>

namespace lossless::bfd {
namespace {

static_assert(static_cast<int>(BfdAuth::MeticulousSha1) == static_cast<int>(AuthType::MeticulousSha1) &&
              static_cast<int>(BfdAuth::KeyedMd5) == static_cast<int>(AuthType::KeyedMd5));

constexpr std::uint32_t kMillisecondUs = 1000;

}  // namespace

PeerKey key_of(const BfdPeerConfig& peer) {
  PeerKey key{.peer = parse_ip(peer.address).value_or(IpAddress{}),
              .interface = peer.interface,
              .multihop = peer.multihop};
  if (!peer.local.empty()) key.local = parse_ip(peer.local);
  return key;
}

Settings settings_of(const BfdSettings& config) {
  Settings out{.desired_min_tx_us = config.transmit_ms * kMillisecondUs,
               .required_min_rx_us = config.receive_ms * kMillisecondUs,
               .detect_mult = static_cast<std::uint8_t>(config.multiplier),
               .passive = config.passive,
               .demand = config.demand};
  if (config.auth != BfdAuth::None)
    out.key = {.type = static_cast<AuthType>(config.auth),
               .id = static_cast<std::uint8_t>(config.key_id),
               .secret = {config.key.begin(), config.key.end()}};
  return out;
}

void Clients::configure(const BfdSettings& settings, const std::vector<BfdProfile>& profiles,
                        const std::vector<BfdPeerConfig>& peers) {
  settings_ = settings;
  profiles_ = profiles;
  peers_ = peers;
}

Clients::Handle Clients::add(Client client) {
  clients_.emplace(++last_, std::move(client));
  return last_;
}

const BfdSettings& Clients::settings_of(const std::string& profile) const {
  const auto at = std::ranges::find(profiles_, profile, &BfdProfile::name);
  return at == profiles_.end() ? settings_ : *at;
}

std::map<PeerKey, Peer> Clients::wanted() const {
  std::map<PeerKey, Peer> out;
  const auto want = [&](const PeerKey& key, const std::string& profile, unsigned min_ttl, bool admin_down) {
    const auto [at, is_new] = out.try_emplace(key);
    if (!is_new) return;
    at->second.key = key;
    at->second.settings = bfd::settings_of(settings_of(profile));
    at->second.settings.admin_down = admin_down;
    at->second.min_ttl = static_cast<std::uint8_t>(min_ttl);
  };
  for (const BfdPeerConfig& peer : peers_) want(key_of(peer), peer.profile, peer.min_ttl, peer.shutdown);
  for (const auto& [handle, client] : clients_) want(client.key, client.profile, client.min_ttl, false);
  return out;
}

std::vector<std::string> Clients::owners(const PeerKey& key) const {
  std::vector<std::string> out;
  if (std::ranges::any_of(peers_, [&](const BfdPeerConfig& peer) { return key_of(peer) == key; }))
    out.emplace_back("static");
  for (const auto& [handle, client] : clients_)
    if (client.key == key && std::ranges::find(out, client.owner) == out.end()) out.push_back(client.owner);
  return out;
}

void Clients::tell(const Event& event) const {
  const auto all = clients_;  // a listener may remove itself
  for (const auto& [handle, client] : all)
    if (client.key == event.key && clients_.contains(handle)) client.listener(event);
}

}  // namespace lossless::bfd
