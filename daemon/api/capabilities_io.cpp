// SPDX-License-Identifier: Apache-2.0
#include "daemon/api/capabilities_io.h"

#include <fstream>
#include <string>

#include "daemon/net/dcb_io.h"
#include "daemon/net/qdisc_io.h"
#include "daemon/net/tcp_ao_io.h"
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

std::string dcb_detail(const net::DcbState& state, net::DcbPart part) {
  switch (part) {
    case net::DcbPart::Pfc:
      return state.pfc ? "on " + std::to_string(state.pfc->cap) +
                             " priorities at once; the driver obeys received frames"
                       : "in software alone";
    case net::DcbPart::Ets:
      return state.ets ? std::to_string(state.ets->cap) + " TCs; beside the queue tree" : "in software alone";
    case net::DcbPart::Buffers:
      return state.buffers ? std::to_string(state.buffers->total_bytes) + " bytes" : "the driver shows none";
    case net::DcbPart::Cee:
      return state.cee ? "pre-standard DCB" : "the driver has IEEE alone";
    default:
      return net::has_part(state, part) ? "by the driver" : "not by the driver";
  }
}

// What of DCB the driver has. Everything that ports need works in software as well.
template <class List>
void add_dcb(List* list, const std::string& interface) {
  auto netlink = net::Netlink::open();
  if (!netlink) return;
  const auto state = net::read_dcb_state(*netlink, interface);
  if (!state || !*state)
    return add(list, "dcb", false,
               state ? "the driver has none; PFC and ETS work in software" : state.error());
  add(list, "dcb", true,
      (*state)->firmware_managed() ? "run by the NIC's firmware; it is left alone" : "by the driver");
  using enum net::DcbPart;
  for (const net::DcbPart part : {Pfc, Ets, Buffers, MaxRate, Trust, Cee})
    add(list, "dcb-" + std::string(net::to_string(part)), net::has_part(**state, part),
        dcb_detail(**state, part));
}

std::string ingress_hook(const port::Port& port) {
  if (port.xdp) return "native XDP for PFC, RoCEv2 flows and a host's CNPs; tcx for the rest";
  if (port.config.xdp == XdpMode::Off) return "tcx; xdp is off in the configuration";
  if (!port.xdp_refused.empty()) return "tcx; " + port.xdp_refused;
  return "tcx; native XDP loses bursts on veth and tap and is for NICs";
}

void add_port(v1::GetCapabilitiesReply& reply, const port::Port& port) {
  auto* out = reply.add_ports();
  out->set_port(port.config.name);
  auto* list = out->mutable_capabilities();
  const bool present = port.link.ifindex != 0;
  const std::string driver = present ? net::driver_of(port.link.name) : "";
  add(list, "attached", port.state == port::PortState::Attached, port.reason);
  add(list, "ingress-hook", present, ingress_hook(port));
  add(list, "ecn-point", present, "enqueue, on the leaf's depth");
  if (present) add_dcb(list, port.link.name);
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
  const bool ao = net::has_tcp_ao();
  add(reply.mutable_kernel(), "tcp-ao", ao,
      ao ? "signs BGP sessions with key chains" : "Linux 6.7 or later with CONFIG_TCP_AO; BGP has TCP-MD5");
  for (const port::Port& port : ports) add_port(reply, port);
  return reply;
}

}  // namespace lossless::api
