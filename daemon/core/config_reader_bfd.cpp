// SPDX-License-Identifier: Apache-2.0
// [[bfd_profile]] and [[bfd_peer]].
#include <set>
#include <tuple>

#include "daemon/core/config_reader.h"

namespace lossless {
namespace {

void read_profiles(Reader& reader, const toml::table& root, Config& out) {
  Names names(reader, "profile");
  reader.read_tables(root, "bfd_profile", "", kMaxBfdProfiles,
                     [&](const toml::table& table, const std::string& path) {
                       const std::size_t before = reader.error_count();
                       BfdProfile profile;
                       static_cast<BfdSettings&>(profile) = out.bfd;
                       Origins given;
                       reader.read_keys(table, path, {}, profile, given);
                       reader.require_key(table, path, "name", "by which peers refer to it");
                       if (profile.auth == BfdAuth::None && !given.contains("key")) profile.key.clear();
                       names.add(profile.name, given);
                       reader.check_together<BfdSettings>(table, path, given, before, profile);
                       out.bfd_profiles.push_back(std::move(profile));
                     });
}

void read_peers(Reader& reader, const toml::table& root, Config& out) {
  std::set<std::tuple<std::string, std::string, std::string, bool>> keys;
  reader.read_tables(
      root, "bfd_peer", "", kMaxBfdPeers, [&](const toml::table& table, const std::string& path) {
        const std::size_t before = reader.error_count();
        BfdPeerConfig peer;
        Origins given;
        reader.read_keys(table, path, {}, peer, given);
        reader.require_key(table, path, "address", "the neighbour's");
        if (!peer.address.empty() &&
            !keys.emplace(peer.address, peer.local, peer.interface, peer.multihop).second)
          reader.fault(given["address"], "is a second peer of that address",
                       "each once, or with another interface or local address");
        if (given.contains("min_ttl") && !peer.multihop)
          reader.fault(given["min_ttl"],
                       "is for neighbours several hops away; a neighbour on the link has 255",
                       "with multihop = true");
        const bool known =
            peer.profile.empty() ||
            std::ranges::find(out.bfd_profiles, peer.profile, &BfdProfile::name) != out.bfd_profiles.end();
        if (!known) reader.fault(given["profile"], "is no profile", "names of [[bfd_profile]] tables");
        reader.check_together(table, path, given, before, peer);
        out.bfd_peers.push_back(std::move(peer));
      });
}

}  // namespace

void read_bfd(Reader& reader, const toml::table& root, Config& out) {
  read_profiles(reader, root, out);
  read_peers(reader, root, out);
}

}  // namespace lossless
