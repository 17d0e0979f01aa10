// SPDX-License-Identifier: Apache-2.0
// Raw frames of a protocol on a set of ports: sockets of their own for each port and ethertype, so that a
// port that is flooded takes no other's room. Ports may be members of a bridge or a bond. What is sent goes
// past the queues: it is not held up by a TC that stands still.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "daemon/net/port_ref.h"
#include "loader/result.h"

namespace lossless::net {

class PortFrames {
 public:
  // A whole Ethernet frame, with its header.
  using Receiver = std::function<void(const PortRef& port, ByteView frame)>;

  // `groups`: multicast addresses that ports listen to. `receiver` is called on the loop, never from within a
  // function of this class.
  PortFrames(asio::io_context& loop, std::vector<std::uint16_t> ethertypes, std::vector<Mac> groups,
             Receiver receiver);
  ~PortFrames();
  PortFrames(const PortFrames&) = delete;
  PortFrames& operator=(const PortFrames&) = delete;

  // Begins to listen. A port that is open already only takes the new name and address.
  Status open(const PortRef& port);
  void close(int ifindex);
  // Makes exactly `ports` the open ones; the first error is returned, the other ports are open all the same.
  Status open_only(const std::vector<PortRef>& ports);
  const PortRef* find(int ifindex) const;

  // A whole frame of any type. Fails when the port is not open, the link is down or the device has no room.
  Status send(int ifindex, ByteView frame);

  // Frames that the kernel dropped since the socket's buffer was full, over all time of the open port.
  std::uint64_t lost(int ifindex);

 private:
  struct Socket;
  struct Port;
  void wait(const std::shared_ptr<Socket>& socket);
  void drain(Socket& socket);

  asio::io_context& loop_;
  std::vector<std::uint16_t> ethertypes_;
  std::vector<Mac> groups_;
  Receiver receiver_;
  std::map<int, std::unique_ptr<Port>> ports_;
};

}  // namespace lossless::net
