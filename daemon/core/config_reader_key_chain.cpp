// SPDX-License-Identifier: Apache-2.0
// [[key_chain]] and the keys below it.
#include <utility>

#include "daemon/core/config_reader.h"

namespace lossless {
namespace {

net::TcpKey read_key(Reader& reader, const toml::table& table, const std::string& path) {
  net::TcpKey key;
  Origins given;
  reader.read_keys(table, path, {}, key, given);
  reader.require_key(table, path, "id", "which goes out with each segment that the key signs");
  reader.require_key(table, path, "secret");
  if (!given.contains("receive_id")) key.receive_id = key.send_id;
  return key;
}

}  // namespace

void read_key_chains(Reader& reader, const toml::table& root, Config& out) {
  Names names(reader, "key chain");
  reader.read_tables(
      root, "key_chain", "", kMaxKeyChains, [&](const toml::table& table, const std::string& path) {
        const std::size_t before = reader.error_count();
        KeyChainConfig chain;
        Origins given;
        reader.read_keys(table, path, kKeyChainTables, chain, given);
        reader.require_key(table, path, "name", "by which neighbours refer to it");
        reader.require_key(table, path, "key", "at least one");
        names.add(chain.name, given);
        reader.read_tables(table, "key", path, kMaxKeys, [&](const toml::table& key, const std::string& at) {
          chain.keys.push_back(read_key(reader, key, at));
        });
        const auto fault = reader.error_count() == before ? net::find_chain_fault(chain.keys) : std::nullopt;
        if (fault) reader.error(to_position(table.source().begin), path + ": " + *fault);
        out.key_chains.push_back(std::move(chain));
      });
}

}  // namespace lossless
