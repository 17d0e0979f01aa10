// SPDX-License-Identifier: Apache-2.0
// How a neighbour's segments are signed, and what is known of those that did not match. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/address.h"
#include "daemon/net/key_chain.h"
#include "daemon/net/tcp_ao_io.h"
#include "daemon/net/tcp_md5_io.h"

namespace lossless::bgp {

enum class AuthKind : std::uint8_t { None, Md5, TcpAo };
std::string_view to_string(AuthKind kind);

struct KeyUse {
  net::TcpKey key;
  bool sends = false;  // new connections sign with it
};

struct Authentication {
  AuthKind kind = AuthKind::None;
  std::string chain = {};
  std::vector<KeyUse> keys = {};                 // of the chain, those in use now
  std::optional<std::int64_t> next_change = {};  // s since 1970
  std::optional<net::TcpAoState> connection = {};
  std::uint64_t bad_tries = 0;       // segments of tries to connect with a wrong signature, this neighbour's
  std::uint64_t tries_no_key = 0;    // with an ID that no key has; of all neighbours
  std::uint64_t tries_unsigned = 0;  // without a signature; of all neighbours
  net::TcpMd5Counters md5 = {};
};

// Tries to connect that the kernel dropped, as far as it says whose they were.
struct Dropped {
  std::map<IpAddress, std::uint64_t> bad = {};   // wrong signature; by neighbour, or first of a range
  std::array<std::uint64_t, 2> no_key = {};      // IPv4, IPv6
  std::array<std::uint64_t, 2> not_signed = {};  // the same
  net::TcpMd5Counters md5 = {};
};

// The keys of the chain that are in use at `now`, and when that changes.
void take_chain(const net::KeyChain& chain, std::int64_t now, Authentication& out);

// What does not match, in words that say how sure that is; empty: nothing is known to be wrong.
std::string trouble_of(const Authentication& authentication, bool established);

}  // namespace lossless::bgp
