// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/port_frames_io.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <asio/posix/stream_descriptor.hpp>
#include <cerrno>

#include "loader/fd.h"

namespace lossless::net {
namespace {

constexpr int kReceiveBuffer = 1 << 20;  // bytes, some thousand short frames
constexpr unsigned kFramesAtOnce = 64;   // then others on the loop have their turn
constexpr std::size_t kBuffer = 2048;    // no frame of these protocols is longer
constexpr std::size_t kTypeAt = 12;

// Ours and sent to us; not what this machine sends, nor what is for another VLAN.
bool for_us(const sockaddr_ll& from) {
  return from.sll_pkttype != PACKET_OUTGOING && from.sll_pkttype != PACKET_OTHERHOST;
}

Status join(int fd, int ifindex, const Mac& group) {
  packet_mreq request{};
  request.mr_ifindex = ifindex;
  request.mr_type = PACKET_MR_MULTICAST;
  request.mr_alen = static_cast<unsigned short>(group.size());
  std::ranges::copy(group, request.mr_address);
  if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request))
    return fail_errno("cannot join a multicast group", errno);
  return {};
}

// Bound last, so that it never holds a frame of another interface.
Result<Fd> open_socket(int ifindex, std::uint16_t ethertype, const std::vector<Mac>& groups) {
  Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot open a packet socket", errno);
  const int on = 1;
  if (setsockopt(fd.get(), SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on))
    return fail_errno("cannot set up a packet socket", errno);
  if (setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof kReceiveBuffer))
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  for (const Mac& group : groups)
    if (auto ok = join(fd.get(), ifindex, group); !ok) return std::unexpected(ok.error());
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ethertype);
  address.sll_ifindex = ifindex;
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address))
    return fail_errno("cannot bind a packet socket", errno);
  return fd;
}

}  // namespace

struct PortFrames::Socket {
  Socket(asio::io_context& loop, int port_ifindex, std::uint16_t type, Fd opened)
      : ifindex(port_ifindex), ethertype(type), descriptor(loop, opened.release()) {}

  int ifindex;
  std::uint16_t ethertype;
  asio::posix::stream_descriptor descriptor;
  bool open = true;
  std::uint64_t lost = 0;
};

struct PortFrames::Port {
  PortRef ref;
  std::vector<std::shared_ptr<Socket>> sockets;
};

PortFrames::PortFrames(asio::io_context& loop, std::vector<std::uint16_t> ethertypes, std::vector<Mac> groups,
                       Receiver receiver)
    : loop_(loop),
      ethertypes_(std::move(ethertypes)),
      groups_(std::move(groups)),
      receiver_(std::move(receiver)) {}

PortFrames::~PortFrames() {
  while (!ports_.empty()) close(ports_.begin()->first);
}

Status PortFrames::open(const PortRef& ref) {
  const auto [at, is_new] = ports_.try_emplace(ref.ifindex);
  if (is_new) at->second = std::make_unique<Port>();
  at->second->ref = ref;
  if (!is_new) return {};
  for (const std::uint16_t ethertype : ethertypes_) {
    auto fd = open_socket(ref.ifindex, ethertype, groups_);
    if (!fd) {
      close(ref.ifindex);
      return fail("port " + ref.name + ": " + fd.error());
    }
    auto socket = std::make_shared<Socket>(loop_, ref.ifindex, ethertype, std::move(*fd));
    at->second->sockets.push_back(socket);
    wait(socket);
  }
  return {};
}

void PortFrames::close(int ifindex) {
  const auto at = ports_.find(ifindex);
  if (at == ports_.end()) return;
  for (const auto& socket : at->second->sockets) {
    socket->open = false;
    asio::error_code ignored;
    (void)socket->descriptor.close(ignored);
  }
  ports_.erase(at);
}

Status PortFrames::open_only(const std::vector<PortRef>& ports) {
  std::vector<int> gone;
  for (const auto& [ifindex, port] : ports_)
    if (std::ranges::find(ports, ifindex, &PortRef::ifindex) == ports.end()) gone.push_back(ifindex);
  for (const int ifindex : gone) close(ifindex);
  Status first;
  for (const PortRef& port : ports)
    if (auto ok = open(port); !ok && first) first = ok;
  return first;
}

const PortRef* PortFrames::find(int ifindex) const {
  const auto at = ports_.find(ifindex);
  return at == ports_.end() ? nullptr : &at->second->ref;
}

Status PortFrames::send(int ifindex, ByteView frame) {
  const auto at = ports_.find(ifindex);
  if (at == ports_.end()) return fail("interface " + std::to_string(ifindex) + " is no open port");
  if (frame.size() < kEthernetHeader)
    return fail("a frame of " + std::to_string(frame.size()) + " bytes has no Ethernet header");
  const std::uint16_t ethertype = WireReader(frame.subspan(kTypeAt)).u16();
  const auto& sockets = at->second->sockets;
  const auto own = std::ranges::find_if(sockets, [&](const auto& s) { return s->ethertype == ethertype; });
  const int fd = (own == sockets.end() ? sockets.front() : *own)->descriptor.native_handle();
  if (::send(fd, frame.data(), frame.size(), MSG_DONTWAIT) < 0)
    return fail_errno("port " + at->second->ref.name + ": cannot send a frame", errno);
  return {};
}

std::uint64_t PortFrames::lost(int ifindex) {
  const auto at = ports_.find(ifindex);
  if (at == ports_.end()) return 0;
  std::uint64_t sum = 0;
  for (const auto& socket : at->second->sockets) {
    tpacket_stats stats{};
    socklen_t size = sizeof stats;
    // The kernel's counter begins anew with each look.
    if (getsockopt(socket->descriptor.native_handle(), SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0)
      socket->lost += stats.tp_drops;
    sum += socket->lost;
  }
  return sum;
}

void PortFrames::wait(const std::shared_ptr<Socket>& socket) {
  socket->descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                                [this, socket](const asio::error_code& error) {
                                  if (error || !socket->open) return;
                                  drain(*socket);
                                  if (socket->open) wait(socket);
                                });
}

void PortFrames::drain(Socket& socket) {
  std::array<std::uint8_t, kBuffer> buffer;
  for (unsigned count = 0; count < kFramesAtOnce && socket.open; ++count) {
    sockaddr_ll from{};
    socklen_t size = sizeof from;
    const ssize_t length = recvfrom(socket.descriptor.native_handle(), buffer.data(), buffer.size(), 0,
                                    reinterpret_cast<sockaddr*>(&from), &size);
    if (length < 0 && errno == ENETDOWN) continue;  // said once when the link goes down
    if (length < 0) return;
    if (!for_us(from)) continue;
    receiver_(ports_.at(socket.ifindex)->ref, ByteView(buffer).first(static_cast<std::size_t>(length)));
  }
}

}  // namespace lossless::net
