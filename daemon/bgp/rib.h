// SPDX-License-Identifier: Apache-2.0
// The routes of one family: what each neighbour announced (Adj-RIB-In), which path is used (Loc-RIB), and
// what changed since that was told on. What goes to a neighbour (Adj-RIB-Out) follows from the used path
// alone, see export.h, so nothing is kept of it. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/bgp/best_path.h"
#include "daemon/bgp/blob.h"
#include "daemon/bgp/filter.h"
#include "daemon/bgp/update.h"

namespace lossless::bgp {

using AttributesRef = std::shared_ptr<const PathAttributes>;

// Equal attributes are kept once.
class AttributePool {
 public:
  AttributesRef intern(PathAttributes attributes);
  std::size_t size() const { return known_.size(); }

 private:
  void sweep();
  std::unordered_map<std::string, std::weak_ptr<const PathAttributes>> known_;
  std::size_t sweep_at_ = 1024;
};

// What the best path and export need to know of where a route is from.
struct Source {
  bool external = false;
  bool client = false;  // of this reflector
  RouterId router = 0;
  IpAddress address = {};
};
using Sources = std::function<Source(PeerId)>;

struct Path {
  AttributesRef attributes;
  Blob nlri;
  PeerId peer = kLocal;
  bool stale = false;
};

// The used path as it was told on last.
struct Told {
  AttributesRef attributes;  // nullptr: there was none
  Blob nlri;
  PeerId peer = kLocal;
};

struct Net {
  Blob key_in;  // its first key_size bytes
  std::uint32_t hash = 0;
  std::uint16_t key_size = 0;
  std::uint16_t best = 0;
  bool changed = false;
  std::vector<Path> paths;

  ByteView key() const { return key_in.view().first(key_size); }
  const Path* used() const { return paths.empty() ? nullptr : &paths[best]; }
};

// Whether there is nothing to tell.
bool same_path(const Told& before, const Path* now);

struct Change {
  std::uint32_t slot = 0;
  Told before;
};

class Rib {
 public:
  Rib(Family family, Sources sources) : family_(family), sources_(std::move(sources)) {}

  Family family() const { return family_; }
  void announce(PeerId peer, ByteView nlri, const AttributesRef& attributes);
  // Of another process: as announce(), and it may be stale already.
  void restore(PeerId peer, ByteView nlri, const AttributesRef& attributes, bool stale);
  // Whether it had that route. Stale paths of the same originator go as well.
  bool withdraw(PeerId peer, ByteView nlri);
  // Stale paths of routes that are its own go as well.
  void drop(PeerId peer);
  // What the filter does not let in any more goes.
  void drop_denied(PeerId peer, const Filter& filter);
  // Graceful restart and enhanced refresh: what is not announced again until the sweep goes.
  void mark_stale(PeerId peer);
  void sweep_stale(PeerId peer);
  // Everything a neighbour's session decides the rank of may have changed.
  void rerank(PeerId peer);

  std::size_t size() const { return used_; }
  std::size_t paths_of(PeerId peer) const;
  std::size_t used_of(PeerId peer) const;

  // What changed since the last time; ends when finish_changes() is called.
  const std::vector<Change>& changes() const { return changes_; }
  void finish_changes();
  const Net& net(std::uint32_t slot) const { return nets_[slot]; }
  // Slots are below this; those without paths are empty.
  std::uint32_t end() const { return static_cast<std::uint32_t>(nets_.size()); }
  const Net* find(ByteView nlri) const;
  Choice choice(const Net& net) const;

 private:
  std::size_t key_size(ByteView nlri) const;
  std::uint32_t slot_of(ByteView key, std::uint32_t hash) const;
  std::uint32_t add(ByteView nlri, std::size_t key, std::uint32_t hash);
  void remove(std::uint32_t slot);
  void index_insert(std::uint32_t slot);
  void index_erase(std::uint32_t slot);
  void grow();
  void note(std::uint32_t slot);
  void rank(Net& net);
  RouterId originator_of(const Path& path) const;
  void erase_stale_of(Net& net, RouterId originator);
  template <class Match>
  void erase_paths(const Match& match);

  Family family_;
  Sources sources_;
  std::deque<Net> nets_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> index_;  // slot + 1, 0: empty; open addressing
  std::size_t used_ = 0;
  std::unordered_map<PeerId, std::size_t> counts_;
  std::vector<Change> changes_;
};

}  // namespace lossless::bgp
