// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/host_api_io.h"

#include <inof_host.grpc.pb.h>

#include <chrono>
#include <ranges>

#include "daemon/api/on_loop.h"
#include "daemon/core/config_source.h"

namespace lossless::inof {
namespace {

using std::chrono::steady_clock;

std::uint64_t ms(steady_clock::duration time) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::milliseconds>(time).count()));
}

void fill_settings(const HostService& service, v1::GetInofHostReply& out) {
  const InofHostConfig& config = service.agent().config();
  out.set_enabled(service.enabled());
  out.set_dialect(std::string(facts(config.dialect).name));
  out.set_role(lossless::inof::to_string(static_cast<Role>(static_cast<unsigned>(config.role) + 1)));
  out.set_protocol(
      lossless::inof::to_string(static_cast<Protocol>(static_cast<unsigned>(config.protocol) + 1)));
  out.set_hook(std::string(to_string(config.hook)));
}

void fill_address(const HostAgent::Announced& from, Dialect dialect, v1::InofHostAddress& out) {
  out.set_port(from.address.port.name);
  out.set_interface(from.address.interface);
  out.set_address(to_string(from.address.address));
  out.set_port_id(lldp::port_text(host_port_id(dialect, from.address.interface, from.address.index)));
  out.set_up(from.address.up);
  out.set_announced(from.announced);
  out.set_queries(from.queries);
}

void fill_member(const MemberKey& key, const Member& from, steady_clock::time_point now,
                 v1::InofHostMember& out) {
  out.set_address(to_string(key.subject));
  out.set_notified(to_string(key.notified));
  out.set_port(from.port);
  out.set_state(to_string(from.state));
  out.set_reason(to_string(from.reason));
  if (const auto service = decode_service(from.attached)) {
    out.set_role(to_string(service->role));
    out.set_protocol(to_string(service->protocol));
    out.set_service_port(service->port == 0 ? kNvmePort : service->port);
    out.set_id(printable(service->id));
  }
  out.set_changed_ms_ago(ms(now - from.changed));
  out.set_hook(std::string(to_string(from.hook)));
  out.set_hook_attempts(from.attempts);
  out.set_hook_result(from.hook_result);
}

void fill_event(const HostEvent& from, steady_clock::time_point now, v1::InofHostEvent& out) {
  out.set_ms_ago(ms(now - from.at));
  out.set_address(to_string(from.notify.subject));
  out.set_notified(to_string(from.notify.notified));
  out.set_port(from.port);
  out.set_sequence(from.notify.sequence);
  out.set_state(to_string(from.notify.state));
  out.set_reason(to_string(from.notify.reason));
}

void fill_statistics(const HostStatistics& from, v1::InofHostStatistics& out) {
  out.set_notifications(from.notifications);
  out.set_duplicates(from.duplicates);
  out.set_acks(from.acks);
  out.set_not_for_us(from.not_for_us);
  out.set_malformed(from.malformed);
  out.set_other_dialect(from.other_dialect);
  out.set_members_dropped(from.members_dropped);
  out.set_send_failures(from.send_failures);
  out.set_hooks_started(from.hooks_started);
  out.set_hooks_failed(from.hooks_failed);
  out.set_hooks_killed(from.hooks_killed);
  out.set_hooks_given_up(from.hooks_given_up);
}

grpc::Status get(const HostService& service, v1::GetInofHostReply& reply) {
  const auto now = steady_clock::now();
  const HostAgent& agent = service.agent();
  fill_settings(service, reply);
  for (const auto& entry : agent.addresses())
    fill_address(entry, agent.config().dialect, *reply.add_addresses());
  for (const auto& [key, member] : agent.members()) fill_member(key, member, now, *reply.add_members());
  for (const HostEvent& event : agent.events() | std::views::reverse)
    fill_event(event, now, *reply.add_events());
  fill_statistics(agent.statistics(), *reply.mutable_statistics());
  return grpc::Status::OK;
}

class InofHostApi final : public v1::InofHost::CallbackService {
 public:
  InofHostApi(asio::io_context& loop, const HostService& service) : loop_(loop), service_(service) {}

  grpc::ServerUnaryReactor* GetInofHost(grpc::CallbackServerContext* call, const v1::GetInofHostRequest*,
                                        v1::GetInofHostReply* reply) override {
    return api::answer_on_loop(call, loop_, [this, reply] { return get(service_, *reply); });
  }

 private:
  asio::io_context& loop_;
  const HostService& service_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_host_api(asio::io_context& loop, const HostService& service) {
  return std::make_shared<InofHostApi>(loop, service);
}

}  // namespace lossless::inof
