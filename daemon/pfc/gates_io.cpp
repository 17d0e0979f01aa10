// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/gates_io.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "bpf/stages/pfc.h"
#include "daemon/core/clock.h"
#include "daemon/net/qdisc_io.h"
#include "loader/pins_io.h"
#include "loader/run_dir_io.h"

namespace lossless::pfc {
namespace {

// The maps of an instance that this process did not load.
struct PinnedMaps {
  Fd index, rows, pause;
  bool open(const Pins& pins) {
    index = Fd(bpf_obj_get((pins.maps + "/port_index").c_str()));
    rows = Fd(bpf_obj_get((pins.maps + "/ports").c_str()));
    pause = Fd(bpf_obj_get((pins.maps + "/pause").c_str()));
    return index && rows && pause;
  }
};

void wait_until(std::uint64_t ns) {
  const timespec when = timespec_of(ns);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
  }
}

// Nobody else writes the gate's side of a row while we hold the instance.
void end_pause(const SharedArray<ll_pause>& pause, const ClosedGate& gate) {
  if (gate.since_ns == 0) return;
  const std::uint64_t now = monotonic_now();
  pause.at(gate.row, &ll_pause::paused_ns)
      .fetch_add(now - std::min(now, gate.since_ns), std::memory_order_relaxed);
  pause.at(gate.row, &ll_pause::since_ns).store(0, std::memory_order_relaxed);
}

}  // namespace

Result<std::vector<ClosedGate>> list_closed_gates(net::Netlink& netlink, const PortTable& ports,
                                                  const SharedArray<ll_pause>& pause) {
  const auto qdiscs = net::list_qdiscs(netlink);
  if (!qdiscs) return std::unexpected(qdiscs.error());
  std::vector<ClosedGate> found;
  for (const std::uint32_t ifindex : ports.interfaces()) {
    const auto port = ports.get(ifindex);
    for (unsigned tc = 0; port && tc < kTcs; ++tc) {
      const net::QdiscInfo* leaf = net::find_leaf(*qdiscs, static_cast<int>(ifindex), tc);
      if (!leaf || !leaf->closed) continue;
      const std::uint32_t row = LL_ROW(port->slot, tc);
      found.push_back({.ifindex = static_cast<int>(ifindex),
                       .tc = tc,
                       .row = row,
                       .limit_bytes = leaf->limit_bytes,
                       .since_ns = pause.get(row, &ll_pause::since_ns),
                       .until_ns = pause.get(row, &ll_pause::until_ns)});
    }
  }
  return found;
}

int send_pfc_frame(int raw, int ifindex, const Mac& source, std::uint8_t classes, std::uint16_t quanta) {
  std::uint8_t frame[LL_PFC_FRAME_LEN];
  ll_pfc_build(frame, source.data(), classes, quanta);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(LL_ETH_MAC_CONTROL);
  to.sll_ifindex = ifindex;
  const ssize_t sent =
      sendto(raw, frame, sizeof frame, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&to), sizeof to);
  return sent < 0 ? errno : 0;
}

Status open_closed_gate(net::Netlink& netlink, const ClosedGate& gate) {
  if (auto opened = net::open_gate(netlink, gate.ifindex, gate.tc, gate.limit_bytes); !opened) return opened;
  // A frame that names nobody, from no address in particular: it is for the kernel, not for the peer.
  const Fd raw(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  const int error = send_pfc_frame(raw.get(), gate.ifindex, Mac{}, 0, 0);
  // ENETDOWN: a port that is down sends nothing anyway.
  if (error != 0 && error != ENETDOWN)
    return fail_errno("cannot send out of interface " + std::to_string(gate.ifindex), error);
  return {};
}

Result<unsigned> open_abandoned_gates(const std::string& instance) {
  auto netlink = net::Netlink::open();
  if (!netlink) return std::unexpected(netlink.error());
  unsigned opened = 0;
  for (std::uint64_t next = 0;;) {
    wait_until(next);
    // Held only while gates are opened: a daemon that starts in a pause shall not be kept out by us.
    const auto lock = InstanceLock::take_abandoned(instance);
    PinnedMaps maps;
    if (!lock || !maps.open(Pins(instance))) return opened;
    const auto pause = SharedArray<ll_pause>::map(maps.pause.get(), LL_ROWS);
    if (!pause) return std::unexpected(pause.error());
    const auto closed = list_closed_gates(*netlink, PortTable(maps.index.get(), maps.rows.get()), *pause);
    if (!closed) return std::unexpected(closed.error());
    next = UINT64_MAX;
    for (const ClosedGate& gate : *closed) {
      if (gate.since_ns != 0 && gate.until_ns > monotonic_now()) {
        next = std::min(next, gate.until_ns);
        continue;
      }
      if (auto ok = open_closed_gate(*netlink, gate); !ok) return std::unexpected(ok.error());
      end_pause(*pause, gate);
      ++opened;
    }
    if (next == UINT64_MAX) return opened;
  }
}

}  // namespace lossless::pfc
