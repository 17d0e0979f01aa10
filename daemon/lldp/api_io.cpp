// SPDX-License-Identifier: Apache-2.0
#include "daemon/lldp/api_io.h"

#include <lldp.grpc.pb.h>

#include <chrono>

#include "daemon/api/on_loop.h"
#include "daemon/core/address.h"
#include "daemon/core/config_source.h"

namespace lossless::lldp {
namespace {

using std::chrono::steady_clock;

std::uint64_t ms(steady_clock::duration time) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::milliseconds>(time).count()));
}

void fill_names(std::uint16_t bits, google::protobuf::RepeatedPtrField<std::string>& out) {
  for (std::uint16_t bit = 1; bit != 0; bit = static_cast<std::uint16_t>(bit << 1U))
    if ((bits & bit) != 0)
      if (auto name = capabilities_text(bit); !name.empty()) *out.Add() = std::move(name);
}

// Texts come from strangers and must be UTF-8 on this side.
void fill_packet(const Packet& packet, v1::LldpPacket& out) {
  out.set_chassis_id(chassis_text(packet.chassis));
  out.set_chassis_id_type(chassis_subtype_text(packet.chassis.subtype));
  out.set_port_id(port_text(packet.port));
  out.set_port_id_type(port_subtype_text(packet.port.subtype));
  out.set_ttl_s(packet.ttl_s);
  out.set_port_description(printable(packet.port_description.value_or("")));
  out.set_system_name(printable(packet.system_name.value_or("")));
  out.set_system_description(printable(packet.system_description.value_or("")));
  if (packet.capabilities) {
    fill_names(packet.capabilities->supported, *out.mutable_capabilities()->mutable_supported());
    fill_names(packet.capabilities->enabled, *out.mutable_capabilities()->mutable_enabled());
  }
  for (const ManagementAddress& address : packet.management) {
    auto* entry = out.add_management();
    entry->set_address(management_text(address));
    entry->set_interface_number(address.interface_number);
  }
  for (const OrgTlv& tlv : packet.org) {
    auto* entry = out.add_org();
    entry->set_oui(tlv.oui);
    entry->set_subtype(tlv.subtype);
    entry->set_value(tlv.value.data(), tlv.value.size());
  }
}

void fill_neighbor(const Agent::PortState& port, const Neighbour& from, steady_clock::time_point now,
                   v1::LldpNeighbor& out) {
  out.set_port(port.ref.name);
  fill_packet(from.packet, *out.mutable_packet());
  out.set_source(mac_text(from.source));
  out.set_age_ms(ms(now - from.first_seen));
  out.set_changed_ms_ago(ms(now - from.last_changed));
  out.set_seen_ms_ago(ms(now - from.last_seen));
  out.set_expires_ms(ms(from.expires - now));
  out.set_frames(from.frames);
}

void fill_statistics(const Agent::PortState& port, v1::LldpStatistics& out) {
  const Statistics& s = port.statistics;
  out.set_port(port.ref.name);
  out.set_neighbors(static_cast<std::uint32_t>(port.neighbours.size()));
  out.set_full(port.full);
  out.set_frames_out(s.frames_out);
  out.set_frames_out_failed(s.frames_out_failed);
  out.set_frames_in(s.frames_in);
  out.set_frames_discarded(s.frames_discarded);
  out.set_frames_in_errors(s.frames_in_errors);
  out.set_tlvs_discarded(s.tlvs_discarded);
  out.set_tlvs_unrecognized(s.tlvs_unrecognised);
  out.set_ageouts(s.ageouts);
  out.set_inserts(s.inserts);
  out.set_deletes(s.deletes);
  out.set_drops(s.drops);
  out.set_changes(s.changes);
}

class LldpApi final : public v1::Lldp::CallbackService {
 public:
  LldpApi(asio::io_context& loop, LldpService& service, const port::PortService& ports)
      : loop_(loop), service_(service), ports_(ports) {}

  grpc::ServerUnaryReactor* ListLldpNeighbors(grpc::CallbackServerContext* call,
                                              const v1::ListLldpNeighborsRequest* request,
                                              v1::ListLldpNeighborsReply* reply) override {
    return answer_for_ports(call, request, [this, reply](const Agent::PortState& port) {
      const auto now = steady_clock::now();
      for (const auto& [key, neighbour] : port.neighbours)
        fill_neighbor(port, neighbour, now, *reply->add_neighbors());
    });
  }

  grpc::ServerUnaryReactor* ListLldpLocal(grpc::CallbackServerContext* call,
                                          const v1::ListLldpLocalRequest* request,
                                          v1::ListLldpLocalReply* reply) override {
    const auto each = [this, reply](const Agent::PortState& port) {
      auto* entry = reply->add_ports();
      entry->set_port(port.ref.name);
      entry->set_mode(std::string(to_string(port.mode)));
      entry->set_up(port.up);
      fill_packet(service_.agent().local_packet(port), *entry->mutable_packet());
    };
    return api::answer_on_loop(call, loop_, [this, request, reply, each] {
      const LldpConfig& config = service_.config();
      reply->set_enabled(config.enabled);
      reply->set_interval_s(config.interval_s);
      reply->set_hold(config.hold);
      reply->set_fast_start(config.fast_start);
      reply->set_max_neighbors(config.max_neighbors);
      return for_ports(request->port(), each);
    });
  }

  grpc::ServerUnaryReactor* ListLldpStatistics(grpc::CallbackServerContext* call,
                                               const v1::ListLldpStatisticsRequest* request,
                                               v1::ListLldpStatisticsReply* reply) override {
    return answer_for_ports(call, request, [this, reply](const Agent::PortState& port) {
      auto* entry = reply->add_ports();
      fill_statistics(port, *entry);
      entry->set_frames_lost(service_.frames_lost(port.ref.ifindex));
    });
  }

 private:
  template <class Request, class Each>
  grpc::ServerUnaryReactor* answer_for_ports(grpc::CallbackServerContext* call, const Request* request,
                                             Each each) {
    return api::answer_on_loop(call, loop_,
                               [this, request, each] { return for_ports(request->port(), each); });
  }

  // In the configuration's order.
  template <class Each>
  grpc::Status for_ports(const std::string& name, const Each& each) const {
    if (!name.empty() && !ports_.find(name)) return {grpc::StatusCode::NOT_FOUND, ports_.no_port(name)};
    for (const port::Port& port : ports_.ports()) {
      if (!name.empty() && port.config.name != name) continue;
      const auto state = service_.agent().ports().find(port.link.ifindex);
      if (state != service_.agent().ports().end()) each(state->second);
    }
    return grpc::Status::OK;
  }

  asio::io_context& loop_;
  LldpService& service_;
  const port::PortService& ports_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, LldpService& service,
                                        const port::PortService& ports) {
  return std::make_shared<LldpApi>(loop, service, ports);
}

}  // namespace lossless::lldp
