// SPDX-License-Identifier: Apache-2.0
#include "daemon/dcb/api_io.h"

#include <dcb.grpc.pb.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "bpf/stages/roce.h"
#include "daemon/api/on_loop.h"
#include "daemon/core/config_source.h"

namespace lossless::dcb {
namespace {

using net::DcbPart;
using std::chrono::steady_clock;

constexpr std::uint32_t kMaxFlows = 4096;
constexpr std::uint32_t kDefaultFlows = 64;
constexpr std::uint32_t kFirstDynamicPort = 49152;  // RFC 6335; RoCEv2's senders choose from these
constexpr std::uint32_t kUdp = 17;

std::string use_name(DcbUse use) {
  return use == DcbUse::Off ? "off" : use == DcbUse::Auto ? "auto" : "required";
}

template <class Values, class Out>
void fill_list(const Values& values, Out* out) {
  for (const auto value : values) out->Add(value);
}

void fill_bits(std::uint8_t bits, google::protobuf::RepeatedField<std::uint32_t>& out) {
  for (unsigned i = 0; i < net::kPriorities; ++i)
    if (bits >> i & 1U) out.Add(i);
}

void fill_apps(const net::DcbApps& apps, google::protobuf::RepeatedPtrField<v1::DcbApp>& out) {
  for (const net::DcbApp& app : apps) {
    auto* entry = out.Add();
    entry->set_selector(std::string(net::selector_name(app.selector)));
    entry->set_protocol(app.protocol);
    entry->set_priority(app.priority);
  }
}

void fill_ieee(const net::DcbState& state, v1::DcbSettings& out) {
  if (state.ets) {
    out.set_has_ets(true);
    out.set_willing(state.ets->willing);
    out.set_ets_cap(state.ets->cap);
    fill_list(state.ets->share, out.mutable_share());
    for (const std::uint8_t tsa : state.ets->tsa) out.add_tsa(std::string(net::tsa_name(tsa)));
    fill_list(state.ets->priority_tc, out.mutable_priority_tc());
  }
  if (state.pfc) {
    out.set_has_pfc(true);
    out.set_pfc_cap(state.pfc->cap);
    fill_bits(state.pfc->enabled, *out.mutable_pfc());
    out.set_pfc_delay(state.pfc->delay);
    fill_list(state.pfc->requests, out.mutable_pfc_sent());
    fill_list(state.pfc->indications, out.mutable_pfc_received());
  }
  if (state.max_kbps) fill_list(*state.max_kbps, out.mutable_max_kbps());
  if (state.buffers) {
    fill_list(state.buffers->priority_buffer, out.mutable_priority_buffer());
    fill_list(state.buffers->bytes, out.mutable_buffer_bytes());
    out.set_buffer_total_bytes(state.buffers->total_bytes);
  }
}

void fill_settings(const net::DcbState& state, v1::DcbSettings& out) {
  fill_ieee(state, out);
  if (state.apps) fill_apps(*state.apps, *out.mutable_apps());
  if (state.rewrite) fill_apps(*state.rewrite, *out.mutable_rewrite());
  if (state.trust)
    for (const std::uint8_t selector : *state.trust) out.add_trust(std::string(net::selector_name(selector)));
  if (state.mode) out.set_dcbx(net::mode_text(*state.mode));
  if (state.cee) {
    out.set_has_cee(true);
    out.set_cee_on(state.cee->on);
    fill_bits(state.cee->pfc, *out.mutable_cee_pfc());
    fill_list(state.cee->tx.tc_group, out.mutable_cee_group());
    fill_list(state.cee->tx.group_share, out.mutable_cee_group_share());
  }
}

const net::DcbFault* find(const std::vector<net::DcbFault>& faults, DcbPart part) {
  const auto at = std::ranges::find(faults, part, &net::DcbFault::part);
  return at == faults.end() ? nullptr : &*at;
}

// What works in software whatever the driver does; the driver's is beside it.
const char* why_both(DcbPart part) {
  switch (part) {
    case DcbPart::Pfc:
      return "the driver obeys received PFC frames; what waits in the kernel's queues stops peers in "
             "software";
    case DcbPart::Ets:
      return "the queue tree shares out as well, above the driver's queues";
    case DcbPart::Apps:
    case DcbPart::Trust:
      return "the datapath classifies for its queues, the driver for its own";
    default:
      return "";
  }
}

bool works_in_software(DcbPart part) { return *why_both(part) != 0; }

void fill_part(const DcbService::Port& port, DcbPart part, v1::DcbPart& out) {
  const bool software = works_in_software(part);
  out.set_name(std::string(net::to_string(part)));
  if (!port.now || !net::has_part(*port.now, part)) {
    out.set_where(software ? "software" : "-");
    out.set_why(port.now ? "the driver does not have it" : "the driver has no DCB");
    out.set_state("-");
    return;
  }
  out.set_actual(net::part_text(*port.now, part));
  const bool decided = net::has_part(port.wanted, part);
  if (decided) out.set_wanted(net::part_text(port.wanted, part));
  const net::DcbFault* left_out = find(port.left_out, part);
  const net::DcbFault* refused = find(port.refused, part);
  const net::DcbFault* ignored = find(port.ignored, part);
  const bool as_wanted = decided && !find(net::differences(*port.now, port.wanted), part);
  out.set_where(as_wanted ? (software ? "both" : "hardware") : software ? "software" : "-");
  const bool held_up = !port.refused.empty() && decided && !as_wanted;  // by another part's refusal
  out.set_state(refused || held_up ? "refused"
                : ignored          ? "ignored"
                : !decided         ? "-"
                : as_wanted        ? "ok"
                                   : "changed");
  out.set_why(refused       ? refused->text
              : held_up     ? "nothing is written, since another part is refused"
              : left_out    ? left_out->text
              : ignored     ? "the driver took it and " + ignored->text
              : !decided    ? "the configuration says nothing of it"
              : as_wanted   ? why_both(part)
              : port.let_be ? "another program insists"
                            : "not as configured");
}

std::string state_of(const DcbService::Port& port) {
  if (!port.now) return "software";
  if (port.now->firmware_managed()) return "firmware";
  return port.refused.empty() ? "hardware" : "refused";
}

std::string reason_of(const DcbService::Port& port) {
  if (!port.error.empty()) return port.error;
  if (!port.now) return "the driver has no DCB";
  if (port.now->firmware_managed()) return "the NIC's firmware runs DCBX; it is left alone";
  if (port.refused.empty()) return "";
  return std::string(net::to_string(port.refused.front().part)) + ": " + port.refused.front().text;
}

void fill_port(const DcbService::Port& port, v1::DcbPort& out) {
  out.set_state(state_of(port));
  out.set_reason(reason_of(port));
  for (const DcbPart part : net::kDcbParts) fill_part(port, part, *out.add_parts());
  if (port.now) fill_settings(*port.now, *out.mutable_settings());
  out.set_writes(port.writes);
  out.set_foreign_changes(port.foreign_changes);
  out.set_put_back(port.put_back);
  out.set_last_foreign(port.last_foreign);
  if (port.last_foreign_at)
    out.set_last_foreign_ms_ago(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - *port.last_foreign_at)
            .count()));
  out.set_let_be(port.let_be);
}

void fill_ets(const port::Port& port, const std::vector<net::QdiscInfo>& qdiscs, bool hardware,
              v1::ListEtsReply& reply) {
  const auto shares = shares_of(port.config);
  const port::QueueTree tree = port::plan_tree(port.config, port.link.mtu);
  std::array<std::uint64_t, 3> sent{};  // by group; 0: strict
  for (unsigned tc = 0; tc < kTcs; ++tc)
    if (const auto* leaf = net::find_leaf(qdiscs, port.link.ifindex, tc))
      sent[port.config.queues[tc].group] += leaf->sent_bytes;
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const QueueConfig& queue = port.config.queues[tc];
    auto* out = reply.add_classes();
    out->set_port(port.config.name);
    out->set_tc(tc);
    out->set_schedule(std::string(to_string(queue.schedule)));
    out->set_group(queue.group);
    out->set_weight(queue.weight);
    out->set_share(shares[tc]);
    out->set_served(tree.classes[tc].prio + 1U);
    out->set_where(hardware ? "both" : "software");
    const auto* leaf = net::find_leaf(qdiscs, port.link.ifindex, tc);
    if (!leaf) continue;
    out->set_sent_bytes(leaf->sent_bytes);
    out->set_backlog_bytes(leaf->backlog_bytes);
    if (sent[queue.group])
      out->set_sent_share(100.0 * static_cast<double>(leaf->sent_bytes) /
                          static_cast<double>(sent[queue.group]));
  }
}

void fill_entry(const Application& entry, v1::ApplicationEntry& out) {
  out.set_field(std::string(to_string(entry.field)));
  out.set_protocol(entry.protocol);
  out.set_priority(entry.priority);
}

bool has_ets(const DcbService::Port* port) {
  return port && port->now && port->wanted.ets &&
         !find(net::differences(*port->now, port->wanted), DcbPart::Ets);
}

class DcbApi final : public v1::Dcb::CallbackService {
 public:
  DcbApi(asio::io_context& loop, DcbService& service, const ecmp::HashPolicy& ecmp, port::PortService& ports)
      : loop_(loop), service_(service), ecmp_(ecmp), ports_(ports) {}

  grpc::ServerUnaryReactor* ListDcb(grpc::CallbackServerContext* call, const v1::ListDcbRequest* request,
                                    v1::ListDcbReply* reply) override {
    return api::answer_on_loop(call, loop_, [this, request, reply] {
      service_.refresh();
      return for_ports(request->port(), [&](const port::Port& from) {
        auto* out = reply->add_ports();
        out->set_port(from.config.name);
        out->set_use(use_name(from.config.dcb));
        if (from.link.ifindex) out->set_driver(net::driver_of(from.link.name));
        if (const DcbService::Port* port = service_.find(from.config.name)) return fill_port(*port, *out);
        out->set_state("off");
        out->set_reason(from.config.dcb == DcbUse::Off ? "dcb = \"off\"" : "the port is not attached");
      });
    });
  }

  grpc::ServerUnaryReactor* ListEts(grpc::CallbackServerContext* call, const v1::ListEtsRequest* request,
                                    v1::ListEtsReply* reply) override {
    return api::answer_on_loop(call, loop_, [this, request, reply]() -> grpc::Status {
      const auto qdiscs = net::list_qdiscs(ports_.netlink());
      if (!qdiscs) return {grpc::StatusCode::INTERNAL, qdiscs.error()};
      return for_ports(request->port(), [&](const port::Port& port) {
        fill_ets(port, *qdiscs, has_ets(service_.find(port.config.name)), *reply);
      });
    });
  }

  grpc::ServerUnaryReactor* ListApplications(grpc::CallbackServerContext* call,
                                             const v1::ListApplicationsRequest*,
                                             v1::ListApplicationsReply* reply) override {
    return api::answer_on_loop(call, loop_, [this, reply] {
      for (const Application& entry : ports_.running().applications) fill_entry(entry, *reply->add_entries());
      return for_ports("", [&](const port::Port& port) { fill_user(port, *reply->add_ports()); });
    });
  }

  grpc::ServerUnaryReactor* GetEcmp(grpc::CallbackServerContext* call, const v1::GetEcmpRequest* request,
                                    v1::GetEcmpReply* reply) override {
    return api::answer_on_loop(call, loop_, [this, request, reply]() -> grpc::Status {
      reply->set_wanted(std::string(to_string(ecmp_.config().hash)));
      const auto policy = ecmp::read_policy();
      if (policy) {
        reply->set_ipv4_policy(policy->ipv4);
        reply->set_ipv6_policy(policy->ipv6);
      }
      reply->set_in_force(ecmp_.in_force());
      reply->set_error(policy ? ecmp_.error() : policy.error());
      reply->set_repaired(ecmp_.repaired());
      return request->destination().empty() ? grpc::Status::OK : test_flows(*request, *reply);
    });
  }

 private:
  void fill_user(const port::Port& port, v1::ApplicationPort& out) const {
    const auto& agreed = port.config.applications;
    const auto& entries = agreed ? *agreed : ports_.running().applications;
    out.set_port(port.config.name);
    out.set_trust(std::string(to_string(port.config.trust)));
    out.set_used(port.config.trust == Trust::Application);
    out.set_agreed(agreed.has_value());
    for (const Application& entry : entries) {
      out.add_tc(port.config.maps.dot1p_tc[entry.priority]);
      if (agreed) fill_entry(entry, *out.add_own());
    }
    const DcbService::Port* dcb = service_.find(port.config.name);
    if (!dcb || !dcb->now) return;
    out.set_in_hardware(dcb->wanted.apps && dcb->now->apps == dcb->wanted.apps);
    if (!dcb->now->trust) return;
    for (const std::uint8_t selector : *dcb->now->trust)
      out.add_driver_trust(std::string(net::selector_name(selector)));
  }

  grpc::Status test_flows(const v1::GetEcmpRequest& request, v1::GetEcmpReply& reply) {
    const auto refuse = [](const std::string& text) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, text);
    };
    const std::uint32_t flows = request.flows() ? request.flows() : kDefaultFlows;
    const std::uint32_t first = request.first_source_port() ? request.first_source_port() : kFirstDynamicPort;
    const std::uint32_t to = request.destination_port() ? request.destination_port() : LL_ROCE_PORT;
    if (flows > kMaxFlows) return refuse(std::to_string(flows) + " flows; allowed: 1 to 4096");
    if (to > UINT16_MAX || first > UINT16_MAX || first + flows - 1 > UINT16_MAX ||
        request.protocol() > UINT8_MAX)
      return refuse("ports end at 65535, protocols at 255");
    ecmp::FlowQuery query{.destination = request.destination(), .source = request.source()};
    query.protocol = static_cast<std::uint8_t>(request.protocol() ? request.protocol() : kUdp);
    query.destination_port = static_cast<std::uint16_t>(to);
    std::vector<ecmp::NextHop> hops;
    for (std::uint32_t i = 0; i < flows; ++i) {
      query.source_port = static_cast<std::uint16_t>(first + i);
      const auto hop = ecmp::route_of(ports_.netlink(), query);
      if (!hop) return {grpc::StatusCode::NOT_FOUND, printable(hop.error())};
      auto at = std::ranges::find(hops, *hop);
      if (at == hops.end()) at = hops.insert(hops.end(), *hop);
      const auto index = static_cast<int>(at - hops.begin());
      if (index == reply.next_hops_size()) {
        reply.add_next_hops()->set_gateway(hop->gateway);
        reply.mutable_next_hops(index)->set_device(hop->device);
      }
      auto* counted = reply.mutable_next_hops(index);
      counted->set_flows(counted->flows() + 1);
      auto* flow = reply.add_flows();
      flow->set_source_port(query.source_port);
      flow->set_next_hop(static_cast<std::uint32_t>(index));
    }
    return grpc::Status::OK;
  }

  // In the configuration's order.
  template <class Each>
  grpc::Status for_ports(const std::string& name, const Each& each) const {
    if (!name.empty() && !ports_.find(name)) return {grpc::StatusCode::NOT_FOUND, ports_.no_port(name)};
    for (const port::Port& port : ports_.ports())
      if (name.empty() || port.config.name == name) each(port);
    return grpc::Status::OK;
  }

  asio::io_context& loop_;
  DcbService& service_;
  const ecmp::HashPolicy& ecmp_;
  port::PortService& ports_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, DcbService& service,
                                        const ecmp::HashPolicy& ecmp, port::PortService& ports) {
  return std::make_shared<DcbApi>(loop, service, ecmp, ports);
}

}  // namespace lossless::dcb
