// SPDX-License-Identifier: Apache-2.0
// Speakers on a wire of memory: connections come about at once, bytes arrive in pieces of a chosen size.
#pragma once

#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "daemon/bgp/speaker.h"

namespace lossless::bgp::test {

inline IpAddress ip(const std::string& text) { return *parse_ip(text); }

class Sim;

// One speaker with its end of all connections.
class Node final : public Transport, public RouteSink {
 public:
  Node(Sim& sim, std::string address, std::uint32_t asn = 65001)
      : sim_(sim), address_(ip(address)), speaker(*this, this) {
    config.self = {.asn = asn, .router_id = id_of(address_), .cluster_id = id_of(address_)};
  }
  NeighborSettings& neighbor(const Node& other) {
    NeighborSettings n{.address = other.address_,
                       .asn = other.config.self.asn,
                       .local_asn = config.self.asn,
                       .router_id = config.self.router_id};
    n.families.add(Family::Inof);
    n.families.add(Family::Ipv4Unicast);
    config.neighbors.push_back(n);
    return config.neighbors.back();
  }
  void start();
  const Neighbor& to(const Node& other) const { return *speaker.find(other.address_); }
  void announce(const std::string& nlri, std::uint32_t pref = 100) {
    PathAttributes a{.origin = Origin::Igp, .as_path = AsPath{}, .local_pref = pref};
    speaker.originate(Family::Inof, ByteView(reinterpret_cast<const std::uint8_t*>(nlri.data()), nlri.size()),
                      a);
  }
  void withdraw(const std::string& nlri) {
    speaker.withdraw(Family::Inof, ByteView(reinterpret_cast<const std::uint8_t*>(nlri.data()), nlri.size()));
  }
  const Path* used(const std::string& nlri) const {
    const Net* net = speaker.rib(Family::Inof)
                         .find(ByteView(reinterpret_cast<const std::uint8_t*>(nlri.data()), nlri.size()));
    return net ? net->used() : nullptr;
  }

  void connect(ConnId conn, const NeighborSettings& to) override;
  void send(ConnId conn, const Chunk& bytes) override;
  void close(ConnId conn) override;
  std::size_t queued(ConnId) const override { return stuck; }
  void route_changed(Family, ByteView key, const Path* used) override {
    told.emplace_back(std::string(key.begin(), key.end()), used != nullptr);
  }

  Sim& sim_;
  IpAddress address_;
  SpeakerConfig config;
  Speaker speaker;
  std::vector<std::pair<std::string, bool>> told;
  std::size_t stuck = 0;
  std::size_t chunks = 0;  // that were sent
  std::vector<Chunk> kept;
};

class Sim {
 public:
  struct End {
    Node* node = nullptr;
    ConnId conn = 0;
    auto operator<=>(const End&) const = default;
  };

  Node& add(const std::string& address, std::uint32_t asn = 65001) {
    nodes_.push_back(std::make_unique<Node>(*this, address, asn));
    return *nodes_.back();
  }
  // Until nothing is under way.
  void settle() {
    for (int round = 0; round < 1000; ++round) {
      bool more = !queue_.empty();
      while (!queue_.empty()) {
        const auto event = std::move(queue_.front());
        queue_.pop_front();
        event();
      }
      for (const auto& node : nodes_) more |= node->speaker.fill(now);
      if (!more && queue_.empty()) return;
    }
  }
  // Time goes on, timer by timer.
  void pass(Time by) {
    const Time until = now + by;
    for (;;) {
      settle();
      std::optional<Time> next;
      for (const auto& node : nodes_)
        if (const auto due = node->speaker.due(); due && node.get() != dead && (!next || *due < *next))
          next = due;
      if (!next || *next > until) break;
      now = std::max(now, *next);
      for (const auto& node : nodes_)
        if (node.get() != dead) node->speaker.advance(now);
    }
    now = until;
  }
  Node* at(const IpAddress& address) {
    for (const auto& node : nodes_)
      if (node->address_ == address) return node.get();
    return nullptr;
  }
  // The wire breaks: both ends hear of it.
  void cut(Node& a, const Node& b) {
    const ConnId conn = a.to(b).connection();
    const auto far = peers.find({&a, conn});
    if (far == peers.end()) return;
    const End other = far->second;
    unlink({&a, conn});
    a.speaker.disconnected(conn, "cut", now);
    other.node->speaker.disconnected(other.conn, "cut", now);
  }
  void unlink(End end) {
    const auto at = peers.find(end);
    if (at == peers.end()) return;
    peers.erase(at->second);
    peers.erase({end.node, end.conn});
  }
  void later(std::function<void()> event) { queue_.push_back(std::move(event)); }

  Time now{std::chrono::hours(1)};
  std::size_t piece = SIZE_MAX;
  std::map<End, End> peers;
  Node* dead = nullptr;  // takes no part: no timers, hears nothing
  bool refuse = false;   // connections

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
  std::deque<std::function<void()>> queue_;
};

// Each of the clients is one of each reflector.
inline void reflect(std::initializer_list<Node*> reflectors, std::initializer_list<Node*> clients) {
  for (Node* reflector : reflectors) {
    for (Node* client : clients) {
      reflector->neighbor(*client).client = true;
      client->neighbor(*reflector);
    }
  }
}

inline void Node::start() { speaker.configure(config, sim_.now); }

inline void Node::connect(ConnId conn, const NeighborSettings& to) {
  sim_.later([this, conn, address = to.address] {
    Node* far = sim_.at(address);
    const ConnId theirs = far ? far->speaker.new_connection() : 0;
    const bool there = far && far != sim_.dead && !sim_.refuse &&
                       far->speaker.accepted(theirs, address_, far->address_, sim_.now);
    if (!there) return speaker.disconnected(conn, "refused", sim_.now);
    sim_.peers[{this, conn}] = {far, theirs};
    sim_.peers[{far, theirs}] = {this, conn};
    speaker.connected(conn, address_, sim_.now);
  });
}

inline void Node::send(ConnId conn, const Chunk& bytes) {
  ++chunks;
  kept.push_back(bytes);
  sim_.later([this, conn, bytes] {
    const auto far = sim_.peers.find({this, conn});
    if (far == sim_.peers.end()) return;
    const Sim::End end = far->second;
    if (end.node == sim_.dead) return;
    for (std::size_t at = 0; at < bytes->size(); at += std::min(sim_.piece, bytes->size() - at))
      end.node->speaker.received(
          end.conn, ByteView(*bytes).subspan(at, std::min(sim_.piece, bytes->size() - at)), sim_.now);
  });
}

inline void Node::close(ConnId conn) {
  sim_.later([this, conn] {
    const auto far = sim_.peers.find({this, conn});
    if (far == sim_.peers.end()) return;
    const Sim::End end = far->second;
    sim_.unlink({this, conn});
    if (end.node != sim_.dead) end.node->speaker.disconnected(end.conn, "closed by the neighbour", sim_.now);
  });
}

}  // namespace lossless::bgp::test
