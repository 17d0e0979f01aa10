// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/key_chain.h"

#include <algorithm>

namespace lossless::net {

const TcpKey* sending_key(const KeyChain& chain, std::int64_t now) {
  const TcpKey* best = nullptr;
  for (const TcpKey& key : chain)
    if (key.send.has(now) && (!best || key.send.from > best->send.from)) best = &key;
  return best;
}

bool accepts(const KeyChain& chain, const TcpKey& key, std::int64_t now) {
  return key.accept.has(now) || sending_key(chain, now) == &key;
}

std::optional<std::int64_t> next_change(const KeyChain& chain, std::int64_t now) {
  std::optional<std::int64_t> next;
  for (const TcpKey& key : chain) {
    for (const std::int64_t at : {key.send.from, key.send.until, key.accept.from, key.accept.until}) {
      const bool never = at == kForEver;
      if (at > now && !never && (!next || at < *next)) next = at;
    }
  }
  return next;
}

std::optional<std::string> find_chain_fault(const KeyChain& chain) {
  for (auto key = chain.begin(); key != chain.end(); ++key) {
    const std::string name = "key " + std::to_string(key->send_id);
    if (key->secret.empty() || key->secret.size() > kMaxSecret)
      return name + " has a secret of " + std::to_string(key->secret.size()) + " bytes; allowed: 1 to " +
             std::to_string(kMaxSecret);
    if (key->send.from >= key->send.until || key->accept.from >= key->accept.until)
      return name + " has a lifetime that ends before it begins";
    const auto taken = [&](const TcpKey& other) {
      return other.send_id == key->send_id || other.receive_id == key->receive_id;
    };
    if (std::any_of(chain.begin(), key, taken)) return name + ": its send or receive ID is another key's";
  }
  return std::nullopt;
}

}  // namespace lossless::net
