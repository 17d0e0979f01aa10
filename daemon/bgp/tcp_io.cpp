// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/tcp_io.h"

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <asio/ip/v6_only.hpp>
#include <asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "daemon/core/socket_address.h"

namespace lossless::bgp {
namespace {

using asio::ip::tcp;

std::string error_text(int number) { return std::generic_category().message(number); }

constexpr std::size_t kReadSize = 256U << 10U;
constexpr int kReadsAtOnce = 4;
constexpr int kBacklog = 512;
constexpr int kHighestTtl = 255;
constexpr auto kLinger = std::chrono::seconds(2);

IpAddress address_of(const asio::ip::address& address) {
  if (address.is_v4()) return IpAddress::v4_of(address.to_v4().to_bytes());
  return IpAddress::v6_of(address.to_v6().to_bytes());
}

asio::ip::address asio_of(const IpAddress& address) {
  if (!address.v6) {
    asio::ip::address_v4::bytes_type bytes{};
    std::copy_n(address.bytes.begin(), 4, bytes.begin());
    return asio::ip::address_v4(bytes);
  }
  asio::ip::address_v6::bytes_type bytes{};
  std::ranges::copy(address.bytes, bytes.begin());
  return asio::ip::address_v6(bytes);
}

// A link-local address with the interface that it is on.
PeerAddress peer_of(const asio::ip::address& address) {
  PeerAddress out = address_of(address);
  std::array<char, IF_NAMESIZE> name{};
  if (out.address.is_link_local() &&
      if_indextoname(static_cast<unsigned>(address.to_v6().scope_id()), name.data()))
    out.interface = name.data();
  return out;
}

// The address of a neighbour to connect to; nothing: its interface is not there.
std::optional<asio::ip::address> asio_of(const NeighborSettings& to) {
  if (!to.address.is_link_local()) return asio_of(to.address);
  const unsigned index = if_nametoindex(to.interface.c_str());
  if (index == 0) return std::nullopt;
  return asio::ip::address_v6(asio_of(to.address).to_v6().to_bytes(), index);
}

bool set_option(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

void set_ttl(int fd, bool v6) {
  v6 ? set_option(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, kHighestTtl)
     : set_option(fd, IPPROTO_IP, IP_TTL, kHighestTtl);
}

// RFC 5082: packets from further away are dropped by the kernel.
bool set_lowest_ttl(int fd, bool v6, unsigned hops) {
  const int lowest = kHighestTtl + 1 - static_cast<int>(hops);
  return v6 ? set_option(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, lowest)
            : set_option(fd, IPPROTO_IP, IP_MINTTL, lowest);
}

// An empty password takes a key away.
bool set_md5(int fd, const AddressPrefix& prefix, const std::string& password) {
  tcp_md5sig key{};
  key.tcpm_addr = to_socket_address(prefix.address).storage;
  key.tcpm_flags = TCP_MD5SIG_FLAG_PREFIX;
  key.tcpm_prefixlen = static_cast<std::uint8_t>(prefix.length);
  key.tcpm_keylen = static_cast<std::uint16_t>(password.size());
  std::memcpy(key.tcpm_key, password.data(), password.size());
  return setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG_EXT, &key, sizeof key) == 0;
}

AddressPrefix host_prefix(const IpAddress& address) { return {address, address.v6 ? 128U : 32U}; }

// Nothing is sent for nobody: a neighbour that takes nothing for so long is gone.
void set_common(int fd, const NeighborSettings& to) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  const unsigned hold_ms = to.hold_s > 0 ? to.hold_s * 1000 : 0;
  if (hold_ms > 0) set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(hold_ms));
}

std::optional<std::string> prepare(int fd, const NeighborSettings& to) {
  const bool v6 = to.address.v6;
  set_common(fd, to);
  if (to.ttl_security > 0) {
    set_ttl(fd, v6);
    if (!set_lowest_ttl(fd, v6, to.ttl_security)) return "TTL security: " + error_text(errno);
  }
  if (!to.password.empty() && !set_md5(fd, host_prefix(to.address), to.password))
    return "TCP-MD5: " + error_text(errno);
  return std::nullopt;
}

}  // namespace

std::uint64_t socket_number(int fd) {
  std::uint64_t out = 0;
  socklen_t size = sizeof out;
  return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &out, &size) == 0 ? out : 0;
}

Tcp::Tcp(asio::io_context& loop, TcpEvents& events)
    : loop_(loop), events_(events), keys_timer_(loop), buffer_(kReadSize) {}

Tcp::~Tcp() { close_all(); }

std::optional<std::string> Tcp::open_acceptor(const tcp::endpoint& at) {
  asio::error_code error;
  tcp::acceptor acceptor(loop_);
  (void)acceptor.open(at.protocol(), error);
  if (error) return at.address().is_v6() ? std::nullopt : std::optional(error.message());  // no IPv6 here
  (void)acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (at.address().is_v6()) (void)acceptor.set_option(asio::ip::v6_only(true), error);
  set_ttl(acceptor.native_handle(), at.address().is_v6());
  (void)acceptor.bind(at, error);
  if (!error) (void)acceptor.listen(kBacklog, error);
  if (error)
    return "cannot listen on " + at.address().to_string() + " port " + std::to_string(at.port()) + ": " +
           error.message();
  (void)acceptor.non_blocking(true, error);
  acceptors_.push_back(std::move(acceptor));
  accept(acceptors_.size() - 1);
  return std::nullopt;
}

std::optional<std::string> Tcp::listen(const IpAddress& address, std::uint16_t port) {
  stop_listening();
  port_ = port;
  acceptors_.reserve(2);
  if (!address.is_zero()) return open_acceptor({asio_of(address), port});
  if (auto wrong = open_acceptor({tcp::v4(), port})) return wrong;
  return open_acceptor({tcp::v6(), port});
}

void Tcp::stop_listening() {
  for (tcp::acceptor& acceptor : acceptors_) {
    asio::error_code ignored;
    (void)acceptor.close(ignored);
  }
  acceptors_.clear();
  keys_.clear();
  listen_keys_.clear();
}

std::optional<std::string> Tcp::set_keys(const std::vector<TcpKey>& keys) {
  std::optional<std::string> wrong;
  const auto apply = [&](const TcpKey& key, const std::string& password) {
    for (tcp::acceptor& acceptor : acceptors_) {
      const bool v6 = acceptor.local_endpoint().address().is_v6();
      for (const AddressPrefix& prefix : prefixes_of(key.from)) {
        if (prefix.address.v6 != v6 || set_md5(acceptor.native_handle(), prefix, password)) continue;
        if (!password.empty()) wrong = "TCP-MD5 for " + to_string(key.from) + ": " + error_text(errno);
      }
    }
  };
  for (const TcpKey& key : keys_)
    if (std::ranges::find(keys, key) == keys.end()) apply(key, "");
  for (const TcpKey& key : keys)
    if (std::ranges::find(keys_, key) == keys_.end()) apply(key, key.password);
  keys_ = keys;
  return wrong;
}

void Tcp::accept(std::size_t index) {
  acceptors_[index].async_accept([this, index](const asio::error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || index >= acceptors_.size()) return;
    if (!error) accepted(std::move(socket));
    accept(index);
  });
}

void Tcp::accepted(tcp::socket socket) {
  asio::error_code error;
  const auto remote = socket.remote_endpoint(error);
  const auto local = error ? remote : socket.local_endpoint(error);
  if (error) return;
  const PeerAddress from = peer_of(remote.address());
  ConnId conn = 0;
  const NeighborSettings* settings = events_.tcp_wanted(from, conn);
  if (!settings) return;
  const auto ref = std::make_shared<Connection>(loop_);
  ref->socket = std::move(socket);
  (void)ref->socket.non_blocking(true, error);
  ref->up = true;
  (void)prepare(ref->socket.native_handle(), *settings);
  if (const auto unsigned_one = sign(*ref, *settings, true))
    return events_.tcp_disconnected(conn, *unsigned_one);  // whoever was made for it goes, too
  conns_[conn] = ref;
  if (!events_.tcp_accepted(conn, from, address_of(local.address()))) {
    conns_.erase(conn);
    return;
  }
  push();
  read(conn, ref);
}

Tcp::Lent Tcp::lend(ConnId conn) const {
  const auto at = conns_.find(conn);
  if (at == conns_.end() || !at->second->up || at->second->closing) return {};
  Connection& c = *at->second;
  Lent out{.fd = c.socket.native_handle(), .socket = socket_number(c.socket.native_handle())};
  for (std::size_t i = 0; i < c.out.size(); ++i) {
    const ByteView left = ByteView(*c.out[i]).subspan(i == 0 ? c.sent : 0);
    out.unsent.insert(out.unsent.end(), left.begin(), left.end());
  }
  return out;
}

std::optional<std::string> Tcp::adopt(ConnId conn, int fd, const NeighborSettings& with, Bytes unsent) {
  const auto ref = std::make_shared<Connection>(loop_);
  asio::error_code ignored;
  (void)ref->socket.assign(with.address.v6 ? tcp::v6() : tcp::v4(), fd, ignored);
  (void)ref->socket.non_blocking(true, ignored);
  if (auto wrong = sign(*ref, with, true)) return wrong;
  ref->up = true;
  conns_[conn] = ref;
  if (!unsent.empty()) send(conn, std::make_shared<const Bytes>(std::move(unsent)));
  read(conn, ref);
  return std::nullopt;
}

std::size_t Tcp::unsent() const {
  std::size_t out = 0;
  for (const auto& [conn, ref] : conns_) out += ref->queued;
  return out;
}

void Tcp::connect(ConnId conn, const NeighborSettings& to) {
  const auto ref = std::make_shared<Connection>(loop_);
  conns_[conn] = ref;
  asio::error_code error;
  const auto address = asio_of(to);
  const tcp::endpoint far(address.value_or(asio::ip::address_v6()), port_);
  (void)ref->socket.open(far.protocol(), error);
  auto wrong = error ? std::optional(error.message()) : prepare(ref->socket.native_handle(), to);
  if (!address) wrong = "there is no interface " + to.interface;
  if (!wrong) wrong = sign(*ref, to, false);
  if (!wrong && !to.source.is_zero()) {
    (void)ref->socket.bind({asio_of(to.source), 0}, error);
    if (error) wrong = "cannot use source " + to_string(to.source) + ": " + error.message();
  }
  if (wrong) {
    asio::post(loop_, [this, conn, text = *wrong] { fail(conn, text); });
    return;
  }
  (void)ref->socket.non_blocking(true, error);
  ref->socket.async_connect(far, [this, conn, ref](const asio::error_code& failed) {
    if (!conns_.contains(conn)) return;
    if (failed) return fail(conn, "cannot connect: " + failed.message());
    ref->up = true;
    asio::error_code ignored;
    events_.tcp_connected(conn, address_of(ref->socket.local_endpoint(ignored).address()));
    push();
    read(conn, ref);
  });
}

void Tcp::fail(ConnId conn, const std::string& why) {
  const auto at = conns_.find(conn);
  if (at == conns_.end()) return;
  const Ref ref = at->second;
  conns_.erase(at);
  ref->closing = true;
  asio::error_code ignored;
  (void)ref->socket.close(ignored);
  events_.tcp_disconnected(conn, why);
}

void Tcp::read(ConnId conn, const Ref& ref) {
  if (!ref->socket.is_open() || ref->closing) return;
  ref->socket.async_wait(tcp::socket::wait_read, [this, conn, ref](const asio::error_code& error) {
    if (error || ref->closing) return;
    for (int i = 0; i < kReadsAtOnce; ++i)
      if (!take_in(conn, ref)) return;
    read(conn, ref);
  });
}

// False: it is gone, or waits for more.
bool Tcp::take_in(ConnId conn, const Ref& ref) {
  events_.tcp_begins();
  const ssize_t got = recv(ref->socket.native_handle(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    events_.tcp_ends(false);
    read(conn, ref);
    return false;
  }
  if (got <= 0) {
    fail(conn, got == 0 ? "the neighbour closed the connection" : error_text(errno));
    return false;
  }
  events_.tcp_received(conn, ByteView(buffer_).first(static_cast<std::size_t>(got)));
  return !ref->closing && conns_.contains(conn);
}

void Tcp::send(ConnId conn, const Chunk& bytes) {
  const auto at = conns_.find(conn);
  if (at == conns_.end() || bytes->empty()) return;
  Connection& c = *at->second;
  c.out.push_back(bytes);
  c.queued += bytes->size();
  if (!c.dirty) dirty_.emplace_back(conn, at->second);
  c.dirty = true;
}

void Tcp::push() {
  for (const auto& [conn, ref] : std::exchange(dirty_, {})) {
    ref->dirty = false;
    if (ref->up && !ref->waiting) write(conn, ref);
  }
}

void Tcp::write(ConnId conn, const Ref& ref) {
  constexpr std::size_t kParts = 64;
  Connection& c = *ref;
  while (!c.out.empty()) {
    std::array<iovec, kParts> parts{};
    std::size_t n = 0;
    for (; n < kParts && n < c.out.size(); ++n) {
      const std::size_t skip = n == 0 ? c.sent : 0;
      parts[n] = {const_cast<std::uint8_t*>(c.out[n]->data()) + skip, c.out[n]->size() - skip};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = n;
    ssize_t sent = sendmsg(c.socket.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) return wait_write(conn, ref);
    if (sent < 0) {
      // The reader hears of it too; what waits goes nowhere.
      c.out.clear();
      c.queued = 0;
      break;
    }
    c.queued -= static_cast<std::size_t>(sent);
    while (sent > 0) {
      const std::size_t left = c.out.front()->size() - c.sent;
      if (static_cast<std::size_t>(sent) < left) {
        c.sent += static_cast<std::size_t>(sent);
        break;
      }
      sent -= static_cast<ssize_t>(left);
      c.sent = 0;
      c.out.pop_front();
    }
  }
  if (c.closing) finish(ref);
}

void Tcp::wait_write(ConnId conn, const Ref& ref) {
  ref->waiting = true;
  ref->socket.async_wait(tcp::socket::wait_write, [this, conn, ref](const asio::error_code& error) {
    ref->waiting = false;
    if (error) return;
    events_.tcp_begins();
    write(conn, ref);
    if (!ref->closing && ref->queued < kFillBelow) return events_.tcp_drained(conn);
    events_.tcp_ends(true);
  });
}

std::size_t Tcp::queued(ConnId conn) const {
  const auto at = conns_.find(conn);
  return at == conns_.end() ? 0 : at->second->queued;
}

// What waits goes out, then the other side may read it to its end: a plain close with something unread would
// take it away from them.
void Tcp::close(ConnId conn) {
  const auto at = conns_.find(conn);
  if (at == conns_.end()) return;
  const Ref ref = at->second;
  conns_.erase(at);
  ref->closing = true;
  asio::error_code ignored;
  if (!ref->up) {
    (void)ref->socket.close(ignored);
    return;
  }
  ref->linger.expires_after(kLinger);
  ref->linger.async_wait([ref](const asio::error_code& error) {
    asio::error_code none;
    if (!error) (void)ref->socket.close(none);
  });
  if (!ref->waiting) write(conn, ref);
}

void Tcp::finish(const Ref& ref) {
  asio::error_code ignored;
  (void)ref->socket.shutdown(tcp::socket::shutdown_send, ignored);
  drain(ref);
}

void Tcp::drain(const Ref& ref) {
  if (!ref->socket.is_open()) return;
  ref->socket.async_wait(tcp::socket::wait_read, [this, ref](const asio::error_code& error) {
    if (error) return;
    const ssize_t got = recv(ref->socket.native_handle(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got > 0 || (got < 0 && errno == EAGAIN)) return drain(ref);
    ref->linger.cancel();
    asio::error_code ignored;
    (void)ref->socket.close(ignored);
  });
}

void Tcp::close_all() {
  stop_listening();
  for (auto& [conn, ref] : std::exchange(conns_, {})) {
    ref->closing = true;
    asio::error_code ignored;
    (void)ref->socket.close(ignored);
  }
}

}  // namespace lossless::bgp
