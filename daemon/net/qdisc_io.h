// SPDX-License-Identifier: Apache-2.0
// The queue tree of a port in the kernel: HTB, its classes, and a TBF leaf under each (see bpf/abi.h for
// the handles). Everything is done through netlink, and nothing is touched that is not ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/net/netlink_io.h"
#include "daemon/port/queue_tree.h"

namespace lossless::net {

struct QdiscInfo {
  int ifindex = 0;
  std::uint32_t handle = 0;
  std::uint32_t parent = 0;
  std::string kind;
  std::uint32_t limit_bytes = 0;  // of a TBF
  std::uint64_t sent_bytes = 0;
  std::uint64_t sent_packets = 0;
  std::uint32_t backlog_bytes = 0;
  std::uint32_t backlog_packets = 0;
  std::uint32_t dropped_packets = 0;
};

// Every qdisc of the namespace, default ones included.
Result<std::vector<QdiscInfo>> list_qdiscs(Netlink& netlink);

// Root qdisc of a port in such a list; nothing for a port without one (noqueue).
const QdiscInfo* find_root(const std::vector<QdiscInfo>& qdiscs, int ifindex);
const QdiscInfo* find_leaf(const std::vector<QdiscInfo>& qdiscs, int ifindex, unsigned tc);
// True for a root that losslessd made.
bool is_ours(const QdiscInfo& root);
// True when root and all leaves are there.
bool has_tree(const std::vector<QdiscInfo>& qdiscs, int ifindex);
// True for a root that somebody configured by hand, and that must not be touched.
bool is_foreign(const QdiscInfo& root);

// Builds the tree on a port, or brings an existing one of ours to `tree`. With `applied` (what this daemon
// set before) only the differences are sent. Queued packets stay.
Status apply_tree(Netlink& netlink, int ifindex, const port::QueueTree& tree,
                  const std::optional<port::QueueTree>& applied);
// Closes the gate of a TC: nothing leaves its queue any more, but for one frame at most. `frame_bytes` is the
// longest frame that may be queued. Don't close a closed gate: each change lets a frame out.
Status close_gate(Netlink& netlink, int ifindex, unsigned tc, std::uint32_t limit_bytes,
                  std::uint32_t frame_bytes);
// Opens it. What waits goes on with the next frame that is sent out of the port, whichever it is.
Status open_gate(Netlink& netlink, int ifindex, unsigned tc, std::uint32_t limit_bytes);
// Throws away what waits in the queue of a TC. The gate stays as it is, and so do the counters.
Status empty_leaf(Netlink& netlink, int ifindex, unsigned tc, std::uint32_t limit_bytes);
// True for an event about one of our leaves that is there: a gate that opened or closed.
bool is_gate_event(nlmsghdr* header);

// Removes our tree; a port without it is left alone.
Status remove_tree(Netlink& netlink, int ifindex);

// Whether the kernel has this qdisc (loads the module where it can). Tries it on the loopback device of
// a scratch network namespace.
bool kernel_has_qdisc(const std::string& kind);

}  // namespace lossless::net
