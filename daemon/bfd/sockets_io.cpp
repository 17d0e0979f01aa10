// SPDX-License-Identifier: Apache-2.0
#include "daemon/bfd/sockets_io.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "daemon/core/socket_address.h"

namespace lossless::bfd {
namespace {

constexpr int kClassSelector6 = 48 << 2;  // DSCP CS6, network control
constexpr int kReceiveBuffer = 4 << 20;
constexpr std::size_t kBatch = 64;
constexpr std::size_t kLongest = 256;  // a packet's own length has 8 bits
constexpr std::size_t kControl = 128;

bool set(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

template <class T>
T data_of(cmsghdr* message) {
  T out{};
  std::memcpy(&out, CMSG_DATA(message), sizeof out);
  return out;
}

// TTL, destination and interface, as the kernel tells them beside the data.
void read_control(msghdr& header, Datagram& out) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    const bool v4 = c->cmsg_level == IPPROTO_IP;
    if (c->cmsg_type == (v4 ? IP_TTL : IPV6_HOPLIMIT)) {
      out.ttl = static_cast<std::uint8_t>(data_of<int>(c));
    } else if (v4 && c->cmsg_type == IP_PKTINFO) {
      const auto info = data_of<in_pktinfo>(c);
      out.ifindex = static_cast<unsigned>(info.ipi_ifindex);
      out.to = IpAddress::v4_of({reinterpret_cast<const std::uint8_t*>(&info.ipi_addr), 4});
    } else if (!v4 && c->cmsg_type == IPV6_PKTINFO) {
      const auto info = data_of<in6_pktinfo>(c);
      out.ifindex = info.ipi6_ifindex;
      out.to = IpAddress::v6_of({info.ipi6_addr.s6_addr, 16});
    }
  }
}

struct Batch {
  std::array<mmsghdr, kBatch> headers{};
  std::array<iovec, kBatch> vectors{};
  std::array<sockaddr_storage, kBatch> from{};
  std::array<std::array<std::uint8_t, kLongest>, kBatch> data{};
  alignas(cmsghdr) std::array<std::array<std::uint8_t, kControl>, kBatch> control{};

  void prepare() {
    for (std::size_t i = 0; i < kBatch; ++i) {
      vectors[i] = {.iov_base = data[i].data(), .iov_len = kLongest};
      headers[i].msg_hdr = {.msg_name = &from[i],
                            .msg_namelen = sizeof from[i],
                            .msg_iov = &vectors[i],
                            .msg_iovlen = 1,
                            .msg_control = control[i].data(),
                            .msg_controllen = kControl,
                            .msg_flags = 0};
    }
  }
};

// RFC 5881, 4: one of 49152 to 65535 that no other session has.
bool bind_source_port(int fd, const IpAddress& local, unsigned scope) {
  constexpr unsigned kPorts = 65536 - kFirstSourcePort;
  std::uint16_t random = 0;
  (void)!getrandom(&random, sizeof random, 0);
  for (unsigned i = 0; i < kPorts; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirstSourcePort + (random + i) % kPorts);
    const SocketAddress address = to_socket_address(local, port, scope);
    if (bind(fd, address.get(), address.size) == 0) return true;
    if (errno != EADDRINUSE) return false;
  }
  return false;
}

}  // namespace

Result<Receiver> Receiver::open(bool v6, bool multihop) {
  const std::uint16_t port = multihop ? kMultiHopPort : kSingleHopPort;
  Fd fd(socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot open a UDP socket for BFD", errno);
  (void)set(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBuffer);
  const bool told = v6 ? set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
                             set(fd.get(), IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) &&
                             set(fd.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
                       : set(fd.get(), IPPROTO_IP, IP_RECVTTL, 1) && set(fd.get(), IPPROTO_IP, IP_PKTINFO, 1);
  const SocketAddress any = to_socket_address({.v6 = v6}, port, 0);
  if (!told || bind(fd.get(), any.get(), any.size) != 0)
    return fail_errno("cannot listen on UDP port " + std::to_string(port) + " for BFD (" +
                          (v6 ? "IPv6" : "IPv4") + "; does another BFD daemon run?)",
                      errno);
  return Receiver(std::move(fd), v6, multihop);
}

void Receiver::drain(unsigned limit, const std::function<void(const Datagram&)>& take) {
  static thread_local Batch batch;
  for (unsigned done = 0; done < limit;) {
    batch.prepare();
    const int count = recvmmsg(fd_.get(), batch.headers.data(), kBatch, MSG_DONTWAIT, nullptr);
    if (count <= 0) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      Datagram datagram{.from = to_ip(batch.from[i]), .to = {.v6 = v6_}, .multihop = multihop_};
      read_control(batch.headers[i].msg_hdr, datagram);
      datagram.payload = ByteView(batch.data[i]).first(batch.headers[i].msg_len);
      take(datagram);
    }
    done += static_cast<unsigned>(count);
    if (static_cast<std::size_t>(count) < kBatch) return;
  }
}

bool Sender::open(const Peer& peer) {
  const PeerKey& key = peer.key;
  const bool v6 = key.peer.v6;
  Fd fd(socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return false;
  const bool ready =
      v6 ? set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
               set(fd.get(), IPPROTO_IPV6, IPV6_UNICAST_HOPS, kFullTtl) &&
               set(fd.get(), IPPROTO_IPV6, IPV6_TCLASS, kClassSelector6)
         : set(fd.get(), IPPROTO_IP, IP_TTL, kFullTtl) && set(fd.get(), IPPROTO_IP, IP_TOS, kClassSelector6);
  if (!ready) return false;
  if (!key.interface.empty() && setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, key.interface.c_str(),
                                           static_cast<socklen_t>(key.interface.size())) != 0)
    return false;
  if (!bind_source_port(fd.get(), key.local.value_or(IpAddress{.v6 = v6}), peer.ifindex)) return false;
  fd_ = std::move(fd);
  return true;
}

// Not connected: an ICMP error that came back would be reported instead of the next packet being sent.
bool Sender::send(const Peer& peer, const Bytes& packet) {
  error_ = 0;
  const std::uint16_t port = peer.key.multihop ? kMultiHopPort : kSingleHopPort;
  const SocketAddress to = to_socket_address(peer.key.peer, port, peer.ifindex);
  if ((fd_ || open(peer)) && sendto(fd_.get(), packet.data(), packet.size(), 0, to.get(), to.size) >= 0)
    return true;
  error_ = errno;
  if (error_ != EAGAIN && error_ != ENOBUFS) close();
  return false;
}

}  // namespace lossless::bfd
