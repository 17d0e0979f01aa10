// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/switch_api_io.h"

#include <inof.grpc.pb.h>

#include <algorithm>
#include <map>

#include "daemon/api/on_loop.h"
#include "daemon/core/config_keys.h"
#include "daemon/core/config_source.h"

namespace lossless::inof {
namespace {

using grpc::Status;
using grpc::StatusCode;

std::uint64_t ms_since(Micros then) {
  return static_cast<std::uint64_t>(std::max<Micros::rep>(0, (SwitchService::now() - then).count() / 1000));
}

std::string router_text(std::uint32_t id) {
  const std::array<std::uint8_t, 4> bytes{static_cast<std::uint8_t>(id >> 24U),
                                          static_cast<std::uint8_t>(id >> 16U),
                                          static_cast<std::uint8_t>(id >> 8U), static_cast<std::uint8_t>(id)};
  return lossless::to_string(IpAddress::v4_of(bytes));
}

void fill_host(const Switch& model, const Host& host, v1::InofHostEntry& out) {
  out.set_address(to_string(host.tlv.address));
  for (const Membership& m : host.zones) out.add_zones(std::string(model.zones().name(m.zone)));
  if (host.tlv.service) {
    out.set_role(to_string(host.tlv.service->role));
    out.set_protocol(to_string(host.tlv.service->protocol));
    out.set_id(printable(host.tlv.service->id));
  }
  out.set_subscribed(host.subscribed());
  out.set_port(host.key.local() ? model.port_name(host.key.port) : "");
  out.set_state(std::string(to_string(host.state)));
  out.set_reason(to_string(host.reason));
  out.set_detail(host.why);
  out.set_learned_from(host.key.local() ? "lldp" : router_text(host.key.origin));
  out.set_dialect(std::string(facts(host.tlv.dialect).name));
  out.set_chassis(lldp::chassis_text(host.key.chassis));
  out.set_port_id(lldp::port_text(host.key.port_id));
  out.set_heard_ms_ago(ms_since(host.heard));
  out.set_changed_ms_ago(ms_since(host.changed));
}

// Known hosts by address, then by port.
std::vector<const Host*> sorted_hosts(const Switch& model) {
  std::vector<const Host*> out;
  for (HostId id = 0; id < model.hosts().end(); ++id)
    if (model.hosts().at(id).used) out.push_back(&model.hosts().at(id));
  std::ranges::sort(out, [](const Host* a, const Host* b) {
    return std::tie(a->tlv.address, a->key) < std::tie(b->tlv.address, b->key);
  });
  return out;
}

Status list_hosts(const Switch& model, const v1::ListInofHostsRequest& request,
                  v1::ListInofHostsReply& reply) {
  std::optional<IpAddress> wanted;
  if (!request.address().empty()) {
    wanted = parse_ip(request.address());
    if (!wanted)
      return {StatusCode::INVALID_ARGUMENT,
              "'" + request.address() + "' is no address; allowed: IPv4 or IPv6"};
    if (model.hosts().with_address(*wanted).empty())
      return {StatusCode::NOT_FOUND, "no host " + request.address() + " is known; see `show inof host`"};
  }
  for (const Host* host : sorted_hosts(model)) {
    if (request.where() == v1::ListInofHostsRequest::LOCAL && !host->key.local()) continue;
    if (request.where() == v1::ListInofHostsRequest::REMOTE && host->key.local()) continue;
    if (!wanted || host->tlv.address == *wanted) fill_host(model, *host, *reply.add_hosts());
  }
  return Status::OK;
}

// Members that no host has, and hosts that are alone in their zone.
void find_inconsistent(const Switch& model, ZoneId id, v1::InofZone& out) {
  for (const AddressRange& member : model.zones().members(id)) {
    bool known = false;
    model.hosts().in_range(member, [&](HostId) { known = true; });
    if (!known) out.add_inconsistent("no host has been heard of " + to_string(member));
  }
  if (model.hosts().members(id).size() == 1) out.add_inconsistent(out.hosts(0) + " is the only host");
  const auto& disagreements = model.remote_config().disagreements;
  if (const auto at = disagreements.find(out.name()); at != disagreements.end())
    for (const std::string& text : at->second) out.add_inconsistent(text);
}

void fill_zone(const Switch& model, ZoneId id, v1::InofZone& out) {
  out.set_name(std::string(model.zones().name(id)));
  for (const AddressRange& member : model.zones().members(id)) out.add_members(to_string(member));
  std::set<IpAddress> addresses;
  std::uint32_t online = 0;
  for (const HostId host : model.hosts().members(id)) {
    addresses.insert(model.hosts().at(host).tlv.address);
    online += model.hosts().at(host).online();
  }
  for (const IpAddress& address : addresses) out.add_hosts(to_string(address));
  out.set_online(online);
  find_inconsistent(model, id, out);
}

Status list_zones(const Switch& model, const v1::ListInofZonesRequest& request,
                  v1::ListInofZonesReply& reply) {
  std::vector<ZoneId> ids{kDefaultZone};
  if (!request.name().empty()) {
    const auto id = model.zones().find(request.name());
    if (!id) return {StatusCode::NOT_FOUND, id.error()};
    ids = {*id};
  } else {
    for (const auto& [name, id] : model.zones().by_name()) ids.push_back(id);
  }
  for (const ZoneId id : ids) {
    v1::InofZone zone;
    fill_zone(model, id, zone);
    if (!request.inconsistent() || zone.inconsistent_size() > 0) *reply.add_zones() = std::move(zone);
  }
  return Status::OK;
}

Status get_status(const SwitchService& service, v1::GetInofStatusReply& reply) {
  const Switch& model = service.model();
  const InofConfig& config = model.config();
  reply.set_on(config.on);
  const auto rows = keys<InofConfig>();
  const auto dialects = std::ranges::find(rows, "dialects", &Key<InofConfig>::name);
  reply.set_dialects(std::string(dialects->rule.choices[static_cast<std::size_t>(config.dialects)]));
  reply.set_age_s(config.age_s);
  reply.set_default_zone(config.default_zone);
  reply.set_hard_zoning(config.hard_zoning);
  reply.set_block_initiators(config.block_initiators);
  reply.set_whitelist(config.whitelist.on);
  reply.set_keep_changes(config.keep_changes);
  if (config.keep_changes) reply.set_state_file(service.kept_in());
  reply.set_zones(static_cast<std::uint32_t>(model.zones().by_name().size()));
  std::size_t memberships = 0;
  for (const auto& [name, id] : model.zones().by_name()) memberships += model.zones().members(id).size();
  reply.set_memberships(static_cast<std::uint32_t>(memberships));
  std::set<std::string> full;
  for (const Host* host : sorted_hosts(model)) {
    const bool local = host->key.local();
    if (local) reply.set_local_hosts(reply.local_hosts() + 1);
    if (!local) reply.set_remote_hosts(reply.remote_hosts() + 1);
    if (host->online()) reply.set_online(reply.online() + 1);
    if (host->online() && host->subscribed()) reply.set_subscribed(reply.subscribed() + 1);
    if (local && model.port_full(host->key.port)) full.insert(model.port_name(host->key.port));
  }
  for (const std::string& port : full) reply.add_full_ports(port);
  reply.set_under_way(static_cast<std::uint32_t>(model.notifier().under_way()));
  return Status::OK;
}

void fill_notifications(const NotifyStats& stats, v1::InofNotifications& out) {
  out.set_sent(stats.sent);
  out.set_retransmitted(stats.retransmitted);
  out.set_acked(stats.acked);
  out.set_expired(stats.expired);
  out.set_resyncs(stats.resyncs);
}

void fill_counters(const SwitchService& service, v1::GetInofStatisticsReply& reply) {
  const SwitchCounters& c = service.model().counters();
  reply.set_frames_sent(service.model().notifier().frames());
  reply.set_frames_failed(service.counters().frames_failed);
  reply.set_announcements(c.announcements);
  reply.set_bad_tlvs(service.counters().bad_tlvs);
  reply.set_refused_dialect(c.refused_dialect);
  reply.set_refused_down(c.refused_down);
  reply.set_refused_full(c.refused_full);
  reply.set_joined(c.joined);
  reply.set_left(c.left);
  reply.set_queries(c.queries);
  reply.set_queries_unknown(c.queries_unknown);
  const auto& bad = service.model().notifier().bad_acks();
  reply.set_acks_not_asked(bad[static_cast<std::size_t>(BadAck::NotAsked)]);
  reply.set_acks_wrong_port(bad[static_cast<std::size_t>(BadAck::WrongPort)]);
  reply.set_acks_wrong_sequence(bad[static_cast<std::size_t>(BadAck::WrongSequence)]);
  reply.set_acks_duplicate(bad[static_cast<std::size_t>(BadAck::Duplicate)]);
  reply.set_stray_notifications(c.stray_notifications);
  reply.set_bad_frames(service.counters().bad_frames);
}

Status get_statistics(const SwitchService& service, const port::PortService& ports,
                      v1::GetInofStatisticsReply& reply) {
  const Switch& model = service.model();
  fill_notifications(model.notifier().total(), *reply.mutable_total());
  for (HostId id = 0; id < model.hosts().end(); ++id) {
    const Host& host = model.hosts().at(id);
    if (!host.used || !host.key.local()) continue;
    auto* out = reply.add_hosts();
    out->set_address(to_string(host.tlv.address));
    fill_notifications(model.notifier().stats(id), *out);
  }
  fill_counters(service, reply);
  for (const port::Port& port : ports.ports()) {
    const ll_zone_stats stats = ports.maps().zone_stats.sum(port.slot);
    auto* out = reply.add_drops();
    out->set_port(port.config.name);
    out->set_isolated(stats.drop[LL_ZONE_DROP_ISOLATED]);
    out->set_stranger(stats.drop[LL_ZONE_DROP_STRANGER]);
    out->set_initiators(stats.drop[LL_ZONE_DROP_INITIATORS]);
    out->set_denied(stats.drop[LL_ZONE_DROP_DENIED]);
  }
  return Status::OK;
}

Status get_whitelist(const Switch& model, v1::GetInofWhitelistReply& reply) {
  const InofWhitelistConfig& list = model.config().whitelist;
  reply.set_on(list.on);
  for (const std::string& port : list.exceptions) reply.add_exceptions(port);
  for (const InofAllowConfig& entry : list.allow) {
    auto* out = reply.add_allow();
    out->set_port(entry.port);
    for (const AddressRange& range : entry.hosts) out->add_hosts(to_string(range));
  }
  for (const Host* host : sorted_hosts(model))
    if (host->state == HostState::Denied) fill_host(model, *host, *reply.add_denied());
  return Status::OK;
}

Status result_of(const std::expected<bool, std::string>& kept, v1::ChangeInofReply& reply) {
  if (!kept) return {StatusCode::INVALID_ARGUMENT, kept.error()};
  reply.set_kept(*kept);
  return Status::OK;
}

Status change_member(SwitchService& service, const v1::InofMember& member, bool add,
                     v1::ChangeInofReply& reply) {
  if (const auto zone = service.model().zones().find(member.zone()); !zone)
    return {StatusCode::NOT_FOUND, zone.error()};
  const auto range = parse_range(member.member());
  if (!range)
    return {StatusCode::INVALID_ARGUMENT,
            "'" + member.member() + "' " + range.error() + "; allowed: " + std::string(kRangeForm)};
  return result_of(service.change([&](Switch& model, Micros now) {
    return add ? model.add_member(member.zone(), *range, now)
               : model.remove_member(member.zone(), *range, now);
  }),
                   reply);
}

Status change(SwitchService& service, const v1::ChangeInofRequest& request, v1::ChangeInofReply& reply) {
  using Request = v1::ChangeInofRequest;
  switch (request.change_case()) {
    case Request::kAddZone:
      return result_of(
          service.change([&](Switch& model, Micros now) { return model.add_zone(request.add_zone(), now); }),
          reply);
    case Request::kRemoveZone:
      if (const auto zone = service.model().zones().find(request.remove_zone()); !zone)
        return {StatusCode::NOT_FOUND, zone.error()};
      return result_of(service.change([&](Switch& model, Micros now) {
        return model.remove_zone(request.remove_zone(), now);
      }),
                       reply);
    case Request::kAddMember:
      return change_member(service, request.add_member(), true, reply);
    case Request::kRemoveMember:
      return change_member(service, request.remove_member(), false, reply);
    case Request::kDefaultZone:
      return result_of(service.change([&](Switch& model, Micros now) {
        model.set_default_zone(request.default_zone(), now);
        return Switch::Done();
      }),
                       reply);
    case Request::kHardZoning:
      return result_of(service.change([&](Switch& model, Micros) {
        model.set_hard_zoning(request.hard_zoning());
        return Switch::Done();
      }),
                       reply);
    case Request::CHANGE_NOT_SET:
      break;
  }
  return {StatusCode::INVALID_ARGUMENT, "the request names no change"};
}

class SwitchApi final : public v1::Inof::CallbackService {
 public:
  SwitchApi(asio::io_context& loop, SwitchService& service, const port::PortService& ports)
      : loop_(loop), service_(service), ports_(ports) {}

  grpc::ServerUnaryReactor* ListInofHosts(grpc::CallbackServerContext* call,
                                          const v1::ListInofHostsRequest* request,
                                          v1::ListInofHostsReply* reply) override {
    return answer(call, [=, this] { return list_hosts(service_.model(), *request, *reply); });
  }
  grpc::ServerUnaryReactor* ListInofZones(grpc::CallbackServerContext* call,
                                          const v1::ListInofZonesRequest* request,
                                          v1::ListInofZonesReply* reply) override {
    return answer(call, [=, this] { return list_zones(service_.model(), *request, *reply); });
  }
  // What says whether iNOF is on is answered always.
  grpc::ServerUnaryReactor* GetInofStatus(grpc::CallbackServerContext* call, const v1::GetInofStatusRequest*,
                                          v1::GetInofStatusReply* reply) override {
    return api::answer_on_loop(call, loop_, [=, this] { return get_status(service_, *reply); });
  }
  grpc::ServerUnaryReactor* GetInofStatistics(grpc::CallbackServerContext* call,
                                              const v1::GetInofStatisticsRequest*,
                                              v1::GetInofStatisticsReply* reply) override {
    return answer(call, [=, this] { return get_statistics(service_, ports_, *reply); });
  }
  grpc::ServerUnaryReactor* GetInofWhitelist(grpc::CallbackServerContext* call,
                                             const v1::GetInofWhitelistRequest*,
                                             v1::GetInofWhitelistReply* reply) override {
    return answer(call, [=, this] { return get_whitelist(service_.model(), *reply); });
  }
  grpc::ServerUnaryReactor* ChangeInof(grpc::CallbackServerContext* call,
                                       const v1::ChangeInofRequest* request,
                                       v1::ChangeInofReply* reply) override {
    return answer(call, [=, this] { return change(service_, *request, *reply); });
  }

 private:
  template <class Answer>
  grpc::ServerUnaryReactor* answer(grpc::CallbackServerContext* call, Answer make) {
    return api::answer_on_loop(call, loop_, [this, make = std::move(make)] {
      if (service_.model().config().on) return make();
      return Status(StatusCode::FAILED_PRECONDITION,
                    "iNOF is off; allowed in the configuration: [inof] with on = true");
    });
  }

  asio::io_context& loop_;
  SwitchService& service_;
  const port::PortService& ports_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_switch_api(asio::io_context& loop, SwitchService& service,
                                               const port::PortService& ports) {
  return std::make_shared<SwitchApi>(loop, service, ports);
}

}  // namespace lossless::inof
