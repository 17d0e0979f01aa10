// SPDX-License-Identifier: Apache-2.0
#include "tests/bpf/scratch_io.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <stdexcept>

#include "daemon/net/qdisc_io.h"

namespace lossless::test {
namespace {

constexpr std::uint32_t kLimit = 4U << 20;
constexpr std::size_t kFillFrame = 1000;

void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

void must(const Status& status) {
  if (!status) throw std::runtime_error(status.error());
}

port::QueueTree scratch_tree() {
  PortConfig config;
  config.name = "p0";
  config.rate_bps = 1'000'000'000;
  for (QueueConfig& queue : config.queues) queue.limit_bytes = kLimit;
  return port::plan_tree(config, 1500);
}

std::string gate(unsigned tc, const std::string& parameters) {
  return "tc qdisc change dev p0 parent 4c00:" + std::to_string(tc + 1) + " handle 4c0" +
         std::to_string(tc + 1) + ": tbf limit " + std::to_string(kLimit) + " " + parameters;
}

// The program context as test runs read it.
struct __attribute__((packed)) SkBuff {
  __u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority,
      ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid, data, data_end, napi_id, family,
      remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port, data_meta;
  __u64 flow_keys;
  __u64 tstamp;
  __u32 wire_len, gso_segs;
  __u64 sk;
  __u32 gso_size;
  __u8 tstamp_type;
  __u8 pad[3];
  __u64 hwtstamp;
};

}  // namespace

void enter_private_namespace() {
  if (unshare(CLONE_NEWNET)) throw std::runtime_error("needs root: cannot create a network namespace");
}

std::optional<RunResult> run_program(int program, std::span<const std::uint8_t> packet,
                                     const RunContext& context) {
  SkBuff in{};
  in.ifindex = context.ifindex;
  in.ingress_ifindex = context.ingress_ifindex;
  in.priority = context.priority;
  in.gso_segs = context.gso_segs;
  SkBuff out{};
  RunResult result;
  result.packet.resize(packet.size() + 64);
  bpf_test_run_opts opts{};
  opts.sz = sizeof opts;
  opts.data_in = packet.data();
  opts.data_out = result.packet.data();
  opts.data_size_in = static_cast<__u32>(packet.size());
  opts.data_size_out = static_cast<__u32>(result.packet.size());
  opts.ctx_in = &in;
  opts.ctx_out = &out;
  opts.ctx_size_in = sizeof in;
  opts.ctx_size_out = sizeof out;
  opts.repeat = static_cast<int>(context.repeat);
  if (bpf_prog_test_run_opts(program, &opts)) return std::nullopt;
  result.verdict = static_cast<int>(opts.retval);
  result.packet.resize(opts.data_size_out);
  result.priority = out.priority;
  result.ns_per_run = opts.duration;
  result.tstamp = out.tstamp;
  return result;
}

ll_port default_port_row() {
  ll_port row{};
  row.trust = LL_TRUST_DSCP;
  for (unsigned pcp = 0; pcp < LL_TCS; ++pcp) row.dot1p_tc[pcp] = static_cast<__u8>(pcp);
  for (unsigned dscp = 0; dscp < LL_DSCPS; ++dscp) {
    row.dscp_tc[dscp] = static_cast<__u8>(dscp / 8);
    row.dscp_new[dscp] = static_cast<__u8>(dscp);
  }
  return row;
}

ScratchPort::ScratchPort(const MapSizes& sizes) {
  instance_ = "ll-test-" + std::to_string(getpid()) + "-" + std::to_string(std::random_device{}() % 100000);
  shell(
      "ip link add p0 type veth peer name h0 && ip link set p0 up && ip link set h0 up && "
      "sysctl -qw net.ipv6.conf.p0.disable_ipv6=1 net.ipv6.conf.h0.disable_ipv6=1");
  ifindex_ = if_nametoindex("p0");
  auto netlink = net::Netlink::open();
  if (!netlink) throw std::runtime_error(netlink.error());
  netlink_ = std::make_unique<net::Netlink>(std::move(*netlink));
  must(net::apply_tree(*netlink_, static_cast<int>(ifindex_), scratch_tree(), std::nullopt));
  auto datapath = Datapath::open(instance_, "test", sizes);
  if (!datapath) throw std::runtime_error(datapath.error());
  datapath_ = std::make_unique<Datapath>(std::move(*datapath));
  set_port(default_port_row());
  must(datapath_->attach(ifindex_));

  raw_ = Fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(ifindex_);
  // Queued frames stay charged to the socket that sent them.
  const int buffer = 64 << 20;
  setsockopt(raw_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
  if (!raw_ || bind(raw_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address))
    throw std::runtime_error("cannot open a packet socket");
}

ScratchPort::~ScratchPort() {
  (void)datapath_->detach_all();
  // Should it fail: the namespace goes with the process anyway.
  (void)!std::system("ip link del p0");
}

void ScratchPort::set_port(const ll_port& row) { must(datapath_->maps().ports.set(ifindex_, row)); }
void ScratchPort::set_wred(unsigned tc, const ll_wred& row) {
  must(datapath_->maps().wred.set(LL_ROW(0, tc), row));
}

void ScratchPort::clear_counters() {
  for (unsigned tc = 0; tc < LL_TCS; ++tc) {
    datapath_->maps().ecn_stats.clear(LL_ROW(0, tc));
    datapath_->maps().class_stats.clear(LL_ROW(0, tc));
  }
  datapath_->maps().port_stats.clear(0);
}

RunResult ScratchPort::ingress(std::span<const std::uint8_t> packet) {
  return run_program(datapath_->program(Hook::Ingress), packet, {.ifindex = ifindex_}).value();
}

RunResult ScratchPort::egress(std::span<const std::uint8_t> packet, unsigned tc) {
  return run_program(datapath_->program(Hook::Egress), packet,
                     {.ifindex = ifindex_, .priority = LL_PRIORITY(tc)})
      .value();
}

void ScratchPort::close_gate(unsigned tc) { shell(gate(tc, "rate 8bit burst 2000")); }
void ScratchPort::open_gate(unsigned tc) { shell(gate(tc, "rate 10gbit burst 64mb")); }

std::uint32_t ScratchPort::backlog(unsigned tc) {
  const auto qdiscs = net::list_qdiscs(*netlink_);
  const net::QdiscInfo* leaf = qdiscs ? net::find_leaf(*qdiscs, static_cast<int>(ifindex_), tc) : nullptr;
  if (!leaf) throw std::runtime_error("no leaf for TC " + std::to_string(tc));
  return leaf->backlog_bytes;
}

std::uint32_t ScratchPort::fill(unsigned tc, std::uint32_t bytes) {
  Bytes frame(kFillFrame, 0);
  frame[0] = 0x02;
  frame[6] = 0x02;
  frame[12] = 0x08;
  frame[14] = 0x45;
  frame[15] = static_cast<std::uint8_t>(tc << 5);  // DSCP 8·tc, Not-ECT
  frame[17] = 0;
  for (unsigned sent = 0; backlog(tc) < bytes; ++sent) {
    if (sent > 2 * kLimit / kFillFrame) throw std::runtime_error("the queue does not fill");
    if (send(raw_.get(), frame.data(), frame.size(), MSG_DONTWAIT) < 0)
      throw std::runtime_error("cannot send");
  }
  return backlog(tc);
}

}  // namespace lossless::test
