// SPDX-License-Identifier: Apache-2.0
// UDP sockets of BFD (RFC 5881, 4 and 5; RFC 5883, 5).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/bfd/table.h"
#include "loader/fd.h"
#include "loader/result.h"

namespace lossless::bfd {

// Listens on one port of one family, on all addresses and interfaces.
class Receiver {
 public:
  static Result<Receiver> open(bool v6, bool multihop);
  int fd() const { return fd_.get(); }
  // What has arrived, at most `limit` datagrams.
  void drain(unsigned limit, const std::function<void(const Datagram&)>& take);

 private:
  Receiver(Fd fd, bool v6, bool multihop) : fd_(std::move(fd)), v6_(v6), multihop_(multihop) {}
  Fd fd_;
  bool v6_;
  bool multihop_;
};

// Sends to one neighbour from a source port of its own.
class Sender {
 public:
  // Opens a socket when there is none. False when the packet did not go out: another socket is tried next
  // time, since the address or interface may have come by then.
  bool send(const Peer& peer, const Bytes& packet);
  void close() { fd_ = Fd(); }
  int error() const { return error_; }  // errno of the last send, 0: it went out

 private:
  bool open(const Peer& peer);
  Fd fd_;
  int error_ = 0;
};

}  // namespace lossless::bfd
