// SPDX-License-Identifier: Apache-2.0
// The BFD sessions of this system: which one a packet belongs to (RFC 5880, 6.3; RFC 5881; RFC 5883), and
// which one is due next. Pure.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/bfd/session.h"
#include "daemon/core/address.h"

namespace lossless::bfd {

// One session: a neighbour, and how it is reached.
struct PeerKey {
  IpAddress peer;
  std::optional<IpAddress> local = {};  // our address; nothing: the kernel's choice
  std::string interface = {};           // empty: any
  bool multihop = false;
  auto operator<=>(const PeerKey&) const = default;
};
// "10.0.0.2", "fe80::1 on eth0", "10.9.0.1 (multihop) from 10.0.0.1"
std::string to_string(const PeerKey& key);

struct Peer {
  PeerKey key;
  Settings settings = {};
  std::uint8_t min_ttl = 1;  // of what is received over several hops
  unsigned ifindex = 0;      // of key.interface; 0: there is none, or none is asked for
  bool operator==(const Peer&) const = default;
};

// A datagram to one of our ports.
struct Datagram {
  IpAddress from;
  IpAddress to;
  unsigned ifindex = 0;
  std::uint8_t ttl = 0;
  bool multihop = false;  // which port
  ByteView payload = {};
};

// What was discarded before it had a session.
struct Strays {
  std::array<std::uint64_t, kFaults> faults{};  // by Fault
  std::uint64_t ttl = 0;                        // came from too far away
  std::uint64_t unknown = 0;                    // no session fits
};

class Table {
 public:
  struct Entry {
    Peer peer;
    Session session;
    std::uint64_t send_failures = 0;
  };
  struct Io {
    std::function<bool(const Peer&, std::uint32_t discriminator, const Bytes&)> send;  // whether it went out
    std::function<void(const PeerKey&, const Change&)> changed;
  };

  // `seed` for jitter, discriminators and sequence numbers: should not be guessed.
  Table(std::uint64_t seed, Io io) : random_(seed), io_(std::move(io)) {}

  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // A new session, or new settings of one.
  void set(const Peer& peer, Nanos now);
  // As set() of a new one, but the session goes on; see saved.h.
  void adopt(const Peer& peer, const SavedSession& saved, Nanos now);
  void prepare_hand_over(Nanos now);
  // Nothing is sent or received any more, and nobody is told: another process goes on.
  void freeze();
  void remove(const PeerKey& key, Nanos now);
  void receive(const Datagram& datagram, Nanos now);
  void advance(Nanos now);
  Nanos deadline() const { return due_.empty() ? kNever : due_.begin()->first; }
  void say_goodbye(Nanos now);

  // By discriminator.
  const std::map<std::uint32_t, Entry>& entries() const { return entries_; }
  const Strays& strays() const { return strays_; }

 private:
  using Entries = std::map<std::uint32_t, Entry>;
  std::uint32_t draw() { return static_cast<std::uint32_t>(random_() >> 32U); }
  std::uint32_t new_discriminator();
  void add(const Peer& peer, Session session);
  Entry* find(const Datagram& datagram, const Packet& packet);
  // Does `act` with the session, and notes when it is due next.
  template <class Act>
  void with(Entry& entry, const Act& act);

  std::mt19937_64 random_;
  Io io_;
  Entries entries_;
  std::map<PeerKey, std::uint32_t> by_key_;
  std::multimap<IpAddress, std::uint32_t> by_address_;
  std::set<std::pair<Nanos, std::uint32_t>> due_;
  Strays strays_;
};

}  // namespace lossless::bfd
