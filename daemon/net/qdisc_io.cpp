// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/qdisc_io.h"

#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/pkt_sched.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "bpf/abi.h"
#include "daemon/net/gate_io.h"

namespace lossless::net {
namespace {

using port::QueueTree;
using port::TreeClass;

constexpr std::uint32_t kRoot = LL_HANDLE(LL_ROOT_MAJOR);
constexpr std::uint32_t kRateClass = kRoot | LL_RATE_MINOR;
constexpr std::uint8_t kEthernetLinkLayer = 1;  // TC_LINKLAYER_ETHERNET: no rate tables needed
// Leaves borrow everything from the rate class: one byte a second is the least that HTB takes.
constexpr std::uint64_t kBorrowOnly = 1;
constexpr std::uint32_t kSmallestFrame = 64;

tcmsg tc_header(int ifindex, std::uint32_t parent, std::uint32_t handle) {
  tcmsg header{};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = ifindex;
  header.tcm_parent = parent;
  header.tcm_handle = handle;
  return header;
}

tc_ratespec rate_spec(std::uint64_t rate) {
  tc_ratespec spec{};
  spec.linklayer = kEthernetLinkLayer;
  spec.rate = static_cast<std::uint32_t>(std::min<std::uint64_t>(rate, UINT32_MAX));
  return spec;
}

Message htb_root(int ifindex) {
  Message message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL);
  message.header(tc_header(ifindex, TC_H_ROOT, kRoot))
      .text(TCA_KIND, "htb")
      .nest(TCA_OPTIONS, [](Message& m) {
        tc_htb_glob glob{};
        glob.version = 3;
        glob.rate2quantum = 10;
        glob.defcls = 1;  // TC 0; the egress program classifies every packet, so this is for its absence
        m.attr(TCA_HTB_INIT, glob);
      });
  return message;
}

struct ClassSpec {
  std::uint32_t parent, handle;
  std::uint64_t rate, ceil;     // bytes per second
  std::uint32_t burst, cburst;  // bytes
  std::uint32_t prio, quantum;
};

Message htb_class(int ifindex, const ClassSpec& spec) {
  Message message(RTM_NEWTCLASS, NLM_F_CREATE);
  message.header(tc_header(ifindex, spec.parent, spec.handle))
      .text(TCA_KIND, "htb")
      .nest(TCA_OPTIONS, [&](Message& m) {
        tc_htb_opt opt{};
        opt.rate = rate_spec(spec.rate);
        opt.ceil = rate_spec(spec.ceil);
        opt.buffer = scheduler_ticks(spec.burst, spec.rate);
        opt.cbuffer = scheduler_ticks(spec.cburst, spec.ceil);
        opt.prio = spec.prio;
        opt.quantum = spec.quantum;
        if (spec.rate > UINT32_MAX) m.attr(TCA_HTB_RATE64, spec.rate);
        if (spec.ceil > UINT32_MAX) m.attr(TCA_HTB_CEIL64, spec.ceil);
        m.attr(TCA_HTB_PARMS, opt);
      });
  return message;
}

ClassSpec rate_class(const QueueTree& tree) {
  return {.parent = kRoot,
          .handle = kRateClass,
          .rate = tree.rate,
          .ceil = tree.rate,
          .burst = tree.burst,
          .cburst = tree.burst,
          .prio = 0,
          .quantum = 1500};
}

// The rate class alone holds the port's rate. A ceiling of their own at that rate would take leaves out of
// the round each time they have sent, and their weights with it; only those that are to have less have one.
ClassSpec tc_class(const QueueTree& tree, unsigned tc) {
  const TreeClass& c = tree.classes[tc];
  return {.parent = kRateClass,
          .handle = LL_PRIORITY(tc),
          .rate = kBorrowOnly,
          .ceil = c.ceil,
          .burst = tree.burst,
          .cburst = c.ceil_burst ? c.ceil_burst : port::kGateOpenBurst,
          .prio = c.prio,
          .quantum = c.quantum};
}

Message gate(int ifindex, unsigned tc, const GateSpec& spec, int flags) {
  Message message(RTM_NEWQDISC, flags);
  message.header(tc_header(ifindex, LL_PRIORITY(tc), LL_LEAF_HANDLE(tc)))
      .text(TCA_KIND, "tbf")
      .nest(TCA_OPTIONS, [&](Message& m) {
        tc_tbf_qopt opt{};
        opt.rate = rate_spec(spec.rate);
        opt.limit = spec.limit;
        opt.buffer = scheduler_ticks(spec.burst, spec.rate);
        m.attr(TCA_TBF_PARMS, opt);
        if (spec.rate > UINT32_MAX) m.attr(TCA_TBF_RATE64, spec.rate);
        m.attr(TCA_TBF_BURST, spec.burst);
      });
  return message;
}

void read_tbf(const nlattr* options, QdiscInfo& info) {
  nlattr* attrs[TCA_TBF_MAX + 1];
  if (nla_parse_nested(attrs, TCA_TBF_MAX, const_cast<nlattr*>(options), nullptr) || !attrs[TCA_TBF_PARMS])
    return;
  if (nla_len(attrs[TCA_TBF_PARMS]) < static_cast<int>(sizeof(tc_tbf_qopt))) return;
  const auto* parameters = static_cast<const tc_tbf_qopt*>(nla_data(attrs[TCA_TBF_PARMS]));
  info.limit_bytes = parameters->limit;
  info.closed = parameters->rate.rate == kGateClosedRate;
}

void read_stats(const nlattr* stats, QdiscInfo& info) {
  nlattr* attrs[TCA_STATS_MAX + 1];
  if (nla_parse_nested(attrs, TCA_STATS_MAX, const_cast<nlattr*>(stats), nullptr)) return;
  gnet_stats_basic basic{};
  gnet_stats_queue queue{};
  if (attrs[TCA_STATS_BASIC]) nla_memcpy(&basic, attrs[TCA_STATS_BASIC], sizeof basic);
  if (attrs[TCA_STATS_QUEUE]) nla_memcpy(&queue, attrs[TCA_STATS_QUEUE], sizeof queue);
  info.sent_bytes = basic.bytes;
  info.sent_packets = attrs[TCA_STATS_PKT64] ? nla_get_u64(attrs[TCA_STATS_PKT64]) : basic.packets;
  info.backlog_bytes = queue.backlog;
  info.backlog_packets = queue.qlen;
  info.dropped_packets = queue.drops;
}

std::optional<QdiscInfo> read_qdisc(nlmsghdr* header) {
  nlattr* attrs[TCA_MAX + 1];
  if (nlmsg_parse(header, sizeof(tcmsg), attrs, TCA_MAX, nullptr) || !attrs[TCA_KIND]) return std::nullopt;
  const auto* tc = static_cast<const tcmsg*>(nlmsg_data(header));
  QdiscInfo info;
  info.ifindex = tc->tcm_ifindex;
  info.handle = tc->tcm_handle;
  info.parent = tc->tcm_parent;
  info.kind = nla_get_string(attrs[TCA_KIND]);
  if (info.kind == "tbf" && attrs[TCA_OPTIONS]) read_tbf(attrs[TCA_OPTIONS], info);
  if (attrs[TCA_STATS2]) read_stats(attrs[TCA_STATS2], info);
  return info;
}

Message fifo(int ifindex, unsigned tc, std::uint32_t limit_bytes) {
  Message message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE | NLM_F_EXCL);
  message.header(tc_header(ifindex, LL_LEAF_HANDLE(tc) | 1U, 0))
      .text(TCA_KIND, "bfifo")
      .attr(TCA_OPTIONS, tc_fifo_qopt{.limit = limit_bytes});
  return message;
}

// In packets, which is all that fq knows: what a queue's bytes are at most, in frames of the smallest size.
Message pacer(int ifindex, unsigned tc, std::uint32_t limit_bytes) {
  const std::uint32_t packets = std::max(limit_bytes / kSmallestFrame, 1000U);
  Message message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE);
  message.header(tc_header(ifindex, LL_LEAF_HANDLE(tc) | 1U, 0))
      .text(TCA_KIND, "fq")
      .nest(TCA_OPTIONS,
            [&](Message& m) { m.attr(TCA_FQ_PLIMIT, packets).attr(TCA_FQ_FLOW_PLIMIT, packets); });
  return message;
}

// What holds the packets under a gate: its own FIFO, or fq. An exchange drops what waits.
Status apply_pacer(Netlink& netlink, int ifindex, unsigned tc, std::uint32_t limit_bytes, bool paced,
                   const std::vector<QdiscInfo>& qdiscs) {
  const bool has = std::ranges::any_of(qdiscs, [&](const QdiscInfo& q) {
    return q.ifindex == ifindex && q.parent == (LL_LEAF_HANDLE(tc) | 1U) && q.kind == "fq";
  });
  if (has == paced) return {};
  return netlink.request(paced ? pacer(ifindex, tc, limit_bytes) : fifo(ifindex, tc, limit_bytes),
                         "cannot exchange the FIFO of TC " + std::to_string(tc));
}

Status apply_leaf(Netlink& netlink, int ifindex, unsigned tc, std::uint32_t limit_bytes,
                  const QdiscInfo* present) {
  if (present && present->kind == "tbf" && present->limit_bytes == limit_bytes) return {};
  const int flags = present ? 0 : NLM_F_CREATE | NLM_F_EXCL;
  return netlink.request(gate(ifindex, tc, open_gate_spec(limit_bytes), flags),
                         "cannot set the queue of TC " + std::to_string(tc));
}

}  // namespace

Result<std::vector<QdiscInfo>> list_qdiscs(Netlink& netlink) {
  std::vector<QdiscInfo> found;
  Message request(RTM_GETQDISC, 0);
  request.header(tc_header(0, 0, 0));
  auto done = netlink.dump(request, "cannot list qdiscs", [&](nlmsghdr* header) {
    if (auto info = read_qdisc(header)) found.push_back(std::move(*info));
  });
  if (!done) return std::unexpected(done.error());
  return found;
}

const QdiscInfo* find_root(const std::vector<QdiscInfo>& qdiscs, int ifindex) {
  const auto at = std::ranges::find_if(
      qdiscs, [&](const QdiscInfo& q) { return q.ifindex == ifindex && q.parent == TC_H_ROOT; });
  return at == qdiscs.end() ? nullptr : &*at;
}

const QdiscInfo* find_leaf(const std::vector<QdiscInfo>& qdiscs, int ifindex, unsigned tc) {
  const auto at = std::ranges::find_if(
      qdiscs, [&](const QdiscInfo& q) { return q.ifindex == ifindex && q.handle == LL_LEAF_HANDLE(tc); });
  return at == qdiscs.end() ? nullptr : &*at;
}

bool is_ours(const QdiscInfo& root) { return root.handle == kRoot && root.kind == "htb"; }

bool has_tree(const std::vector<QdiscInfo>& qdiscs, int ifindex) {
  const QdiscInfo* root = find_root(qdiscs, ifindex);
  if (!root || !is_ours(*root)) return false;
  for (unsigned tc = 0; tc < kTcs; ++tc)
    if (!find_leaf(qdiscs, ifindex, tc)) return false;
  return true;
}

// The kernel gives the qdiscs it chooses itself no handle.
bool is_foreign(const QdiscInfo& root) { return root.handle != 0 && !is_ours(root); }

bool same_class(port::TreeClass a, const port::TreeClass& b) {
  a.limit_bytes = b.limit_bytes;
  return a == b;
}

Status apply_tree(Netlink& netlink, int ifindex, const QueueTree& tree,
                  const std::optional<QueueTree>& applied) {
  const auto qdiscs = list_qdiscs(netlink);
  if (!qdiscs) return std::unexpected(qdiscs.error());
  const QdiscInfo* root = find_root(*qdiscs, ifindex);
  if (root && is_foreign(*root))
    return fail("there is already a qdisc " + root->kind + " that somebody else set (see `tc qdisc show`)");
  const bool fresh = !root || !is_ours(*root);
  if (fresh)
    if (auto ok = netlink.request(htb_root(ifindex), "cannot set the root qdisc htb"); !ok) return ok;

  const bool same_rate = !fresh && applied && applied->rate == tree.rate && applied->burst == tree.burst;
  if (!same_rate)
    if (auto ok = netlink.request(htb_class(ifindex, rate_class(tree)), "cannot set the port rate"); !ok)
      return ok;
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    // What is in the leaves is brought up to date below.
    const bool same = same_rate && same_class(applied->classes[tc], tree.classes[tc]);
    if (!same)
      if (auto ok = netlink.request(htb_class(ifindex, tc_class(tree, tc)),
                                    "cannot set the class of TC " + std::to_string(tc));
          !ok)
        return ok;
    const QdiscInfo* leaf = fresh ? nullptr : find_leaf(*qdiscs, ifindex, tc);
    const std::uint32_t limit = tree.classes[tc].limit_bytes;
    if (auto ok = apply_leaf(netlink, ifindex, tc, limit, leaf); !ok) return ok;
    if (auto ok = apply_pacer(netlink, ifindex, tc, limit, tree.paced, *qdiscs); !ok) return ok;
  }
  return {};
}

Status open_gate(Netlink& netlink, int ifindex, unsigned tc, std::uint32_t limit_bytes) {
  return netlink.request(gate(ifindex, tc, open_gate_spec(limit_bytes), 0),
                         "cannot open the gate of TC " + std::to_string(tc));
}

// The gate's FIFO gets a new one in its place; the kernel drops what the old one holds.
Status empty_leaf(Netlink& netlink, int ifindex, unsigned tc, std::uint32_t limit_bytes) {
  return netlink.request(fifo(ifindex, tc, limit_bytes),
                         "cannot empty the queue of TC " + std::to_string(tc));
}

Status remove_tree(Netlink& netlink, int ifindex) {
  const auto qdiscs = list_qdiscs(netlink);
  if (!qdiscs) return std::unexpected(qdiscs.error());
  const QdiscInfo* root = find_root(*qdiscs, ifindex);
  if (!root || !is_ours(*root)) return {};
  Message message(RTM_DELQDISC, 0);
  message.header(tc_header(ifindex, TC_H_ROOT, kRoot));
  return netlink.request(message, "cannot remove the queue tree");
}

bool kernel_has_qdisc(const std::string& kind) {
  constexpr int kLoopback = 1;
  bool available = false;
  std::thread([&] {
    if (unshare(CLONE_NEWNET)) return;
    auto netlink = Netlink::open();
    if (!netlink) return;
    Message message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL);
    message.header(tc_header(kLoopback, TC_H_ROOT, 0)).text(TCA_KIND, kind);
    // ENOENT: no such kind. Anything else (missing options, done) comes from the qdisc itself.
    available = netlink->request_errno(message) != ENOENT;
  }).join();
  return available;
}

}  // namespace lossless::net
