// SPDX-License-Identifier: Apache-2.0
// What one daemon's speaker leaves to the next one's (docs/restart.md), as values and as bytes. What was told
// to neighbours is not in it: that follows from the routes. Pure.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "daemon/bgp/attributes.h"
#include "daemon/bgp/neighbor.h"

namespace lossless::bgp {

inline constexpr std::uint16_t kSavedVersion = 1;

// An established session. Its timers begin anew: the neighbour counts as heard, and hears from us, at once.
struct SavedSession {
  std::uint64_t socket = 0;  // the kernel's number of it (SO_COOKIE)
  IpAddress local = {};
  bool outgoing = false;
  Open open = {};  // theirs
  Agreed agreed = {};
  Bytes partial = {};   // the beginning of a message of theirs
  Bytes unsent = {};    // of ours, what the kernel has not taken
  Families walks = {};  // whole tables that were on their way
  bool operator==(const SavedSession&) const = default;
};

struct SavedNeighbor {
  PeerAddress peer = {};
  bool dynamic = false;
  std::string held_down = {};
  std::string last_error = {};
  Time since{};
  NeighborCounters counters = {};
  std::uint32_t handed_over = 0;  // times, of the session
  RouterId router = 0;
  Families stale = {};
  std::optional<Time> stale_until = {};
  std::optional<SavedSession> session = {};
  bool operator==(const SavedNeighbor&) const = default;
};

struct SavedRoute {
  Family family = Family::Inof;
  PeerId from = kLocal;  // index into neighbors
  bool stale = false;
  std::uint32_t attributes = 0;  // index
  Bytes nlri = {};
  bool operator==(const SavedRoute&) const = default;
};

struct SavedSpeaker {
  std::string config = {};  // the whole configuration that all this was under, as its file's text
  std::vector<SavedNeighbor> neighbors = {};
  std::vector<PathAttributes> attributes = {};
  std::vector<SavedRoute> routes = {};  // those of one network in the order that they were in
  bool operator==(const SavedSpeaker&) const = default;
};

Bytes encode_saved(const SavedSpeaker& saved);
// Of the body of an image; the error says what cannot be.
std::expected<SavedSpeaker, std::string> decode_saved(ByteView body);

}  // namespace lossless::bgp
