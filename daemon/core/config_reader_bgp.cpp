// SPDX-License-Identifier: Apache-2.0
// [[bgp_neighbor]]; [bgp] itself is nothing but plain keys.
#include <utility>
#include <vector>

#include "daemon/core/config_reader.h"

namespace lossless {
namespace {

struct Known {
  AddressRange range;
  std::string text;
};

// Two ranges must not overlap; an address of its own may lie in a range.
const Known* in_the_way(const std::vector<Known>& known, const AddressRange& range) {
  const auto at = std::ranges::find_if(known, [&](const Known& k) {
    if (k.range.single() != range.single()) return false;
    return k.range.first <= range.last && range.first <= k.range.last;
  });
  return at == known.end() ? nullptr : &*at;
}

}  // namespace

void read_bgp_neighbors(Reader& reader, const toml::table& root, Config& out) {
  std::vector<Known> known;
  reader.read_tables(
      root, "bgp_neighbor", "", kMaxBgpNeighbors, [&](const toml::table& entry, const std::string& at) {
        BgpNeighborConfig neighbor;
        Origins given;
        reader.read_keys(entry, at, {}, neighbor, given);
        reader.require_key(entry, at, "address", "of the neighbour, or a range of those that may connect");
        if (const auto range = parse_range(neighbor.address); range && given.contains("address")) {
          if (const Known* other = in_the_way(known, *range))
            reader.fault(given["address"], "is what " + quoted(other->text) + " has already",
                         "each address once");
          known.push_back({*range, neighbor.address});
        }
        out.bgp_neighbors.push_back(std::move(neighbor));
      });
}

}  // namespace lossless
