// SPDX-License-Identifier: Apache-2.0
#include "daemon/api/requests.h"

#include <unistd.h>

#include "daemon/api/capabilities_io.h"
#include "daemon/api/views.h"
#include "loader/probe_io.h"

namespace lossless::api {
namespace {

using grpc::Status;
using grpc::StatusCode;

template <class List>
void add_changes(const std::vector<ConfigChange>& changes, List* list) {
  for (const ConfigChange& change : changes) {
    auto* out = list->Add();
    out->set_path(change.path);
    out->set_running(change.from);
    out->set_file(change.to);
  }
}

Status not_possible(const std::string& why) { return {StatusCode::FAILED_PRECONDITION, why}; }

// The thresholds that a request asks for; what it leaves out stays. Nothing: off.
Result<std::optional<EcnConfig>> with_changes(std::optional<EcnConfig> ecn,
                                              const v1::SetEcnRequest& request) {
  if (request.has_enabled() && !request.enabled()) return std::nullopt;
  if (!ecn && !(request.has_kmin_bytes() && request.has_kmax_bytes() && request.has_pmax()))
    return fail("ECN is off: switching it on takes kmin, kmax and pmax");
  if (request.kmin_bytes() > UINT32_MAX || request.kmax_bytes() > UINT32_MAX)
    return fail("kmin and kmax must be below 4GiB");
  EcnConfig changed = ecn.value_or(EcnConfig{});
  if (request.has_kmin_bytes()) changed.kmin_bytes = static_cast<std::uint32_t>(request.kmin_bytes());
  if (request.has_kmax_bytes()) changed.kmax_bytes = static_cast<std::uint32_t>(request.kmax_bytes());
  if (request.has_pmax()) changed.pmax = request.pmax();
  if (request.has_ewma_shift()) changed.ewma_shift = request.ewma_shift();
  return changed;
}

}  // namespace

Status for_ports(const Context& context, const std::string& name,
                 const std::function<void(const port::Port&)>& each) {
  if (name.empty()) {
    for (const port::Port& port : context.ports.ports()) each(port);
    return Status::OK;
  }
  const port::Port* port = context.ports.find(name);
  if (!port) return {StatusCode::NOT_FOUND, context.ports.no_port(name)};
  each(*port);
  return Status::OK;
}

std::string join_errors(const ConfigErrors& errors) {
  std::string text;
  for (const ConfigError& error : errors) text += (text.empty() ? "" : "\n") + error.text();
  return text;
}

Status get_version(const Context& context, const v1::GetVersionRequest&, v1::GetVersionReply& reply) {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;
  reply.set_version(LL_VERSION);
  reply.set_abi(LL_ABI_VERSION);
  reply.set_instance(context.ports.running().instance);
  reply.set_kernel(kernel_release());
  reply.set_config_file(context.config_file);
  reply.set_uptime_ms(
      static_cast<std::uint64_t>(duration_cast<milliseconds>(steady_clock::now() - context.started).count()));
  reply.set_adopted(context.adopted);
  reply.set_pid(static_cast<std::uint32_t>(getpid()));
  return Status::OK;
}

Status list_ports(const Context& context, const v1::ListPortsRequest& request, v1::ListPortsReply& reply) {
  return for_ports(context, request.port(), [&](const port::Port& port) {
    const std::string driver = port.link.ifindex ? net::driver_of(port.link.name) : "";
    *reply.add_ports() = view_port(port, context.ports.maps().port_stats.sum(port.slot), driver);
  });
}

Status list_queues(const Context& context, const v1::ListQueuesRequest& request, v1::ListQueuesReply& reply) {
  const auto qdiscs = net::list_qdiscs(context.ports.netlink());
  if (!qdiscs) return {StatusCode::INTERNAL, qdiscs.error()};
  return for_ports(context, request.port(), [&](const port::Port& port) {
    for (unsigned tc = 0; tc < kTcs; ++tc)
      *reply.add_queues() =
          view_queue(port, tc, net::find_leaf(*qdiscs, port.link.ifindex, tc),
                     context.pfc.watchdog().get(LL_ROW(port.slot, tc), &ll_watchdog::emptied),
                     context.ports.maps().class_stats.sum(LL_ROW(port.slot, tc)));
  });
}

Status list_ecn(const Context& context, const v1::ListEcnRequest& request, v1::ListEcnReply& reply) {
  return for_ports(context, request.port(), [&](const port::Port& port) {
    for (unsigned tc = 0; tc < kTcs; ++tc)
      *reply.add_queues() = view_ecn(port, tc, context.ports.maps().ecn_stats.sum(LL_ROW(port.slot, tc)));
  });
}

Status list_priority_maps(const Context& context, const v1::ListPriorityMapsRequest& request,
                          v1::ListPriorityMapsReply& reply) {
  return for_ports(context, request.port(),
                   [&](const port::Port& port) { *reply.add_maps() = view_priority_map(port); });
}

Status get_capabilities(const Context& context, const v1::GetCapabilitiesRequest&,
                        v1::GetCapabilitiesReply& reply) {
  reply = find_capabilities(context.ports.ports());
  return Status::OK;
}

Status set_ecn(const Context& context, const v1::SetEcnRequest& request, v1::SetEcnReply& reply) {
  const port::Port* port = context.ports.find(request.port());
  if (!port) return {StatusCode::NOT_FOUND, context.ports.no_port(request.port())};
  if (request.tc() >= kTcs)
    return {StatusCode::INVALID_ARGUMENT, "tc " + std::to_string(request.tc()) + ": must be 0 to 7"};
  const QueueConfig& queue = port->config.queues[request.tc()];
  auto ecn = with_changes(queue.ecn, request);
  if (ecn && *ecn)
    if (const auto wrong = check_ecn(**ecn, queue.limit_bytes)) ecn = std::unexpected(*wrong);
  if (!ecn)
    return {StatusCode::INVALID_ARGUMENT,
            "TC " + std::to_string(request.tc()) + " of port " + request.port() + ": " + ecn.error()};
  if (auto done = context.ports.set_ecn(request.port(), request.tc(), *ecn); !done)
    return {StatusCode::INTERNAL, done.error()};
  *reply.mutable_ecn() =
      view_ecn(*port, request.tc(), context.ports.maps().ecn_stats.sum(LL_ROW(port->slot, request.tc())));
  return Status::OK;
}

Status diff_config(const Context& context, const v1::DiffConfigRequest&, v1::DiffConfigReply& reply) {
  const auto file = load_config(context.config_file);
  if (!file) return not_possible(join_errors(file.error()));
  add_changes(diff_config(context.ports.running(), *file), reply.mutable_changes());
  return Status::OK;
}

Status reload(const Context& context, const v1::ReloadRequest&, v1::ReloadReply& reply) {
  const auto changes = context.reload();
  if (!changes) return not_possible(changes.error());
  add_changes(*changes, reply.mutable_changes());
  return Status::OK;
}

Status detach(const Context& context, const v1::DetachRequest& request, v1::DetachReply& reply) {
  if (request.all() == (request.ports_size() > 0))
    return {StatusCode::INVALID_ARGUMENT, "name ports, or all of them, not both"};
  for (const std::string& name : request.ports())
    if (!context.ports.find(name)) return {StatusCode::NOT_FOUND, context.ports.no_port(name)};
  if (request.all()) {
    for (const port::Port& port : context.ports.ports())
      if (port.state == port::PortState::Attached) reply.add_detached(port.config.name);
    if (auto done = context.ports.detach_all(); !done) return {StatusCode::INTERNAL, done.error()};
    context.given_back();
    return Status::OK;
  }
  for (const std::string& name : request.ports()) {
    if (auto done = context.ports.detach(name); !done) return {StatusCode::INTERNAL, done.error()};
    reply.add_detached(name);
  }
  return Status::OK;
}

}  // namespace lossless::api
