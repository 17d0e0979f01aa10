// SPDX-License-Identifier: Apache-2.0
// Which of several paths to the same route is used (RFC 4271 section 9.1.2.2, RFC 4456 section 9). The
// numbers of the steps are the same in docs/bgp.md and in the tests. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/bgp/attributes.h"

namespace lossless::bgp {

inline constexpr std::uint32_t kDefaultLocalPref = 100;

// What the steps look at.
struct Candidate {
  const PathAttributes* attributes = nullptr;
  bool local = false;
  bool external = false;
  RouterId router = 0;     // of the neighbour
  IpAddress address = {};  // of the neighbour
};

enum class Step : std::uint8_t {
  Only = 0,         // there is no other path
  LocalPref = 1,    // the highest
  Local = 2,        // our own
  PathLength = 3,   // the shortest AS path
  Origin = 4,       // igp, egp, incomplete
  Med = 5,          // the lowest among paths from the same neighbouring AS; none is 0
  External = 6,     // eBGP before iBGP
  Router = 7,       // the lowest, that of ORIGINATOR_ID if there is one
  ClusterList = 8,  // the shortest
  Address = 9,      // the lowest of the neighbour
};
std::string_view to_string(Step step);

struct Choice {
  std::size_t index = 0;
  Step step = Step::Only;  // the one that left a single path
};
// Of at least one; each step leaves out paths, so the order they are in means nothing.
Choice choose(std::span<const Candidate> candidates);

}  // namespace lossless::bgp
