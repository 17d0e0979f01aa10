// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/rib.h"

#include <algorithm>

#include "daemon/bgp/inof_nlri.h"

namespace lossless::bgp {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::size_t kFirstIndex = 1024;

std::string_view text(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::uint32_t hash_of(ByteView key) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(text(key)));
}

}  // namespace

bool same_path(const Told& before, const Path* now) {
  if (!before.attributes || !now) return !before.attributes && !now;
  return before.peer == now->peer && before.attributes == now->attributes &&
         std::ranges::equal(before.nlri.view(), now->nlri.view());
}

AttributesRef AttributePool::intern(PathAttributes attributes) {
  const Bytes bytes = encode_attributes(attributes, {}, true);
  std::string key(bytes.begin(), bytes.end());
  if (attributes.next_hop && attributes.next_hop->v6) key += text(attributes.next_hop->view());
  std::weak_ptr<const PathAttributes>& known = known_[std::move(key)];
  if (AttributesRef there = known.lock()) return there;
  auto made = std::make_shared<const PathAttributes>(std::move(attributes));
  known = made;
  if (known_.size() > sweep_at_) sweep();
  return made;
}

void AttributePool::sweep() {
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = std::max<std::size_t>(1024, 2 * known_.size());
}

std::size_t Rib::key_size(ByteView nlri) const {
  return family_ == Family::Inof ? inof_key_size(nlri) : nlri.size();
}

std::uint32_t Rib::slot_of(ByteView key, std::uint32_t hash) const {
  if (index_.empty()) return kNone;
  const std::size_t mask = index_.size() - 1;
  for (std::size_t at = hash & mask; index_[at] != 0; at = (at + 1) & mask) {
    const Net& net = nets_[index_[at] - 1];
    if (net.hash == hash && std::ranges::equal(net.key(), key)) return index_[at] - 1;
  }
  return kNone;
}

void Rib::index_insert(std::uint32_t slot) {
  const std::size_t mask = index_.size() - 1;
  std::size_t at = nets_[slot].hash & mask;
  while (index_[at] != 0) at = (at + 1) & mask;
  index_[at] = slot + 1;
}

// Those behind move up, so that no search ends too early.
void Rib::index_erase(std::uint32_t slot) {
  const std::size_t mask = index_.size() - 1;
  std::size_t hole = nets_[slot].hash & mask;
  while (index_[hole] != slot + 1) hole = (hole + 1) & mask;
  index_[hole] = 0;
  for (std::size_t at = (hole + 1) & mask; index_[at] != 0; at = (at + 1) & mask) {
    const std::size_t home = nets_[index_[at] - 1].hash & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    index_[hole] = index_[at];
    index_[at] = 0;
    hole = at;
  }
}

void Rib::grow() {
  if (!index_.empty() && (used_ + 1) * 4 < index_.size() * 3) return;
  index_.assign(index_.empty() ? kFirstIndex : index_.size() * 2, 0);
  for (std::uint32_t slot = 0; slot < nets_.size(); ++slot)
    if (nets_[slot].key_size > 0) index_insert(slot);
}

std::uint32_t Rib::add(ByteView nlri, std::size_t key, std::uint32_t hash) {
  grow();
  std::uint32_t slot = end();
  if (free_.empty()) {
    nets_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Net& net = nets_[slot];
  net.key_in = Blob(nlri);
  net.key_size = static_cast<std::uint16_t>(key);
  net.hash = hash;
  ++used_;
  index_insert(slot);
  return slot;
}

void Rib::remove(std::uint32_t slot) {
  index_erase(slot);
  nets_[slot] = {};
  free_.push_back(slot);
  --used_;
}

void Rib::note(std::uint32_t slot) {
  Net& net = nets_[slot];
  if (net.changed) return;
  net.changed = true;
  const Path* used = net.used();
  changes_.push_back({slot, used ? Told{used->attributes, used->nlri, used->peer} : Told{}});
}

Choice Rib::choice(const Net& net) const {
  std::vector<Candidate> candidates;
  for (const Path& path : net.paths) {
    const Source source = path.peer == kLocal ? Source{} : sources_(path.peer);
    candidates.push_back({.attributes = path.attributes.get(),
                          .local = path.peer == kLocal,
                          .external = source.external,
                          .router = source.router,
                          .address = source.address});
  }
  return choose(candidates);
}

void Rib::rank(Net& net) {
  net.best = net.paths.size() > 1 ? static_cast<std::uint16_t>(choice(net).index) : 0;
}

void Rib::announce(PeerId peer, ByteView nlri, const AttributesRef& attributes) {
  const std::size_t size = key_size(nlri);
  if (size == 0) return;
  const std::uint32_t hash = hash_of(nlri.first(size));
  std::uint32_t slot = slot_of(nlri.first(size), hash);
  if (slot == kNone) slot = add(nlri, size, hash);
  Net& net = nets_[slot];
  const auto at = std::ranges::find(net.paths, peer, &Path::peer);
  if (at == net.paths.end()) {
    note(slot);
    const bool same_bytes = std::ranges::equal(net.key_in.view(), nlri);
    net.paths.push_back({attributes, same_bytes ? net.key_in : Blob(nlri), peer, false});
    ++counts_[peer];
    return rank(net);
  }
  at->stale = false;
  const bool same_bytes = std::ranges::equal(at->nlri.view(), nlri);
  if (same_bytes && at->attributes == attributes) return;
  note(slot);
  at->attributes = attributes;
  if (!same_bytes) at->nlri = Blob(nlri);
  rank(net);
}

void Rib::restore(PeerId peer, ByteView nlri, const AttributesRef& attributes, bool stale) {
  announce(peer, nlri, attributes);
  if (const Net* found = find(nlri)) {
    Net& net = nets_[slot_of(found->key(), found->hash)];
    const auto at = std::ranges::find(net.paths, peer, &Path::peer);
    if (at != net.paths.end()) at->stale = stale;
  }
}

bool Rib::withdraw(PeerId peer, ByteView nlri) {
  const ByteView key = nlri.first(key_size(nlri));
  const std::uint32_t slot = slot_of(key, hash_of(key));
  if (slot == kNone) return false;
  Net& net = nets_[slot];
  const auto at = std::ranges::find(net.paths, peer, &Path::peer);
  if (at == net.paths.end()) return false;
  note(slot);
  const RouterId originator = originator_of(*at);
  net.paths.erase(at);
  --counts_[peer];
  erase_stale_of(net, originator);
  rank(net);
  return true;
}

// What somebody who is there says of a route counts more than what somebody who has gone said.
void Rib::erase_stale_of(Net& net, RouterId originator) {
  std::erase_if(net.paths, [&](const Path& path) {
    const bool goes = path.stale && originator_of(path) == originator;
    if (goes) --counts_[path.peer];
    return goes;
  });
}

RouterId Rib::originator_of(const Path& path) const {
  return path.attributes->originator.value_or(path.peer == kLocal ? 0 : sources_(path.peer).router);
}

template <class Match>
void Rib::erase_paths(const Match& match) {
  for (std::uint32_t slot = 0; slot < end(); ++slot) {
    Net& net = nets_[slot];
    const auto at = std::ranges::find_if(net.paths, match);
    if (at == net.paths.end()) continue;
    note(slot);
    --counts_[at->peer];
    const bool was_its_own = !at->stale && !at->attributes->originator;
    const RouterId originator = originator_of(*at);
    net.paths.erase(at);
    // The originator itself is lost.
    if (was_its_own) erase_stale_of(net, originator);
    rank(net);
  }
}

void Rib::drop(PeerId peer) {
  if (paths_of(peer) == 0) return;
  erase_paths([&](const Path& path) { return path.peer == peer; });
}

void Rib::drop_denied(PeerId peer, const Filter& filter) {
  if (paths_of(peer) == 0) return;
  for (std::uint32_t slot = 0; slot < end(); ++slot) {
    Net& net = nets_[slot];
    const auto at = std::ranges::find(net.paths, peer, &Path::peer);
    if (at == net.paths.end() || filter.permits(family_, at->nlri.view())) continue;
    note(slot);
    --counts_[peer];
    net.paths.erase(at);
    rank(net);
  }
}

void Rib::mark_stale(PeerId peer) {
  if (paths_of(peer) == 0) return;
  for (Net& net : nets_)
    for (Path& path : net.paths)
      if (path.peer == peer) path.stale = true;
}

void Rib::sweep_stale(PeerId peer) {
  if (paths_of(peer) == 0) return;
  erase_paths([&](const Path& path) { return path.peer == peer && path.stale; });
}

void Rib::rerank(PeerId peer) {
  if (paths_of(peer) == 0) return;
  for (std::uint32_t slot = 0; slot < end(); ++slot) {
    Net& net = nets_[slot];
    if (net.paths.size() < 2 || std::ranges::find(net.paths, peer, &Path::peer) == net.paths.end()) continue;
    note(slot);
    rank(net);
  }
}

std::size_t Rib::paths_of(PeerId peer) const {
  const auto at = counts_.find(peer);
  return at == counts_.end() ? 0 : at->second;
}

std::size_t Rib::used_of(PeerId peer) const {
  if (paths_of(peer) == 0) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(nets_, [&](const Net& n) { return n.used() && n.used()->peer == peer; }));
}

void Rib::finish_changes() {
  for (const Change& change : changes_) {
    Net& net = nets_[change.slot];
    net.changed = false;
    if (net.paths.empty()) remove(change.slot);
  }
  changes_.clear();
}

const Net* Rib::find(ByteView nlri) const {
  const ByteView key = nlri.first(key_size(nlri));
  const std::uint32_t slot = slot_of(key, hash_of(key));
  return slot == kNone ? nullptr : &nets_[slot];
}

}  // namespace lossless::bgp
