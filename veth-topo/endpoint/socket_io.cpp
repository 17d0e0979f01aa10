// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/endpoint/socket_io.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "bpf/stages/pfc.h"
#include "veth-topo/endpoint/clock_io.h"
#include "veth-topo/endpoint/codec.h"

namespace lossless::endpoint {
namespace {

// A frame in a switch's queue still counts against the socket that sent it.
constexpr int kSendBuffer = 256 << 20;
constexpr int kReceiveBuffer = 64 << 20;
constexpr Nanos kRetryNs = 100 * kMicrosecond;
constexpr std::size_t kReceiveBatches = 4;

std::string reason() { return std::generic_category().message(errno); }

// Moves the thread into a network namespace for as long as it lives.
class NetnsScope {
 public:
  static std::expected<std::unique_ptr<NetnsScope>, std::string> enter(const std::string& name) {
    if (name.empty()) return nullptr;
    const std::string path = "/run/netns/" + name;
    Fd home(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!home) return std::unexpected("/proc/thread-self/ns/net: " + reason());
    const Fd target(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!target) return std::unexpected(path + ": " + reason());
    if (setns(target.get(), CLONE_NEWNET) != 0) return std::unexpected("setns " + path + ": " + reason());
    return std::unique_ptr<NetnsScope>(new NetnsScope(std::move(home)));
  }
  NetnsScope(const NetnsScope&) = delete;
  NetnsScope& operator=(const NetnsScope&) = delete;
  ~NetnsScope() {
    // Going on in the wrong namespace would open the next host's sockets there.
    if (setns(home_.get(), CLONE_NEWNET) != 0) std::abort();
  }

 private:
  explicit NetnsScope(Fd home) : home_(std::move(home)) {}
  Fd home_;
};

bool set(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// MAC control frames; and of frames for this host (not what a switch floods), UDP to port 4791 over IPv4 or
// IPv6.
bool attach_roce_filter(int fd) {
  std::array<sock_filter, 15> code = {{
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LL_ETH_MAC_CONTROL, 13, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<__u32>(SKF_AD_OFF + SKF_AD_PKTTYPE)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HOST, 0, 10),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 7),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14 + 9),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 5),
      BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),
      BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
      BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 40),
      BPF_STMT(BPF_LD | BPF_H | BPF_IND, 14 + 2),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LL_ROCE_PORT, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
  }};
  std::array<sock_filter, 16> whole;
  std::copy(code.begin(), code.end(), whole.begin());
  whole[15] = BPF_STMT(BPF_RET | BPF_K, 0xffffffff);
  const sock_fprog program{static_cast<unsigned short>(whole.size()), whole.data()};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

bool attach_drop_all(int fd) {
  sock_filter code = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &code};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

// A UDP socket on port 4791 that takes nothing: without it the kernel answers every frame with an ICMP
// port unreachable.
std::expected<Fd, std::string> open_sink(bool v6) {
  Fd fd(socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return std::unexpected("UDP socket: " + reason());
  if (!attach_drop_all(fd.get()) || !set(fd.get(), SOL_SOCKET, SO_RCVBUF, 0))
    return std::unexpected("UDP socket options: " + reason());
  sockaddr_storage any{};
  socklen_t length = sizeof(sockaddr_in);
  if (v6) {
    set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
    auto* in6 = reinterpret_cast<sockaddr_in6*>(&any);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(LL_ROCE_PORT);
    length = sizeof(sockaddr_in6);
  } else {
    auto* in = reinterpret_cast<sockaddr_in*>(&any);
    in->sin_family = AF_INET;
    in->sin_port = htons(LL_ROCE_PORT);
  }
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), length) != 0)
    return std::unexpected("UDP port 4791: " + reason());
  return fd;
}

std::expected<Fd, std::string> open_raw(const HostConfig& host, std::size_t max_frame) {
  // Protocol 0: nothing is received before the filter is in place and bind() says ETH_P_ALL.
  Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return std::unexpected("packet socket: " + reason());
  ifreq request{};
  host.dev.copy(request.ifr_name, IFNAMSIZ - 1);
  if (ioctl(fd.get(), SIOCGIFMTU, &request) != 0) return std::unexpected("device: " + reason());
  const std::size_t needed = max_frame - ETH_HLEN;
  if (static_cast<std::size_t>(request.ifr_mtu) < needed)
    return std::unexpected("has MTU " + std::to_string(request.ifr_mtu) + ", the flows need " +
                           std::to_string(needed));
  if (ioctl(fd.get(), SIOCGIFINDEX, &request) != 0) return std::unexpected("device: " + reason());
  if (!attach_roce_filter(fd.get()) || !set(fd.get(), SOL_SOCKET, SO_SNDBUFFORCE, kSendBuffer) ||
      !set(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBuffer) ||
      !set(fd.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, 1))
    return std::unexpected("packet socket options: " + reason());
  sockaddr_ll where{};
  where.sll_family = AF_PACKET;
  where.sll_protocol = htons(ETH_P_ALL);
  where.sll_ifindex = request.ifr_ifindex;
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
    return std::unexpected("packet socket: " + reason());
  return fd;
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

HostSocket::HostSocket(std::size_t max_frame)
    : slot_bytes_(max_frame), tx_(std::make_unique<Batch>()), rx_(std::make_unique<Batch>()) {
  for (Batch* batch : {tx_.get(), rx_.get()}) {
    batch->bytes.resize(kBatch * slot_bytes_);
    for (std::size_t i = 0; i < kBatch; i++) {
      batch->iov[i] = {batch->slot(i, slot_bytes_).data(), slot_bytes_};
      batch->messages[i].msg_hdr.msg_iov = &batch->iov[i];
      batch->messages[i].msg_hdr.msg_iovlen = 1;
    }
  }
}

std::expected<HostSocket, std::string> HostSocket::open(const HostConfig& host, std::size_t max_frame) {
  const std::string where =
      "host " + host.name + ", " + (host.netns.empty() ? "" : host.netns + "/") + host.dev + ": ";
  const auto scope = NetnsScope::enter(host.netns);
  if (!scope) return std::unexpected(where + scope.error());
  HostSocket out(max_frame);
  auto raw = open_raw(host, max_frame);
  if (!raw) return std::unexpected(where + raw.error());
  out.raw_ = std::move(*raw);
  auto sink = open_sink(host.address.v6);
  if (!sink) return std::unexpected(where + sink.error());
  out.sinks_.push_back(std::move(*sink));
  return out;
}

void HostSocket::fill(Engine& engine, std::uint32_t host, Nanos now) {
  tx_first_ = tx_count_ = 0;
  while (tx_count_ < kBatch) {
    const auto meta = engine.next_frame(host, now, tx_->slot(tx_count_, slot_bytes_));
    if (!meta) return;
    tx_->iov[tx_count_].iov_len = meta->length;
    meta_[tx_count_++] = *meta;
  }
}

void HostSocket::send(Engine& engine, std::uint32_t host, Nanos now) {
  if (retry_at_ != kNever && now < retry_at_) return;
  retry_at_ = kNever;
  for (;;) {
    if (tx_first_ == tx_count_) fill(engine, host, now);
    if (tx_first_ == tx_count_) return;
    const int sent = sendmmsg(raw_.get(), &tx_->messages[tx_first_],
                              static_cast<unsigned>(tx_count_ - tx_first_), MSG_DONTWAIT);
    if (sent <= 0) {
      engine.host_stats(host).tx_retry++;
      engine.host_stats(host).tx_error = reason();
      retry_at_ = now + kRetryNs;
      return;
    }
    for (int i = 0; i < sent; i++) engine.on_sent(host, meta_[tx_first_++], now);
  }
}

bool HostSocket::receive(Engine& engine, std::uint32_t host) {
  for (std::size_t round = 0; round < kReceiveBatches; round++) {
    const int got = recvmmsg(raw_.get(), rx_->messages.data(), kBatch, MSG_DONTWAIT, nullptr);
    if (got <= 0) return false;
    const Nanos now = monotonic_now();
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); i++)
      engine.on_frame(host, rx_->slot(i, slot_bytes_).first(rx_->messages[i].msg_len), now);
    if (static_cast<std::size_t>(got) < kBatch) return false;
  }
  return true;
}

std::uint64_t HostSocket::take_drops() {
  tpacket_stats stats{};
  socklen_t length = sizeof stats;
  if (getsockopt(raw_.get(), SOL_PACKET, PACKET_STATISTICS, &stats, &length) != 0) return 0;
  return stats.tp_drops;
}

}  // namespace lossless::endpoint
