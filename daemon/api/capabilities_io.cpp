// SPDX-License-Identifier: Apache-2.0
#include "daemon/api/capabilities_io.h"

#include <fstream>
#include <string>

#include "daemon/net/qdisc_io.h"
#include "loader/probe_io.h"

namespace lossless::api {
namespace {

struct Qdisc {
  const char* kind;
  const char* detail;
};

constexpr Qdisc kQdiscs[] = {
    {"htb", "port rate and scheduling of the eight classes"},
    {"tbf", "gate of each class"},
    {"fq", "paces a host's RoCEv2 flows (reaction point); without it that is not available"},
};

template <class List>
void add(List* list, const std::string& name, bool available, const std::string& detail) {
  auto* capability = list->Add();
  capability->set_name(name);
  capability->set_available(available);
  capability->set_detail(detail);
}

// Bridged packets pass iptables when this is on, which it is in every new namespace with br_netfilter.
void add_bridge_filter(v1::GetCapabilitiesReply& reply) {
  std::ifstream file("/proc/sys/net/bridge/bridge-nf-call-iptables");
  int on = 0;
  if (!(file >> on)) on = 0;
  add(reply.mutable_kernel(), "bridge-bypasses-iptables", on == 0,
      on == 0 ? "net.bridge.bridge-nf-call-iptables is 0 or not there"
              : "net.bridge.bridge-nf-call-iptables is 1: some 0.5 us a bridged packet; set it to 0 unless "
                "needed");
}

void add_port(v1::GetCapabilitiesReply& reply, const port::Port& port) {
  auto* out = reply.add_ports();
  out->set_port(port.config.name);
  auto* list = out->mutable_capabilities();
  const bool present = port.link.ifindex != 0;
  const std::string driver = present ? net::driver_of(port.link.name) : "";
  add(list, "attached", port.state == port::PortState::Attached, port.reason);
  add(list, "ingress-hook", present, "tcx; native XDP loses bursts on veth and is for NICs");
  add(list, "ecn-point", present, "enqueue, on the leaf's depth");
  if (port.link.tx_queues > 1)
    add(list, "multi-queue", false,
        std::to_string(port.link.tx_queues) + " transmit queues of " +
            (driver.empty() ? "the device" : driver) + " share one queue tree");
  if (!port.link.master.empty()) add(list, "bridge-member", true, "of " + port.link.master);
}

}  // namespace

v1::GetCapabilitiesReply find_capabilities(const std::vector<port::Port>& ports) {
  v1::GetCapabilitiesReply reply;
  add(reply.mutable_kernel(), "kernel", true, kernel_release());
  for (const KernelFeature& feature : probe_kernel())
    add(reply.mutable_kernel(), feature.name, feature.available, feature.detail);
  for (const Qdisc& qdisc : kQdiscs)
    add(reply.mutable_kernel(), qdisc.kind, net::kernel_has_qdisc(qdisc.kind), qdisc.detail);
  add_bridge_filter(reply);
  for (const port::Port& port : ports) add_port(reply, port);
  return reply;
}

}  // namespace lossless::api
