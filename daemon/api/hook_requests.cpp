// SPDX-License-Identifier: Apache-2.0
// The call about hook flows.
#include <arpa/inet.h>

#include <array>

#include "daemon/api/requests.h"
#include "daemon/core/clock.h"

namespace lossless::api {
namespace {

std::string address_text(const __u8* bytes, unsigned ip) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(ip == 4 ? AF_INET : AF_INET6, bytes, text.data(), text.size()) ? text.data() : "";
}

std::string port_text(const Context& context, std::uint32_t ifindex) {
  for (const port::Port& port : context.ports.ports())
    if (port.link.ifindex == static_cast<int>(ifindex)) return port.config.name;
  return "if" + std::to_string(ifindex);
}

v1::HookFlow view_flow(const Context& context, const hook::Flow& flow) {
  v1::HookFlow out;
  out.set_source(address_text(flow.key.src, flow.key.ip));
  out.set_destination(address_text(flow.key.dst, flow.key.ip));
  out.set_ingress(port_text(context, flow.key.in_ifindex));
  out.set_egress(port_text(context, flow.key.out_ifindex));
  out.set_dscp(flow.key.dscp);
  out.set_new_dscp(flow.seen.dscp);
  out.set_tc(flow.seen.tc);
  out.set_moved(flow.seen.moved != 0);
  out.set_packets(flow.seen.packets);
  out.set_bytes(flow.seen.bytes);
  out.set_first_ms_ago(ms_between(flow.seen.first_ns, monotonic_now()));
  out.set_last_ms_ago(ms_between(flow.seen.last_ns, monotonic_now()));
  return out;
}

}  // namespace

grpc::Status list_hook_flows(const Context& context, const v1::ListHookFlowsRequest&,
                             v1::ListHookFlowsReply& reply) {
  for (const PortGroup& group : context.ports.running().port_groups) {
    auto* out = reply.add_groups();
    out->set_name(group.name);
    for (const std::string& port : group.ports) out->add_ports(port);
  }
  for (const hook::Flow& flow : context.ports.hooks().flows()) *reply.add_flows() = view_flow(context, flow);
  ll_hook_stats sum{};
  for (const port::Port& port : context.ports.ports()) {
    const ll_hook_stats stats = context.ports.maps().hook_stats.sum(port.slot);
    sum.moved += stats.moved;
    sum.other += stats.other;
    sum.failed += stats.failed;
  }
  reply.set_moved(sum.moved);
  reply.set_other(sum.other);
  reply.set_failed(sum.failed);
  return grpc::Status::OK;
}

}  // namespace lossless::api
