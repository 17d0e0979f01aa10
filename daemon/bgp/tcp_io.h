// SPDX-License-Identifier: Apache-2.0
// TCP for the speaker on the daemon's event loop: listens, connects, and keeps what a neighbour does not take
// yet. What is sent waits until push(), so that an event costs one system call for each neighbour.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/bgp/authentication.h"
#include "daemon/bgp/speaker.h"
#include "daemon/core/address_range.h"
#include "daemon/core/wake_timer.h"

namespace lossless::bgp {

// What comes in. Called from the event loop.
class TcpEvents {
 public:
  virtual ~TcpEvents() = default;
  // Whom a connection of theirs is from, and a number for it; nullptr: close it.
  virtual const NeighborSettings* tcp_wanted(const PeerAddress& remote, ConnId& conn) = 0;
  // False: close it after all.
  virtual bool tcp_accepted(ConnId conn, const PeerAddress& remote, const IpAddress& local) = 0;
  virtual void tcp_connected(ConnId conn, const IpAddress& local) = 0;
  virtual void tcp_disconnected(ConnId conn, const std::string& why) = 0;
  // Something is about to be taken from a connection, or given to it.
  virtual void tcp_begins() = 0;
  // It was, and nothing else is called for it; whether it changed what waits.
  virtual void tcp_ends(bool changed) = 0;
  virtual void tcp_received(ConnId conn, ByteView bytes) = 0;
  // Less than kFillBelow waits again.
  virtual void tcp_drained(ConnId conn) = 0;
  // Something is wrong with all of it from now on.
  virtual void tcp_trouble(const std::string& what) = 0;
};

// A key for connections from these addresses (RFC 2385).
struct TcpKey {
  AddressRange from;
  std::string password;
  bool operator==(const TcpKey&) const = default;
};

// The kernel's number of a socket, which goes with it from process to process; 0: it has none.
std::uint64_t socket_number(int fd);

// Connections from these addresses are signed with the keys of a chain (RFC 5925).
struct AoPeer {
  AddressRange from;
  std::string chain;
  bool operator==(const AoPeer&) const = default;
};

class Tcp final : public Transport {
 public:
  Tcp(asio::io_context& loop, TcpEvents& events);
  ~Tcp() override;

  // Where to listen; zero address: everywhere. What is wrong, or nothing.
  std::optional<std::string> listen(const IpAddress& address, std::uint16_t port);
  void stop_listening();
  bool listening() const { return !acceptors_.empty(); }
  void set_port(std::uint16_t port) { port_ = port; }
  std::optional<std::string> set_keys(const std::vector<TcpKey>& keys);
  // Of TCP-AO. First, before set_keys(): peers that are not among these are signed so no longer. Then, after
  // it: the chains by name, and whom they are for; connections that are there go on with them.
  void keep_key_chains(const std::vector<AoPeer>& peers);
  std::optional<std::string> set_key_chains(std::map<std::string, net::KeyChain> chains,
                                            const std::vector<AoPeer>& peers);
  // What the kernel says of signatures that did not match, and of a neighbour's; `conn`: its connection, if
  // there is one.
  Dropped dropped();
  Authentication authentication(ConnId conn, const NeighborSettings& of, const Dropped& dropped);
  // Sends what waits, as far as it is taken.
  void push();
  // A connection as another process can go on with it (docs/restart.md). It stays ours until the process
  // ends.
  struct Lent {
    int fd = -1;               // -1: there is no such connection
    std::uint64_t socket = 0;  // the kernel's number of it
    Bytes unsent = {};
  };
  Lent lend(ConnId conn) const;
  // Goes on with one of another process, whose keys the kernel still has. `fd` is ours from then on. Errors
  // say why it cannot.
  std::optional<std::string> adopt(ConnId conn, int fd, const NeighborSettings& with, Bytes unsent);
  std::size_t unsent() const;  // bytes, of all connections
  // Ends all at once.
  void close_all();

  void connect(ConnId conn, const NeighborSettings& to) override;
  void send(ConnId conn, const Chunk& bytes) override;
  void close(ConnId conn) override;
  std::size_t queued(ConnId conn) const override;

 private:
  struct Signature {
    std::string chain;
    net::TcpAoKeys keys;
  };
  struct ListenKeys {
    AoPeer peer;
    std::size_t acceptor = 0;
    net::TcpAoKeys keys;
  };
  struct Connection {
    explicit Connection(asio::io_context& loop) : socket(loop), linger(loop) {}
    asio::ip::tcp::socket socket;
    std::unique_ptr<Signature> ao;  // of TCP-AO
    asio::steady_timer linger;
    std::deque<Chunk> out;
    std::size_t sent = 0;    // of the first chunk
    std::size_t queued = 0;  // bytes
    bool up = false;
    bool waiting = false;  // for the socket to take more
    bool closing = false;
    bool dirty = false;
  };
  using Ref = std::shared_ptr<Connection>;

  std::optional<std::string> open_acceptor(const asio::ip::tcp::endpoint& at);
  void accept(std::size_t index);
  void accepted(asio::ip::tcp::socket socket);
  void read(ConnId conn, const Ref& ref);
  bool take_in(ConnId conn, const Ref& ref);
  void write(ConnId conn, const Ref& ref);
  void wait_write(ConnId conn, const Ref& ref);
  void finish(const Ref& ref);
  void drain(const Ref& ref);
  void fail(ConnId conn, const std::string& why);
  const net::KeyChain& chain(const std::string& name) const;
  std::optional<std::string> renew_keys();
  void wait_for_next_keys(std::int64_t now);
  // Before it connects, or once it was accepted.
  std::optional<std::string> sign(Connection& connection, const NeighborSettings& with, bool accepted);

  asio::io_context& loop_;
  TcpEvents& events_;
  std::uint16_t port_ = kPort;
  std::vector<asio::ip::tcp::acceptor> acceptors_;
  std::vector<TcpKey> keys_;
  std::map<std::string, net::KeyChain> chains_;
  std::vector<ListenKeys> listen_keys_;
  WakeTimer keys_timer_;
  std::map<ConnId, Ref> conns_;
  std::vector<std::pair<ConnId, Ref>> dirty_;
  Bytes buffer_;
};

}  // namespace lossless::bgp
