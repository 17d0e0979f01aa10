// SPDX-License-Identifier: Apache-2.0
// Keys of TCP-AO (RFC 5925) with lifetimes, so that they can be changed without a flap: which one to send
// with, which to accept. Pure; time comes in.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace lossless::net {

// RFC 5926, and HMAC-SHA-256 cut to 128 bits as other routers have it.
enum class KeyAlgorithm : std::uint8_t { HmacSha1, AesCmac, HmacSha256 };

inline constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

// Seconds since 1970, from the first up to but not including the last.
struct Lifetime {
  std::int64_t from = 0;
  std::int64_t until = kForEver;
  bool has(std::int64_t now) const { return from <= now && now < until; }
  bool operator==(const Lifetime&) const = default;
};

inline constexpr std::size_t kMaxSecret = 80;  // bytes; the kernel's limit

// A master key tuple. `send_id` is the peer's `receive_id` of the same key.
struct TcpKey {
  std::uint8_t send_id = 0;
  std::uint8_t receive_id = 0;
  KeyAlgorithm algorithm = KeyAlgorithm::HmacSha1;
  std::string secret;  // 1 to kMaxSecret bytes
  Lifetime send;
  Lifetime accept;
  bool operator==(const TcpKey&) const = default;
};
using KeyChain = std::vector<TcpKey>;

// Of the keys that may be sent with now the one whose time began last, of several the first; nullptr: none
// may.
const TcpKey* sending_key(const KeyChain& chain, std::int64_t now);
// Whether segments with this key are taken now. The one we send with is, whatever its own time: the peer's
// answers carry it.
bool accepts(const KeyChain& chain, const TcpKey& key, std::int64_t now);
// When one of the answers above may change next; nothing: never.
std::optional<std::int64_t> next_change(const KeyChain& chain, std::int64_t now);
// Why the chain can't be used; nothing: it can. IDs must differ from key to key.
std::optional<std::string> find_chain_fault(const KeyChain& chain);

}  // namespace lossless::net
