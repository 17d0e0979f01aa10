// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/gate_io.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "bpf/abi.h"
#include "daemon/port/queue_tree.h"

namespace lossless::net {
namespace {

constexpr std::uint64_t kTickNs = 64;           // PSCHED_SHIFT
constexpr std::uint8_t kEthernetLinkLayer = 1;  // TC_LINKLAYER_ETHERNET: no rate tables needed

// RTM_NEWQDISC of one TBF, in a buffer of its own: attributes are appended behind the fixed part.
class GateMessage {
 public:
  GateMessage(int ifindex, unsigned tc, const GateSpec& spec) {
    nlmsghdr header{};
    header.nlmsg_type = RTM_NEWQDISC;
    header.nlmsg_flags = NLM_F_REQUEST;  // no acknowledgement: the kernel answers only what it refuses
    tcmsg message{};
    message.tcm_ifindex = ifindex;
    message.tcm_parent = LL_PRIORITY(tc);
    message.tcm_handle = LL_LEAF_HANDLE(tc);
    append(header);
    append(message);
    attribute(TCA_KIND, std::array<char, 4>{"tbf"});
    const std::size_t options = length_;
    append(rtattr{.rta_len = 0, .rta_type = TCA_OPTIONS});
    tc_tbf_qopt opt{};
    opt.rate.linklayer = kEthernetLinkLayer;
    opt.rate.rate = static_cast<std::uint32_t>(std::min<std::uint64_t>(spec.rate, UINT32_MAX));
    opt.limit = spec.limit;
    opt.buffer = scheduler_ticks(spec.burst, spec.rate);
    attribute(TCA_TBF_PARMS, opt);
    if (spec.rate > UINT32_MAX) attribute(TCA_TBF_RATE64, spec.rate);
    attribute(TCA_TBF_BURST, spec.burst);
    patch<rtattr>(options,
                  [&](rtattr& nest) { nest.rta_len = static_cast<unsigned short>(length_ - options); });
    patch<nlmsghdr>(0, [&](nlmsghdr& all) { all.nlmsg_len = static_cast<std::uint32_t>(length_); });
  }
  const void* data() const { return bytes_.data(); }
  std::size_t size() const { return length_; }

 private:
  template <class T>
  void append(const T& value) {
    std::memcpy(bytes_.data() + length_, &value, sizeof value);
    length_ += NLMSG_ALIGN(sizeof value);
  }
  template <class T>
  void attribute(unsigned short type, const T& value) {
    append(rtattr{.rta_len = static_cast<unsigned short>(RTA_LENGTH(sizeof value)), .rta_type = type});
    append(value);
  }
  template <class T, class Change>
  void patch(std::size_t at, const Change& change) {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    change(value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }

  alignas(NLMSG_ALIGNTO) std::array<char, 256> bytes_{};
  std::size_t length_ = 0;
};

}  // namespace

std::uint32_t scheduler_ticks(std::uint64_t bytes, std::uint64_t rate) {
  const auto ns = static_cast<unsigned __int128>(bytes) * 1'000'000'000U / rate;
  return static_cast<std::uint32_t>(std::min<unsigned __int128>(ns / kTickNs, UINT32_MAX));
}

GateSpec open_gate_spec(std::uint32_t limit_bytes) {
  return {.rate = port::kGateOpenRate, .burst = port::kGateOpenBurst, .limit = limit_bytes};
}

GateSpec closed_gate_spec(std::uint32_t limit_bytes, std::uint32_t frame_bytes) {
  return {.rate = kGateClosedRate, .burst = frame_bytes, .limit = limit_bytes};
}

Result<GateSocket> GateSocket::open() {
  Fd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (!fd || connect(fd.get(), reinterpret_cast<sockaddr*>(&kernel), sizeof kernel))
    return fail_errno("cannot open a netlink socket", errno);
  const int on = 1;
  setsockopt(fd.get(), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
  return GateSocket(std::move(fd));
}

// rtnetlink works in the sender's context: the change is made, or its refusal is in our queue, when send
// returns.
int GateSocket::set(int ifindex, unsigned tc, const GateSpec& spec) {
  const GateMessage message(ifindex, tc, spec);
  if (send(fd_.get(), message.data(), message.size(), 0) < 0) return errno;
  return read_error();
}

int GateSocket::read_error() {
  int error = 0;
  std::array<char, 512> reply;
  for (;;) {
    const ssize_t got = recv(fd_.get(), reply.data(), reply.size(), MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN ? error : errno;
    nlmsghdr header;
    nlmsgerr refusal;
    if (got < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof refusal)) continue;
    std::memcpy(&header, reply.data(), sizeof header);
    std::memcpy(&refusal, reply.data() + NLMSG_HDRLEN, sizeof refusal);
    if (header.nlmsg_type == NLMSG_ERROR) error = -refusal.error;
  }
}

}  // namespace lossless::net
