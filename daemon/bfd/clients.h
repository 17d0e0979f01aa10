// SPDX-License-Identifier: Apache-2.0
// Who wants which BFD session, and with what settings: the configuration's own peers, and other subjects such
// as BGP. Several may share a session. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/bfd/table.h"
#include "daemon/core/config.h"

namespace lossless::bfd {

// What a client is told.
struct Event {
  const PeerKey& key;
  State state = State::Down;
  Diag diag = Diag::None;
  // It was Up, and the neighbour or the path to it failed: what came through it is to go at once. Not after
  // somebody took the session down on purpose.
  bool failed = false;
};
using Listener = std::function<void(const Event&)>;

struct Client {
  std::string owner;  // for people: "bgp"
  PeerKey key;
  std::string profile = {};  // of [[bfd_profile]]; empty or unknown: [bfd]
  std::uint8_t min_ttl = 1;
  Listener listener = [](const Event&) {};
};

class Clients {
 public:
  using Handle = std::uint64_t;

  // From configuration; the clients stay.
  void configure(const BfdSettings& settings, const std::vector<BfdProfile>& profiles,
                 const std::vector<BfdPeerConfig>& peers);
  Handle add(Client client);
  void remove(Handle handle) { clients_.erase(handle); }

  // All sessions there should be, without interface indexes. Settings are those of the configuration's own
  // peer, else of the client that came first.
  std::map<PeerKey, Peer> wanted() const;
  // "static", "bgp"
  std::vector<std::string> owners(const PeerKey& key) const;
  // Tells those who share the session of the event.
  void tell(const Event& event) const;

 private:
  const BfdSettings& settings_of(const std::string& profile) const;

  BfdSettings settings_;
  std::vector<BfdProfile> profiles_;
  std::vector<BfdPeerConfig> peers_;
  std::map<Handle, Client> clients_;
  Handle last_ = 0;
};

PeerKey key_of(const BfdPeerConfig& peer);
Settings settings_of(const BfdSettings& config);

}  // namespace lossless::bfd
