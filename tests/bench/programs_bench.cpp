// SPDX-License-Identifier: Apache-2.0
// What the programs cost: ns a packet by test runs, and the rate through a bridge with and without them,
// measured in pairs. Prints figures; fails only when something does not work.
//
//   programs_bench [--quick]      needs root; RoCEv2 flows: flows_bench
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "daemon/net/qdisc_io.h"
#include "daemon/port/tables.h"
#include "tests/bpf/golden.h"
#include "tests/bpf/scratch_io.h"

namespace lossless::test {
namespace {

using std::chrono::steady_clock;

struct Effort {
  std::uint32_t repeats = 1'000'000;
  unsigned rounds = 5;
  unsigned pairs = 15;
  unsigned frames = 200'000;
};

void shell(const char* command) {
  if (std::system(command) != 0) throw std::runtime_error(command);
}

template <class T>
T median(std::vector<T> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

double nanoseconds(int program, const Bytes& packet, RunContext context, const Effort& effort) {
  context.repeat = effort.repeats;
  std::vector<std::uint32_t> runs;
  runs.reserve(effort.rounds);
  for (unsigned i = 0; i < effort.rounds; ++i)
    runs.push_back(run_program(program, packet, context).value().ns_per_run);
  return *std::ranges::min_element(runs);  // noise only adds
}

// A program that does nothing and returns `result`: the floor of a test run, or of a tracepoint.
int load_empty(bpf_prog_type type = BPF_PROG_TYPE_SCHED_CLS, __s32 result = -1) {
  struct Insn {
    __u8 code;
    __u8 registers;
    __s16 off;
    __s32 imm;
  };
  const Insn program[] = {{0xb7, 0, 0, result}, {0x95, 0, 0, 0}};  // r0 = result; exit
  static_assert(sizeof(Insn) == sizeof(bpf_insn));
  return bpf_prog_load(type, "ll_empty", "GPL", reinterpret_cast<const bpf_insn*>(program), 2, nullptr);
}

// Way into the buffer model: what the egress program takes for a packet that came in by a managed port,
// beyond one that did not.
double enter_cost(const Effort& effort) {
  ScratchPort port;
  ll_pfc row{};
  row.on = row.lossless = 1;
  row.xoff = std::uint64_t{1} << 50U;  // never reached: what is measured is the way of every packet
  if (auto ok = port.datapath().maps().pfc.set(LL_ROW(0, 3), row); !ok) throw std::runtime_error(ok.error());
  const Bytes packet = from_hex(read_golden("ecn.tsv")[6][1]);
  RunContext context{.ifindex = port.ifindex(), .priority = LL_PRIORITY(3)};
  const double local = nanoseconds(port.datapath().program(Hook::Egress), packet, context, effort);
  context.ingress_ifindex = port.ifindex();
  return nanoseconds(port.datapath().program(Hook::Egress), packet, context, effort) - local;
}

void measure_programs(const Effort& effort) {
  ScratchPort port;
  const Bytes packet = from_hex(read_golden("ecn.tsv")[6][1]);  // RoCEv2 over IPv4, ECT(0), DSCP 26
  QueueConfig queue;
  queue.lossless = true;  // so that the Not-ECT frames that fill the queue get in
  queue.ecn = EcnConfig{.kmin_bytes = 1000, .kmax_bytes = 2000, .pmax = 0.1, .ewma_shift = 0};
  port.set_wred(3, port::make_wred_row(queue, 0, 1500));
  const RunContext out{.ifindex = port.ifindex(), .priority = LL_PRIORITY(3)};

  const double empty = nanoseconds(load_empty(), packet, {.ifindex = port.ifindex()}, effort);
  const double classify =
      nanoseconds(port.datapath().program(Hook::Ingress), packet, {.ifindex = port.ifindex()}, effort);
  const double below = nanoseconds(port.datapath().program(Hook::Egress), packet, out, effort);
  port.close_gate(3);
  port.fill(3, 100'000);
  const double above = nanoseconds(port.datapath().program(Hook::Egress), packet, out, effort);
  queue.ecn->ewma_shift = 4;
  port.set_wred(3, port::make_wred_row(queue, 1'000'000'000, 1500));
  const double averaged = nanoseconds(port.datapath().program(Hook::Egress), packet, out, effort);

  std::printf("ns a packet, BPF_PROG_TEST_RUN, %u repeats, IPv4 RoCEv2, %zu bytes, least of %u\n",
              effort.repeats, packet.size(), effort.rounds);
  std::printf("  an empty program                          %5.0f\n", empty);
  std::printf("  classify (tcx ingress)                    %5.0f   target 60\n", classify);
  std::printf("  egress, below Kmin                        %5.0f   target 95\n", below);
  std::printf("  egress, above Kmax (selected, already CE) %5.0f   target 95\n", above);
  std::printf("  egress, above Kmax, averaged depth        %5.0f\n", averaged);
}

// What each stage that a port may have adds to a packet that is none of its own, and to RoCEv2.
void measure_stages(const Effort& effort) {
  ScratchPort port;
  const Bytes roce = from_hex(read_golden("ecn.tsv")[6][1]);
  Bytes udp = roce;
  udp[36] = udp[37] = 9;  // destination port
  ll_port nothing = default_port_row();
  const auto with = [&](__u8 ll_port::* member, __u8 value) {
    ll_port row = nothing;
    row.*member = value;
    return row;
  };
  struct Stage {
    const char* name;
    ll_port row;
    bool flows = false;
  };
  const Stage stages[] = {{.name = "nothing on", .row = nothing},
                          {.name = "RoCEv2 flows", .row = nothing, .flows = true},
                          {.name = "zones", .row = with(&ll_port::guard, LL_GUARD_ZONES)},
                          {.name = "ECN overlay", .row = with(&ll_port::overlay, 1)},
                          {.name = "DCQCN of a host", .row = with(&ll_port::host, LL_HOST_NP | LL_HOST_RP)},
                          {.name = "hook flows", .row = with(&ll_port::group, 1)}};
  const RunContext in{.ifindex = port.ifindex()};
  const RunContext out{
      .ifindex = port.ifindex(), .ingress_ifindex = port.ifindex(), .priority = LL_PRIORITY(3)};
  std::printf("stages, ns a packet      ingress: UDP  RoCEv2    egress: UDP  RoCEv2\n");
  for (const Stage& stage : stages) {
    port.set_port(stage.row);
    ll_roce_config config{};
    config.on = stage.flows ? 1 : 0;
    if (auto ok = port.datapath().maps().roce_config.set(0, config); !ok)
      throw std::runtime_error(ok.error());
    std::printf("  %-22s", stage.name);
    for (const auto& [hook, context] : {std::pair{Hook::Ingress, in}, std::pair{Hook::Egress, out}})
      std::printf(" %13.0f  %6.0f", nanoseconds(port.datapath().program(hook), udp, context, effort),
                  nanoseconds(port.datapath().program(hook), roce, context, effort));
    std::printf("\n");
  }
}

// h0 - p0 [bridge] p1 - h1; p0 is the ScratchPort's.
class Bridge {
 public:
  Bridge() {
    shell(
        "ip link add p1 type veth peer name h1 && ip link add br0 type bridge mcast_snooping 0 && "
        "ip link set h1 address 02:00:00:00:00:02 && "
        "for i in p0 p1; do ip link set $i master br0; done && for i in p1 h1 br0; do ip link set $i up; "
        "done && "
        "{ sysctl -qw net.bridge.bridge-nf-call-iptables=0 2>/dev/null || true; } && "
        "bridge fdb replace 02:00:00:00:00:02 dev p1 master static");
    ifindex_ = if_nametoindex("p1");
    PortConfig config;
    for (QueueConfig& queue : config.queues) queue.limit_bytes = 4 << 20;
    for (const char* name : {"p0", "p1"})
      if (auto ok = net::apply_tree(port_.netlink(), static_cast<int>(if_nametoindex(name)),
                                    port::plan_tree(config, 1500), std::nullopt);
          !ok)
        throw std::runtime_error(ok.error());
    ll_port row = default_port_row();
    row.slot = 1;
    (void)port_.datapath().maps().ports.set(ifindex_, row);
    QueueConfig queue;
    queue.ecn = EcnConfig{.kmin_bytes = 100'000, .kmax_bytes = 400'000, .pmax = 0.2, .ewma_shift = 0};
    for (unsigned slot = 0; slot < 2; ++slot)
      (void)port_.datapath().maps().wred.set(LL_ROW(slot, 3), port::make_wred_row(queue, 0, 1500));
    open_socket();
  }

  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;
  ~Bridge() { (void)!std::system("ip link del p1; ip link del br0"); }

  enum class Programs { None, Empty, Ours };

  // What is attached to both hooks of both ports.
  void programs(Programs which) {
    empty_links_.clear();
    for (const unsigned ifindex : {port_.ifindex(), ifindex_}) {
      const bool ours = which == Programs::Ours;
      if (auto ok = ours ? port_.datapath().attach(ifindex) : port_.datapath().detach(ifindex); !ok)
        throw std::runtime_error(ok.error());
      if (which != Programs::Empty) continue;
      for (const bpf_attach_type hook : {BPF_TCX_INGRESS, BPF_TCX_EGRESS}) {
        empty_links_.emplace_back(bpf_link_create(empty_.get(), static_cast<int>(ifindex), hook, nullptr));
        if (!empty_links_.back()) throw std::runtime_error("cannot attach an empty program");
      }
    }
  }

  int leave_program() { return port_.datapath().leave_program(); }

  // Frames of 64 bytes a second that arrive at h1 when sent as fast as can be.
  double rate(unsigned frames) {
    constexpr unsigned kBatch = 64;
    mmsghdr messages[kBatch] = {};
    iovec vector{.iov_base = frame_.data(), .iov_len = frame_.size()};
    for (mmsghdr& message : messages) {
      message.msg_hdr.msg_iov = &vector;
      message.msg_hdr.msg_iovlen = 1;
    }
    const std::uint64_t before = arrived();
    const auto start = steady_clock::now();
    for (unsigned sent = 0; sent < frames; sent += kBatch)
      if (sendmmsg(raw_.get(), messages, kBatch, 0) < 0) throw std::runtime_error("cannot send");
    const std::chrono::duration<double> took = steady_clock::now() - start;
    const std::uint64_t got = arrived() - before;
    if (got < frames * 9ULL / 10) throw std::runtime_error("frames are lost on the bridge");
    return static_cast<double>(got) / took.count();
  }

 private:
  void open_socket() {
    frame_.assign(64, 0);
    frame_[0] = frame_[6] = 0x02;
    frame_[5] = 0x02;
    frame_[11] = 0x01;
    frame_[12] = 0x08;
    frame_[14] = 0x45;
    frame_[15] = 26 << 2 | 2;
    raw_ = Fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(if_nametoindex("h0"));
    const int buffer = 64 << 20;
    setsockopt(raw_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
    if (bind(raw_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address))
      throw std::runtime_error("bind");
  }

  static std::uint64_t arrived() {
    std::ifstream file("/proc/thread-self/net/dev");
    for (std::string line; std::getline(file, line);) {
      const auto colon = line.find(':');
      if (colon == std::string::npos || line.substr(0, colon).find("h1") == std::string::npos) continue;
      unsigned long long bytes = 0;
      unsigned long long packets = 0;
      if (std::sscanf(line.c_str() + colon + 1, "%llu %llu", &bytes, &packets) == 2) return packets;
    }
    throw std::runtime_error("no counters of h1");
  }

  ScratchPort port_;
  Fd empty_{load_empty()};
  std::vector<Fd> empty_links_;
  unsigned ifindex_ = 0;
  Bytes frame_;
  Fd raw_;
};

void measure_bridge(const Effort& effort) {
  using enum Bridge::Programs;
  Bridge bridge;
  bridge.programs(Ours);
  bridge.rate(effort.frames / 4);  // warm
  std::vector<double> rates[3];
  std::vector<double> with_empty;
  std::vector<double> with_ours;
  for (unsigned i = 0; i < effort.pairs; ++i) {
    // The order changes from round to round, so that a drift of the machine favours none.
    std::vector order{None, Empty, Ours};
    std::ranges::rotate(order, order.begin() + i % 3);
    if (i % 2 != 0) std::ranges::reverse(order);
    for (const auto which : order) {
      bridge.programs(which);
      rates[static_cast<unsigned>(which)].push_back(bridge.rate(effort.frames));
    }
    with_empty.push_back(rates[1].back() / rates[0].back());
    with_ours.push_back(rates[2].back() / rates[0].back());
  }
  std::printf(
      "64-byte frames through the bridge, tree of HTB and gates on both ports, %u rounds of %u frames\n",
      effort.pairs, effort.frames);
  std::printf("  without programs      %8.0f a second (median)\n", median(rates[0]));
  std::printf("  with empty programs   %8.0f a second, %5.1f %% (median of rounds)\n", median(rates[1]),
              100 * median(with_empty));
  std::printf("  with our programs     %8.0f a second, %5.1f %% (median of rounds)   target 92 %%\n",
              median(rates[2]), 100 * median(with_ours));
}

// What the kernel says of a program's runs while statistics are on.
struct Runs {
  explicit Runs(int program) {
    bpf_prog_info info{};
    __u32 size = sizeof info;
    bpf_prog_get_info_by_fd(program, &info, &size);
    count = info.run_cnt;
    ns = info.run_time_ns;
  }
  std::uint64_t count = 0, ns = 0;
};

struct LeaveCost {
  double ns;     // a packet
  double empty;  // a run of a program that does nothing, at the same tracepoint
};

// Way out, in real traffic: tracepoints have no test runs. The program also runs for packets that are not its
// own, which is counted as a cost of those that are.
LeaveCost leave_cost(const Effort& effort) {
  Bridge bridge;
  bridge.programs(Bridge::Programs::Ours);
  const Fd empty(load_empty(BPF_PROG_TYPE_RAW_TRACEPOINT, 0));
  const Fd attached(bpf_raw_tracepoint_open("net_dev_start_xmit", empty.get()));
  const Fd statistics(bpf_enable_stats(BPF_STATS_RUN_TIME));
  if (!empty || !attached || !statistics) throw std::runtime_error("cannot measure runs at the tracepoint");
  const int leave = bridge.leave_program();
  std::vector<LeaveCost> rounds;
  for (unsigned i = 0; i < effort.pairs; ++i) {
    const Runs leave_before(leave);
    const Runs empty_before(empty.get());
    bridge.rate(effort.frames);
    const Runs leave_after(leave);
    const Runs empty_after(empty.get());
    const double floor = static_cast<double>(empty_after.ns - empty_before.ns) /
                         static_cast<double>(empty_after.count - empty_before.count);
    const double spent = static_cast<double>(leave_after.ns - leave_before.ns) -
                         floor * static_cast<double>(leave_after.count - leave_before.count);
    rounds.push_back({.ns = spent / effort.frames, .empty = floor});
  }
  std::ranges::nth_element(rounds, rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2), {},
                           &LeaveCost::ns);
  return rounds[rounds.size() / 2];
}

void measure_buffer_model(const Effort& effort) {
  const double enter = enter_cost(effort);
  const LeaveCost leave = leave_cost(effort);
  std::printf("buffer model, ns a packet\n");
  std::printf("  way in (part of the egress program)       %5.0f\n", enter);
  std::printf("  way out (beyond an empty program)         %5.0f   an empty program there: %.0f\n", leave.ns,
              leave.empty);
  std::printf("  both                                      %5.0f   target 60; %.1f empty programs\n",
              enter + leave.ns, (enter + leave.ns) / leave.empty);
}

}  // namespace
}  // namespace lossless::test

int main(int argc, char** argv) {
  using namespace lossless::test;
  Effort effort;
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  if (quick) effort = {.repeats = 200'000, .rounds = 3, .pairs = 5, .frames = 50'000};
  enter_private_namespace();
  try {
    measure_programs(effort);
    measure_stages(effort);
    measure_buffer_model(effort);
    measure_bridge(effort);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "programs_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
