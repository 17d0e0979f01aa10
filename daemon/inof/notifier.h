// SPDX-License-Identifier: Apache-2.0
// Notifications on their way to the hosts that subscribed: queued per host, batched into frames, paced per
// port, repeated until they are acknowledged. Pure: time comes in, frames come out.
//
// A host takes fewer than 500 frames in 500 ms on a port and drops all for seconds when there are more, so a
// port has a budget: kBurst frames at once, and kFramesPerSecond after them, which is less than 450 in any
// 500 ms. Hosts of one port take turns, frame by frame; other ports are not affected by it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "daemon/inof/damping.h"
#include "daemon/inof/packet.h"

namespace lossless::inof {

inline constexpr double kBurst = 100;
inline constexpr double kFramesPerSecond = 600;
inline constexpr std::size_t kWindow = 112;      // notifications under way to one host: four full frames
inline constexpr std::size_t kMaxPending = 128;  // waiting for one host; beyond, it gets the full state anew
inline constexpr Micros kMaxBackoff = std::chrono::seconds(8);

using SubscriberId = std::uint32_t;
using PortId = std::uint32_t;

// One fact for one subscriber.
struct Fact {
  IpAddress subject;
  State state = State::Offline;
  Reason reason = Reason::Normal;
  std::shared_ptr<const Bytes> attached;
};

// Where a walk over all that a subscriber has to know stands. {0, 0} begins.
struct Cursor {
  std::uint32_t zone = 0;
  std::uint32_t member = 0;
};

struct NotifyStats {
  std::uint64_t sent = 0;           // notifications, each once
  std::uint64_t retransmitted = 0;  // and again
  std::uint64_t acked = 0;
  std::uint64_t expired = 0;  // repeated as often as allowed, never acknowledged
  std::uint64_t resyncs = 0;  // full states sent: subscription, query, too much waiting
};

// A notification on its way.
struct Sent {
  Fact fact;
  std::uint32_t sequence = 0;
  unsigned repeated = 0;
  Micros due{};
  // Superseded: a later notification about the same subject makes it pointless to repeat this one.
  enum class Fate : std::uint8_t { UnderWay, Superseded, Done } fate = Fate::UnderWay;
};

// What another process needs to go on with a subscriber.
struct SavedSubscriber {
  std::uint32_t next_sequence = 1;
  bool active = false;
  bool walk = false;  // the full state was on its way, and begins anew
  bool walk_all = false;
  std::vector<Sent> sent;  // by sequence number, without gaps up to the next one
  std::vector<Fact> pending;
};

// ACKs that acknowledge nothing.
enum class BadAck : std::uint8_t {
  NotAsked,  // no such subscriber
  WrongPort,
  WrongSequence,  // or another subject than that sequence number had
  Duplicate,      // acknowledged before
};
inline constexpr std::size_t kBadAcks = 4;

struct OutFrame {
  PortId port = 0;
  Dialect dialect = Dialect::Odcc;
  std::vector<Message> messages;
};

struct NotifierTimers {
  Micros retransmit = std::chrono::seconds(1);  // doubles with every repetition
  unsigned limit = 5;                           // repetitions
};

class Notifier {
 public:
  // The next fact of a subscriber's full state, moving the cursor on; nothing at its end. `all`: those that
  // are offline too.
  using Walk = std::function<std::optional<Fact>(SubscriberId, Cursor&, bool all)>;
  explicit Notifier(Walk walk) : walk_(std::move(walk)) {}

  void set_timers(const NotifierTimers& timers) { timers_ = timers; }
  // The host wants notifications from now on, and the full state first. Sequence numbers go on when it
  // subscribed before.
  void subscribe(SubscriberId id, PortId port, Dialect dialect, const IpAddress& address, Micros now);
  // Nothing more is sent to it; its counts stay until forget().
  void unsubscribe(SubscriberId id);
  void forget(SubscriberId id) { subscribers_.erase(id); }
  // nothing: there is no such subscriber.
  std::optional<SavedSubscriber> save(SubscriberId id) const;
  // Goes on from there: nothing is told again. `current`: nothing was sent after it was saved; else numbers
  // that may have been used are left out, and the full state is told.
  void restore(SubscriberId id, PortId port, Dialect dialect, const IpAddress& address,
               const SavedSubscriber& saved, bool current, Micros now);
  bool subscribed(SubscriberId id) const;
  void tell(SubscriberId id, const Fact& fact);
  // Sends the full state again; not while one is under way.
  void resync(SubscriberId id, bool all = false);
  // nothing: taken.
  std::optional<BadAck> ack(SubscriberId id, PortId port, const Ack& ack);
  void count_bad_ack(BadAck kind) { ++bad_acks_[static_cast<std::size_t>(kind)]; }

  // The frames that may go out now. Call after events and when due() is reached.
  std::vector<OutFrame> flush(Micros now);
  std::optional<Micros> due(Micros now) const;

  NotifyStats stats(SubscriberId id) const;
  const NotifyStats& total() const { return total_; }
  const std::array<std::uint64_t, kBadAcks>& bad_acks() const { return bad_acks_; }
  std::uint64_t frames() const { return frames_; }
  std::size_t under_way() const { return under_way_; }
  // Nothing waits and nothing is unacknowledged.
  bool idle() const { return under_way_ == 0 && turns_ == 0; }

 private:
  struct Subscriber {
    PortId port = 0;
    Dialect dialect = Dialect::Odcc;
    IpAddress address;
    bool active = false;
    bool waiting = false;  // has its turn in its port's queue
    std::uint32_t next_sequence = 1;
    // Of thousands of subscribers most have nothing under way, so these hold no memory while they are empty.
    std::list<Fact> pending;
    std::vector<Sent> sent;  // by sequence number, without gaps; acknowledged ones in front are gone
    std::optional<Cursor> walk;
    bool walk_all = false;
    Micros due{};  // earliest of `sent`, as it stands in the heap
    NotifyStats stats;
  };
  struct Port {
    std::deque<SubscriberId> turns;
    double tokens = kBurst;
    Micros filled{};
  };
  struct Due {
    Micros at;
    SubscriberId id;
    bool operator>(const Due& other) const { return at > other.at; }
  };

  void drop_all(Subscriber& s);
  static void forget_done(Subscriber& s);
  void take_turn(SubscriberId id, Subscriber& s);
  void collect_due(Micros now);
  void schedule(SubscriberId id, Subscriber& s);
  void flush_port(Port& port, Micros now, std::vector<OutFrame>& out);
  // One frame's worth of what is due again and of what is new; no messages: there was nothing to send.
  OutFrame next_frame(SubscriberId id, Subscriber& s, Micros now);
  void add_repeated(Subscriber& s, OutFrame& frame, std::size_t& room, Micros now);
  void add_new(SubscriberId id, Subscriber& s, OutFrame& frame, std::size_t& room, Micros now);
  std::optional<Fact> next_fact(SubscriberId id, Subscriber& s);
  bool has_work(const Subscriber& s, Micros now) const;
  void finish(Subscriber& s, Sent& sent);
  Micros backoff(unsigned repeated) const;

  Walk walk_;
  NotifierTimers timers_;
  std::unordered_map<SubscriberId, Subscriber> subscribers_;
  std::map<PortId, Port> ports_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> dues_;
  NotifyStats total_;
  std::array<std::uint64_t, kBadAcks> bad_acks_{};
  std::uint64_t frames_ = 0;
  std::size_t under_way_ = 0;
  std::size_t turns_ = 0;
};

}  // namespace lossless::inof
