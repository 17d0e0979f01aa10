// SPDX-License-Identifier: Apache-2.0
// The BGP speaker: neighbours, the routes they announce and our own, and what goes out to whom. Pure: bytes,
// connections and time come in; Transport takes what goes out, RouteSink hears which routes are used.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/bgp/export.h"
#include "daemon/bgp/neighbor.h"
#include "daemon/bgp/rib.h"

namespace lossless::bgp {

// A neighbour that takes nothing while so much waits for it is dropped (cease, out of resources).
inline constexpr std::size_t kMaxQueued = 64U << 20U;
// Whole tables go out piece by piece while less than this waits.
inline constexpr std::size_t kFillBelow = 256U << 10U;

class Transport {
 public:
  virtual ~Transport() = default;
  virtual void connect(ConnId conn, const NeighborSettings& to) = 0;
  virtual void send(ConnId conn, const Chunk& bytes) = 0;
  virtual void close(ConnId conn) = 0;  // after what waits is out
  virtual std::size_t queued(ConnId conn) const = 0;
};

class RouteSink {
 public:
  virtual ~RouteSink() = default;
  // The used path of a route is another one; nullptr: there is none left. Not called back into the speaker.
  virtual void route_changed(Family family, ByteView key, const Path* used) = 0;
};

struct SavedSpeaker;

struct SpeakerConfig {
  Self self = {};
  unsigned restart_s = 120;
  std::vector<NeighborSettings> neighbors = {};
  std::vector<BgpFilterConfig> filters = {};  // that neighbours refer to
};

class Speaker final : private NeighborHost {
 public:
  explicit Speaker(Transport& transport, RouteSink* sink = nullptr);
  ~Speaker() override = default;
  Speaker(const Speaker&) = delete;
  Speaker& operator=(const Speaker&) = delete;

  // Neighbours that are not what they were start anew, others do not notice.
  void configure(const SpeakerConfig& config, Time now);
  // Adds one of a listen range; it goes when its connection does.
  void add_dynamic(const NeighborSettings& settings, Time now);
  void remove(const PeerAddress& address, std::uint8_t subcode, Time now);
  // We come back from a restart: peers keep our routes until finish_restart() sends End-of-RIB.
  void begin_restart() { restarting_ = true; }
  void finish_restart();

  // What the next process needs to go on; call after flush(). Sockets and what waits for them are up to the
  // transport: SavedSession::socket and unsent are empty.
  SavedSpeaker save() const;
  // Instead of the first configure(), with what held when it was saved. `conn_of`: the connection that
  // carries the session of that neighbour on; 0: it did not survive, and the neighbour's routes are kept as
  // after any loss. The sink is told of all routes, neighbours of nothing.
  using ConnOf = std::function<ConnId(std::size_t neighbor, const NeighborSettings& settings)>;
  void restore(const SpeakerConfig& config, const SavedSpeaker& saved, const ConnOf& conn_of, Time now);

  // A connection of theirs, under a new number; false: nobody wants it.
  ConnId new_connection() { return next_conn_++; }
  bool accepted(ConnId conn, const PeerAddress& remote, const IpAddress& local, Time now);
  void connected(ConnId conn, const IpAddress& local, Time now);
  void disconnected(ConnId conn, const std::string& why, Time now);
  void received(ConnId conn, ByteView bytes, Time now);
  void bfd_down(const PeerAddress& address, Time now);
  void advance(Time now);
  std::optional<Time> due() const;
  // Tells on what changed. Call after every event, or several.
  void flush(Time now);
  // Goes on with whole tables; call when less waits for a neighbour. True: there is more to do at once.
  bool fill(Time now);

  void originate(Family family, ByteView nlri, const PathAttributes& attributes);
  void withdraw(Family family, ByteView nlri);

  enum class Soft : std::uint8_t { In, Out, Both };
  // Errors say what is wrong.
  std::optional<std::string> clear(const PeerAddress& address, std::optional<Soft> soft, Time now);
  std::optional<std::string> set_shutdown(const PeerAddress& address, bool down, std::string_view text,
                                          Time now);

  const Neighbor* find(const PeerAddress& address) const;
  std::vector<const Neighbor*> neighbors() const;  // by address
  const Rib& rib(Family family) const { return ribs_[static_cast<std::size_t>(family)]; }
  const Self& self() const { return config_.self; }
  std::size_t attribute_sets() const { return pool_.size(); }
  // Routes that go out to it now.
  std::size_t advertised(const Neighbor& neighbor, Family family) const;
  std::size_t stale(const Neighbor& neighbor) const;
  const Neighbor* by_id(PeerId id) const;
  std::size_t groups() const;
  const std::map<std::string, FilterRef>& filters() const { return filters_; }  // by name

 private:
  struct Walk {
    PeerId peer = 0;
    Family family = Family::Inof;
    std::uint32_t next = 0;
    bool refresh = false;  // answers a ROUTE-REFRESH of whoever knows its end
  };
  struct Peer {
    std::unique_ptr<Neighbor> neighbor;
    Source source = {};
    std::optional<GroupKey> group = {};  // while the session is up
    IpAddress local = {};
    std::optional<Time> stale_until = {};
    Families stale = {};
    bool end_of_rib_held = false;
    FilterRef import_filter = {};
    FilterRef export_filter = {};
  };
  struct Group {
    GroupKey key;
    std::vector<PeerId> members;
  };

  // NeighborHost
  ConnId connect(const Neighbor& neighbor) override;
  void send(ConnId conn, Bytes message) override;
  void close(ConnId conn) override;
  void established(Neighbor& neighbor) override;
  void lost(Neighbor& neighbor, Loss loss) override;
  void update(Neighbor& neighbor, const Update& update) override;
  void refresh(Neighbor& neighbor, const RouteRefresh& refresh) override;
  bool restarting() const override { return restarting_; }

  Rib& rib_of(Family family) { return ribs_[static_cast<std::size_t>(family)]; }
  Peer* peer_at(const PeerAddress& address);
  Peer* peer_of(ConnId conn);
  Peer& make(const NeighborSettings& settings);
  void add(const NeighborSettings& settings, Time now);
  void enter_group(PeerId id);
  void restore_routes(const SavedSpeaker& saved, const std::vector<PeerId>& peers);
  void erase(PeerId id, std::uint8_t subcode, Time now);
  void check_prefixes(Neighbor& neighbor);
  void take_filters(const std::vector<BgpFilterConfig>& filters);
  FilterRef filter(const std::string& name) const;
  void follow_filters(PeerId id, Peer& peer);
  void change_export(PeerId id, Peer& peer);
  void join_group(PeerId id, GroupKey key);
  void leave_group(PeerId id);
  void sweep(PeerId id, Family family);
  void send_end_of_rib(Peer& peer, Family family);
  void tell_sink(const Rib& rib);
  void tell_groups(const Rib& rib);
  void deliver(const Group& group, const std::vector<Exporter::Out>& out);
  void hand_over(PeerId id, const Chunk& bytes, std::size_t messages);
  void drop_slow();
  // True: it is done.
  bool step(Walk& walk);

  Transport& transport_;
  RouteSink* sink_;
  SpeakerConfig config_;
  std::map<PeerId, Peer> peers_;
  std::map<PeerAddress, PeerId> by_address_;
  std::map<ConnId, PeerId> conns_;
  std::array<Rib, kFamilies> ribs_;
  Sources sources_;
  AttributePool pool_;
  std::vector<Group> groups_;
  std::vector<Walk> walks_;
  std::map<std::string, FilterRef> filters_;
  std::vector<PeerId> slow_;
  std::map<PeerId, Notification> failing_;  // once the event is over
  bool restarting_ = false;
  Time now_{};
  PeerId next_peer_ = 1;
  ConnId next_conn_ = 1;
};

}  // namespace lossless::bgp
