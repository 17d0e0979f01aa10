// SPDX-License-Identifier: Apache-2.0
// What is told to whom: reflection (RFC 4456), communities, and the attributes as they go out. Neighbours
// that get the same are one group, for which each change is encoded once. Pure.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "daemon/bgp/filter.h"
#include "daemon/bgp/rib.h"

namespace lossless::bgp {

using Chunk = std::shared_ptr<const Bytes>;  // whole messages, shared by all who get them

// What makes two neighbours get the same bytes.
struct GroupKey {
  bool external = false;
  bool client = false;
  bool four_octet_as = true;
  bool extended_message = false;
  std::uint32_t asn = 0;    // external: theirs, so that they are not told of themselves
  IpAddress next_hop = {};  // external: ours
  Families families = {};
  FilterRef filter = {};  // the very same one, not an equal one
  bool operator==(const GroupKey&) const = default;
};

// This speaker, as far as routes that go out show it.
struct Self {
  std::uint32_t asn = 0;
  RouterId router_id = 0;
  RouterId cluster_id = 0;
};

// Whether a path from `source` is told to the group (RFC 4456 section 6, RFC 1997).
bool exports(const GroupKey& to, const Source& source, bool local, const PathAttributes& attributes);
// The same, and what the group's filter says of the route.
bool exports(const GroupKey& to, const Source& source, bool local, const PathAttributes& attributes,
             Family family, ByteView nlri);
// The attributes as the group gets them.
PathAttributes exported(const Self& self, const GroupKey& to, const Source& source, bool local,
                        PathAttributes attributes);

// Why a route from a neighbour is not taken (RFC 4271 9.1.2, RFC 4456 section 8); empty: it is.
std::string_view loop_of(const Self& self, bool external, const PathAttributes& attributes);

// The messages for the changes of a RIB, or for a part of all of it.
class Exporter {
 public:
  // `to`: the neighbour that alone gets it, or kLocal for all of the group but `except`.
  struct Out {
    Chunk bytes;
    PeerId to = kLocal;
    PeerId except = kLocal;
    std::size_t messages = 0;
  };

  Exporter(const Self& self, const GroupKey& key, const Rib& rib, const Sources& sources)
      : self_(self), key_(key), rib_(rib), sources_(sources) {}

  void changes(std::vector<Out>& out);
  // Withdraws from `peer` what `before`, which was its key until now, let out and this one does not.
  void narrow(PeerId peer, const GroupKey& before, std::vector<Out>& out);
  // All that `peer` gets of slots [from, to).
  void table(PeerId peer, std::uint32_t from, std::uint32_t to, std::vector<Out>& out);

 private:
  struct Batch {
    AttributesRef attributes;
    PeerId source = kLocal;
    std::vector<ByteView> nlris;
  };
  bool goes_out(const GroupKey& key, PeerId source, const PathAttributes& attributes, ByteView nlri) const;
  // The same of a path that is told now, which the filter counts.
  bool tells(const Path& path) const;
  void announce(const Path& path);
  void withdraw(PeerId to, PeerId except, ByteView key);
  void encode(std::vector<Out>& out);
  void encode_batch(const Batch& batch, std::vector<Out>& out);
  UpdateShape shape() const;

  const Self& self_;
  const GroupKey& key_;
  const Rib& rib_;
  const Sources& sources_;
  std::vector<Batch> batches_;
  std::map<std::pair<const PathAttributes*, PeerId>, std::size_t> batch_of_;
  std::map<std::pair<PeerId, PeerId>, std::vector<ByteView>> withdrawn_;  // by (to, except)
};

}  // namespace lossless::bgp
