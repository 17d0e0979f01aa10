// SPDX-License-Identifier: Apache-2.0
// TCP-AO (RFC 5925) on a socket: the kernel signs and verifies, from 6.7 on where it is built with
// CONFIG_TCP_AO.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "daemon/core/address.h"
#include "daemon/net/key_chain.h"
#include "loader/result.h"

namespace lossless::net {

// Whether this kernel has it.
bool has_tcp_ao();

// What the kernel says of one connection.
struct TcpAoState {
  std::uint8_t current_id = 0;  // send ID in use
  std::uint8_t wanted_id = 0;   // receive ID that the peer is asked to use
  std::uint64_t good = 0;       // segments verified
  std::uint64_t bad = 0;        // wrong signature: the secrets differ
  std::uint64_t no_key = 0;     // the peer uses an ID that no key of ours has
  std::uint64_t unsigned_ = 0;  // without any signature
};
// An error, too, where the connection is not signed.
Result<TcpAoState> tcp_ao_state(int fd);

// A key of a socket as the kernel has it.
struct InstalledKey {
  IpAddress peer;
  unsigned prefix_length = 0;
  TcpKey key;             // without lifetimes; the kernel may have another form of an AES-CMAC secret
  std::uint64_t bad = 0;  // segments of these peers with this ID and a wrong signature
};
Result<std::vector<InstalledKey>> tcp_ao_keys(int fd);

// The keys of one socket towards one peer. A listening socket needs one for each peer, a connecting one
// before connect(). An accepted connection begins with keys of its listener: see of(). A connection keeps its
// keys in step with the chain by apply() at each of its changes.
class TcpAoKeys {
 public:
  TcpAoKeys(IpAddress peer, unsigned prefix_length) : peer_(peer), prefix_length_(prefix_length) {}
  // Of a connection that has keys already; an error where it has none. `chain`: the one that they are of.
  static Result<TcpAoKeys> of(int fd, const KeyChain& chain);

  // Adds what is accepted by now, sends with the chain's key, and then takes off what is no longer accepted.
  // `listening`: the peer's first segment says which key is used. An error leaves the keys that were there.
  Status apply(int fd, const KeyChain& chain, std::int64_t now, bool listening);
  // Takes all off; for listening sockets.
  Status clear(int fd);

 private:
  Status add(int fd, const TcpKey& key) const;
  static Status remove(int fd, const InstalledKey& installed, bool listening);
  static Status use(int fd, const TcpKey& key);

  IpAddress peer_;
  unsigned prefix_length_;
  std::map<std::uint8_t, InstalledKey> installed_;  // by send ID
};

}  // namespace lossless::net
