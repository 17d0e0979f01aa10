// SPDX-License-Identifier: Apache-2.0
// Brings the kernel to the configuration, port by port, and keeps it there: interfaces that come and go,
// reloads, threshold changes. Owned by the event loop's thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/hook/service.h"
#include "daemon/net/link_io.h"
#include "daemon/net/qdisc_io.h"
#include "daemon/pfc/port.h"
#include "daemon/port/queue_tree.h"
#include "loader/datapath_io.h"

namespace lossless::port {

enum class PortState { Attached, Absent, Refused, Detached };

// What a port is and what the kernel has of it.
struct Port {
  PortConfig config;
  std::uint32_t slot = 0;  // row in the datapath's arrays
  PortState state = PortState::Absent;
  std::string reason;       // why it is not attached
  net::Link link;           // ifindex 0 while absent
  bool xdp = false;         // native XDP is on beside tcx
  std::string xdp_refused;  // why it is not, though it was tried
  // What was last put into the kernel; only differences are sent.
  std::optional<QueueTree> tree;
  std::optional<ll_port> row;
  std::array<std::optional<ll_wred>, kTcs> wred;
  std::array<std::optional<ll_ipcc>, kTcs> ipcc;
};

class PortService {
 public:
  PortService(net::Netlink& netlink, Datapath& datapath, pfc::PortSink& pfc)
      : netlink_(netlink), datapath_(datapath), pfc_(pfc), hooks_(datapath.maps()) {}

  // Makes `config` the wanted state and brings the kernel to it. Ports that cannot be taken over are
  // Refused with a reason; the others are not held up by them.
  Status configure(const Config& config);
  // Looks at the interfaces and queue trees and repairs what differs. Call on netlink events.
  Status reconcile();
  // Ends an upgrade of the datapath. Call once, after the first configure().
  Status finish_start();

  // Thresholds of one TC, checked against the queue's limit: the error says what is allowed.
  Status set_ecn(const std::string& port, unsigned tc, const std::optional<EcnConfig>& ecn);
  // LL_GUARD_* of a port by its name: written into the rows now and whenever a port is taken over.
  Status set_guard(std::function<std::uint8_t(const std::string& port)> guard);
  // What a port is to be, given what the configuration says of it: DCBX may have agreed on something else.
  void set_overlay(std::function<PortConfig(const PortConfig& wanted)> overlay) {
    overlay_ = std::move(overlay);
  }
  // Why a port cannot be taken over, whatever its interface; it is Refused then.
  void set_condition(std::function<std::optional<std::string>(const PortConfig&)> condition) {
    condition_ = std::move(condition);
  }
  // The overlay of one port may have changed: brings the port to it. What does not fit is an error, and the
  // port is what the configuration says.
  Status apply_overlay(const std::string& port);
  // Gives one port back until the next configure().
  Status detach(const std::string& port);
  // Gives everything back, pins included. The service is of no use after it.
  Status detach_all();

  // An alarm for the log when hook flows appear. Call about once a second.
  std::optional<std::string> poll_hooks(hook::HookService::Clock::time_point now);
  const hook::HookService& hooks() const { return hooks_; }

  const std::vector<Port>& ports() const { return ports_; }
  const Port* find(const std::string& name) const;
  // "no port eth9; ports are eth0, eth1"
  std::string no_port(const std::string& name) const;
  // The wanted state, with thresholds as set at run time.
  const Config& running() const { return running_; }
  const Maps& maps() const { return datapath_.maps(); }
  // Whether the ports' queues send packets at the time in skb->tstamp: a host's reaction point.
  bool paces() const { return paces_; }
  std::uint64_t missed_runs() const { return datapath_.missed_runs(); }
  net::Netlink& netlink() { return netlink_; }

 private:
  void reconcile_port(Port& port, const std::vector<net::Link>& links,
                      const std::vector<net::QdiscInfo>& qdiscs);
  Status take_over(Port& port, const std::vector<net::QdiscInfo>& qdiscs);
  Status write_rows(Port& port);
  Status take_xdp(Port& port, bool anew);
  Result<pfc::PortInfo> plan_pfc(const Port& port) const;
  std::map<std::uint32_t, std::uint32_t> wanted_applications() const;
  Status add_applications();
  void drop_applications();
  Status take_overlay(Port& port);
  void forget_interface(Port& port);
  Status give_back(Port& port);
  Status drop_strangers(const std::vector<net::Link>& links);
  std::uint32_t choose_slot(unsigned ifindex);

  net::Netlink& netlink_;
  Datapath& datapath_;
  pfc::PortSink& pfc_;
  std::function<std::uint8_t(const std::string&)> guard_;
  std::function<PortConfig(const PortConfig&)> overlay_ = [](const PortConfig& wanted) { return wanted; };
  std::function<std::optional<std::string>(const PortConfig&)> condition_ =
      [](const PortConfig&) -> std::optional<std::string> { return std::nullopt; };
  hook::HookService hooks_;
  bool paces_ = false;
  Config running_;
  std::vector<Port> ports_;
};

}  // namespace lossless::port
