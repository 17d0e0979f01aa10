// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/export.h"

#include <algorithm>

#include "daemon/bgp/packet.h"

namespace lossless::bgp {
namespace {

constexpr std::size_t kChunkRoutes = 1024;  // so that a slow neighbour holds no more than it must

bool has(const PathAttributes& attributes, std::uint32_t community) {
  return std::ranges::find(attributes.communities, community) != attributes.communities.end();
}

void prepend(AsPath& path, std::uint32_t as) {
  if (path.empty() || path.front().kind != AsSegment::Sequence || path.front().as.size() >= 255)
    path.insert(path.begin(), AsSegment{});
  path.front().as.insert(path.front().as.begin(), as);
}

bool holds(const AsPath& path, std::uint32_t as) {
  return std::ranges::any_of(path,
                             [&](const AsSegment& s) { return std::ranges::find(s.as, as) != s.as.end(); });
}

}  // namespace

bool exports(const GroupKey& to, const Source& source, bool local, const PathAttributes& attributes) {
  if (has(attributes, kNoAdvertise)) return false;
  if (to.external && (has(attributes, kNoExport) || has(attributes, kNoExportSubconfed))) return false;
  if (to.external && attributes.as_path && holds(*attributes.as_path, to.asn)) return false;
  if (local || source.external || to.external) return true;
  // From iBGP to iBGP: what a reflector is for.
  return source.client || to.client;
}

bool exports(const GroupKey& to, const Source& source, bool local, const PathAttributes& attributes,
             Family family, ByteView nlri) {
  return exports(to, source, local, attributes) && (!to.filter || to.filter->permits(family, nlri));
}

PathAttributes exported(const Self& self, const GroupKey& to, const Source& source, bool local,
                        PathAttributes attributes) {
  if (to.external) {
    if (!attributes.as_path) attributes.as_path.emplace();
    prepend(*attributes.as_path, self.asn);
    attributes.next_hop = to.next_hop;
    attributes.local_pref.reset();
    attributes.originator.reset();
    attributes.clusters.clear();
    if (!local) attributes.med.reset();
    return attributes;
  }
  if (!attributes.local_pref) attributes.local_pref = kDefaultLocalPref;
  if (local || source.external) return attributes;
  if (!attributes.originator) attributes.originator = source.router;
  attributes.clusters.insert(attributes.clusters.begin(), self.cluster_id);
  return attributes;
}

std::string_view loop_of(const Self& self, bool external, const PathAttributes& a) {
  if (external && a.as_path && holds(*a.as_path, self.asn)) return "our AS in the AS path";
  if (a.originator == self.router_id) return "our router ID as originator";
  if (std::ranges::find(a.clusters, self.cluster_id) != a.clusters.end())
    return "our cluster ID in the cluster list";
  return {};
}

bool Exporter::goes_out(const GroupKey& key, PeerId source, const PathAttributes& attributes,
                        ByteView nlri) const {
  const bool local = source == kLocal;
  return exports(key, local ? Source{} : sources_(source), local, attributes, rib_.family(), nlri);
}

bool Exporter::tells(const Path& path) const {
  const bool local = path.peer == kLocal;
  if (!exports(key_, local ? Source{} : sources_(path.peer), local, *path.attributes)) return false;
  return !key_.filter || key_.filter->check(Way::Export, rib_.family(), path.nlri.view());
}

UpdateShape Exporter::shape() const {
  return {.family = rib_.family(), .max_message = key_.extended_message ? kMaxExtended : kMaxMessage};
}

void Exporter::announce(const Path& path) {
  // Mostly the one of the route before.
  if (batches_.empty() || batches_.back().attributes != path.attributes ||
      batches_.back().source != path.peer || batches_.back().nlris.size() >= kChunkRoutes) {
    const auto [at, is_new] =
        batch_of_.try_emplace(std::pair(path.attributes.get(), path.peer), batches_.size());
    if (!is_new && batches_[at->second].nlris.size() < kChunkRoutes) {
      batches_[at->second].nlris.push_back(path.nlri.view());
      return;
    }
    at->second = batches_.size();
    batches_.push_back({path.attributes, path.peer, {}});
  }
  batches_.back().nlris.push_back(path.nlri.view());
}

void Exporter::withdraw(PeerId to, PeerId except, ByteView key) { withdrawn_[{to, except}].push_back(key); }

void Exporter::changes(std::vector<Out>& out) {
  for (const Change& change : rib_.changes()) {
    const Net& net = rib_.net(change.slot);
    const Path* used = net.used();
    const Told& before = change.before;
    if (same_path(before, used)) continue;
    const bool told =
        before.attributes && goes_out(key_, before.peer, *before.attributes, before.nlri.view());
    if (used && tells(*used)) {
      announce(*used);
      // It is not told of its own route, so what it was told of before must go.
      if (told && before.peer != used->peer && used->peer != kLocal) withdraw(used->peer, kLocal, net.key());
    } else if (told) {
      withdraw(kLocal, before.peer, net.key());
    }
  }
  encode(out);
}

void Exporter::table(PeerId peer, std::uint32_t from, std::uint32_t to, std::vector<Out>& out) {
  for (std::uint32_t slot = from; slot < to; ++slot) {
    const Path* used = rib_.net(slot).used();
    if (used && used->peer != peer && tells(*used)) announce(*used);
  }
  const std::size_t before = out.size();
  encode(out);
  for (std::size_t i = before; i < out.size(); ++i) out[i].to = peer;
}

void Exporter::narrow(PeerId peer, const GroupKey& before, std::vector<Out>& out) {
  for (std::uint32_t slot = 0; slot < rib_.end(); ++slot) {
    const Net& net = rib_.net(slot);
    const Path* used = net.used();
    if (!used || used->peer == peer) continue;
    const auto goes = [&](const GroupKey& key) {
      return goes_out(key, used->peer, *used->attributes, used->nlri.view());
    };
    if (goes(before) && !goes(key_)) withdraw(peer, kLocal, net.key());
  }
  encode(out);
}

void Exporter::encode_batch(const Batch& batch, std::vector<Out>& out) {
  const bool local = batch.source == kLocal;
  const PathAttributes attributes =
      exported(self_, key_, local ? Source{} : sources_(batch.source), local, *batch.attributes);
  const Bytes bytes =
      encode_attributes(attributes, {.four_octet_as = key_.four_octet_as, .external = key_.external},
                        rib_.family() == Family::Ipv4Unicast);
  IpAddress hop;
  WireWriter own;
  own.u32(self_.router_id);
  hop = attributes.next_hop.value_or(IpAddress::v4_of(own.take()));
  Bytes stream;
  const std::size_t messages = encode_announce(shape(), bytes, hop, batch.nlris, stream);
  if (messages == 0) return;
  out.push_back({std::make_shared<const Bytes>(std::move(stream)), kLocal, batch.source, messages});
}

void Exporter::encode(std::vector<Out>& out) {
  for (const auto& [whom, keys] : withdrawn_) {
    Bytes stream;
    const std::size_t messages = encode_withdraw(shape(), keys, stream);
    out.push_back({std::make_shared<const Bytes>(std::move(stream)), whom.first, whom.second, messages});
  }
  for (const Batch& batch : batches_) encode_batch(batch, out);
  withdrawn_.clear();
  batches_.clear();
  batch_of_.clear();
}

}  // namespace lossless::bgp
