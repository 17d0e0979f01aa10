// SPDX-License-Identifier: Apache-2.0
// How long IPCC takes: from send() of the data packet that calls for a CNP until the CNP is in the sender's
// kernel, over veth and a bridge, alone and while another CPU floods the same port. Prints figures and
// targets; fails when a CNP is missing or names another QP.
//
//   ipcc_bench [--quick]      needs root; 50,000 packets each, or 2,000
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <stdexcept>
#include <thread>

#include "daemon/net/qdisc_io.h"
#include "tests/bpf/roce_frames.h"

namespace lossless::test {
namespace {

constexpr unsigned kTc = 3;
constexpr unsigned kQps = 500;

void shell(const char* command) {
  if (std::system(command) != 0) throw std::runtime_error(command);
}

std::uint64_t real_time() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// A packet socket on an interface, with the kernel's receive times.
class Socket {
 public:
  Socket(const char* device, std::uint16_t protocol) : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = static_cast<int>(if_nametoindex(device));
    const int on = 1;
    const timeval limit{.tv_sec = 2, .tv_usec = 0};
    // Queued frames stay charged to the socket that sent them.
    const int buffer = 64 << 20;
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
    setsockopt(fd_.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd_.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on);
    if (bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address))
      throw std::runtime_error("cannot bind a packet socket");
  }
  void send(const Bytes& frame) const { (void)!::send(fd_.get(), frame.data(), frame.size(), 0); }
  void drain() const {
    Bytes frame(2000);
    while (recv(fd_.get(), frame.data(), frame.size(), MSG_DONTWAIT) >= 0) {
    }
  }
  // The next CNP and when it came.
  std::uint64_t cnp(std::uint32_t& qp) const {
    Bytes frame(2000);
    alignas(cmsghdr) char control[64];
    for (;;) {
      iovec vector{.iov_base = frame.data(), .iov_len = 2000};
      msghdr message{};
      message.msg_iov = &vector;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      const ssize_t got = recvmsg(fd_.get(), &message, 0);
      if (got < 0) throw std::runtime_error("no CNP came");
      ll_roce r;
      if (ll_roce_parse(frame.data(), frame.data() + got, static_cast<__u32>(got), &r) != LL_ROCE_OK ||
          r.opcode != LL_OP_CNP)
        continue;
      qp = r.dest_qp;
      timespec at{};
      std::memcpy(&at, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof at);
      return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(at.tv_nsec);
    }
  }

 private:
  Fd fd_;
};

// h0 - p0 [bridge] p1 - h1; the queue of p1 stands.
class Lab {
 public:
  Lab() {
    shell(
        "ip link add p1 type veth peer name h1 && ip link add br0 type bridge mcast_snooping 0 && "
        "for i in p0 p1; do ip link set $i master br0; done && for i in p1 h1 br0; do ip link set $i up; "
        "done && "
        "{ sysctl -qw net.bridge.bridge-nf-call-iptables=0 2>/dev/null || true; } && "
        "bridge fdb replace 02:00:00:00:00:02 dev p1 master static && "
        "bridge fdb replace 02:00:00:00:00:01 dev p0 master static");
    const unsigned ifindex = if_nametoindex("p1");
    PortConfig config;
    for (QueueConfig& queue : config.queues) queue.limit_bytes = 4 << 20;
    must(net::apply_tree(port_.netlink(), static_cast<int>(ifindex), port::plan_tree(config, 1500),
                         std::nullopt));
    ll_port row = default_port_row();
    row.slot = 1;
    must(maps().ports.set(ifindex, row));
    ll_roce_config roce{};
    roce.on = 1;
    roce.cnp_tos = 48 << 2;
    roce.cnp_tc = 6;
    must(maps().roce_config.set(0, roce));
    ll_ipcc ipcc{};
    ipcc.on = 1;
    ipcc.low = 10'000;
    ipcc.high = 20'000;
    ipcc.few = ipcc.many = 1;
    ipcc.trend_ns = 1'000'000'000'000;
    ipcc.port_cnps = 1'000'000;
    must(maps().ipcc.set(LL_ROW(1, kTc), ipcc));
    must(port_.datapath().attach(ifindex));
    shell("tc qdisc change dev p1 parent 4c00:4 handle 4c04: tbf limit 4194304 rate 8bit burst 2000");
  }
  const Maps& maps() { return port_.datapath().maps(); }
  static void must(const Status& status) {
    if (!status) throw std::runtime_error(status.error());
  }

 private:
  ScratchPort port_;
};

std::vector<Connection> connect(const Socket& a, const Socket& b) {
  std::vector<Connection> all(kQps);
  for (unsigned i = 0; i < kQps; ++i) {
    all[i].qp_a = 0x2000 + 3 * i;
    all[i].qp_b = 0x9000 + 5 * i;
    a.send(cm(all[i].a, all[i].b, cm_message(LL_CM_REQ, i + 1, 0, all[i].qp_a)));
    b.send(cm(all[i].b, all[i].a, cm_message(LL_CM_REP, i + 5000, i + 1, all[i].qp_b)));
  }
  return all;
}

void measure(const char* what, const Socket& host, const std::vector<Connection>& all, unsigned count) {
  std::mt19937 random(3);
  std::vector<std::uint64_t> times;
  unsigned wrong = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Connection& c = all[random() % all.size()];
    const Bytes frame = from_a(c, {.psn = i, .payload = 1024});
    const std::uint64_t start = real_time();
    host.send(frame);
    std::uint32_t qp = 0;
    times.push_back(host.cnp(qp) - start);
    if (qp != c.qp_a) ++wrong;
  }
  std::ranges::sort(times);
  const auto at = [&](double share) {
    return static_cast<double>(times[static_cast<std::size_t>(share * (count - 1))]) / 1000;
  };
  std::printf("  %-14s p50 %5.1f us (target 5)   p99 %5.1f us (target 20)   %u CNPs, %u to a wrong QP\n",
              what, at(0.5), at(0.99), count, wrong);
  if (wrong) throw std::runtime_error("a CNP named another QP");
}

// Frames of no flow through the same ports, as fast as can be, until it is stopped.
class Flood {
 public:
  Flood()
      : thread_([this] {
          const Socket host("h0", 0);
          Bytes frame = from_a({}, {.payload = 64});
          frame[37] ^= 1U;  // another UDP port
          frame[15] = 0;    // another TC
          while (!stop_) host.send(frame);
        }) {}
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;
  ~Flood() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

void run(unsigned count) {
  const Lab lab;
  const Socket a("h0", 0x0800);
  const Socket b("h1", 0);
  const auto all = connect(a, b);
  for (unsigned i = 0; i < 40; ++i) a.send(from_a(all[0], {.psn = i, .payload = 1024}));  // fills the queue
  a.drain();
  std::printf("data packet to CNP in the sender's kernel, %u QPs between two hosts, by CM\n", kQps);
  measure("alone", a, all, count);
  const Flood flood;
  measure("under flood", a, all, count);
}

}  // namespace
}  // namespace lossless::test

int main(int argc, char** argv) {
  lossless::test::enter_private_namespace();
  try {
    lossless::test::run(argc > 1 && std::strcmp(argv[1], "--quick") == 0 ? 2'000 : 50'000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ipcc_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
