// SPDX-License-Identifier: Apache-2.0
#include "daemon/dcbx/api_io.h"

#include <dcbx.grpc.pb.h>

#include "daemon/api/on_loop.h"
#include "daemon/core/address.h"
#include "daemon/core/config_source.h"

namespace lossless::dcbx {
namespace {

std::string algorithm(std::uint8_t tsa) {
  switch (tsa) {
    case kStrict:
      return "strict";
    case kCbs:
      return "cbs";
    case kEtsTsa:
      return "ets";
    default:
      return tsa == kVendor ? "vendor" : "reserved";
  }
}

void fill_table(const Table& table, v1::DcbxEts& out) {
  for (const std::uint8_t tc : table.priority_tc) out.add_priority_tc(tc);
  for (const std::uint8_t share : table.share) out.add_share(share);
  for (const std::uint8_t tsa : table.tsa) out.add_algorithm(algorithm(tsa));
}

void fill_priorities(std::uint8_t bits, v1::DcbxPfc& out) {
  for (unsigned p = 0; p < 8; ++p)
    if ((bits >> p & 1U) != 0) out.add_priorities(p);
}

void fill_params(const Params& params, v1::DcbxSide& out) {
  fill_table(params.ets, *out.mutable_ets());
  fill_priorities(params.pfc, *out.mutable_pfc());
  out.mutable_pfc()->set_capability(8);
  for (const App& app : params.apps) out.mutable_apps()->add_entries(to_string(app));
  if (params.apps.empty()) out.mutable_apps();
}

void fill_local(const Machine& machine, v1::DcbxSide& out) {
  fill_params(machine.local(), out);
  out.mutable_ets()->set_willing(machine.config().ets_willing);
  out.mutable_pfc()->set_willing(machine.config().pfc_willing);
  out.mutable_apps()->set_willing(machine.config().app_willing);
}

void fill_operational(const Operational& operational, v1::DcbxSide& out) {
  fill_params(operational.params, out);
  out.mutable_ets()->set_by(std::string(to_string(operational.ets)));
  out.mutable_pfc()->set_by(std::string(to_string(operational.pfc)));
  out.mutable_apps()->set_by(std::string(to_string(operational.apps)));
}

void fill_peer(const Ieee& said, v1::DcbxSide& out) {
  if (said.ets || said.recommendation) {
    auto* ets = out.mutable_ets();
    fill_table(said.recommendation ? *said.recommendation : said.ets->table, *ets);
    ets->set_recommended(said.recommendation.has_value());
    ets->set_willing(said.ets && said.ets->willing);
  }
  if (said.pfc) {
    fill_priorities(said.pfc->enabled, *out.mutable_pfc());
    out.mutable_pfc()->set_willing(said.pfc->willing);
    out.mutable_pfc()->set_capability(said.pfc->cap);
  }
  if (said.apps)
    for (const App& app : *said.apps) out.mutable_apps()->add_entries(to_string(app));
}

void fill_peer(const Cee& said, v1::DcbxSide& out) {
  if (said.groups) {
    auto* ets = out.mutable_ets();
    ets->set_willing(said.groups->feature.willing);
    for (const std::uint8_t group : said.groups->group) ets->add_priority_tc(group);
    for (const std::uint8_t share : said.groups->share) ets->add_share(share);
  }
  if (said.pfc) {
    fill_priorities(said.pfc->enabled, *out.mutable_pfc());
    out.mutable_pfc()->set_willing(said.pfc->feature.willing);
    out.mutable_pfc()->set_capability(said.pfc->tcs);
  }
  if (!said.apps) return;
  out.mutable_apps()->set_willing(said.apps->feature.willing);
  for (const CeeApp& app : said.apps->entries) out.mutable_apps()->add_entries(to_string(app));
}

void fill(const std::string& name, const DcbxService::Port& port, v1::DcbxPort& out) {
  const Machine& machine = port.machine;
  out.set_port(name);
  out.set_version(std::string(to_string(machine.config().version)));
  out.set_dialect(std::string(to_string(machine.dialect())));
  out.set_peers(static_cast<std::uint32_t>(machine.peers()));
  out.set_refused(port.refused);
  out.set_changes(port.changes);
  fill_local(machine, *out.mutable_local());
  fill_operational(machine.operational(), *out.mutable_operational());
  for (const auto& [kind, what] : machine.alarms()) {
    auto* alarm = out.add_alarms();
    alarm->set_kind(std::string(to_string(kind)));
    alarm->set_what(printable(what));
  }
  const PeerView* peer = machine.peer();
  if (machine.dialect() == Dialect::Cee) {
    out.mutable_cee()->set_sequence(machine.sequence());
    out.mutable_cee()->set_acknowledged(machine.peer_acked());
    if (peer && peer->said.cee) out.mutable_cee()->set_peer_sequence(peer->said.cee->control.sequence);
  }
  if (!peer) return;
  out.mutable_peer()->set_source(mac_text(peer->mac));
  const bool cee = machine.dialect() == Dialect::Cee ? peer->said.cee.has_value() : !peer->said.ieee;
  if (cee && peer->said.cee) fill_peer(*peer->said.cee, *out.mutable_peer());
  if (!cee && peer->said.ieee) fill_peer(*peer->said.ieee, *out.mutable_peer());
}

class DcbxApi final : public v1::Dcbx::CallbackService {
 public:
  DcbxApi(asio::io_context& loop, const DcbxService& service, const port::PortService& ports)
      : loop_(loop), service_(service), ports_(ports) {}

  grpc::ServerUnaryReactor* ListDcbx(grpc::CallbackServerContext* call, const v1::ListDcbxRequest* request,
                                     v1::ListDcbxReply* reply) override {
    return api::answer_on_loop(call, loop_, [this, request, reply] { return list(*request, *reply); });
  }

 private:
  // In the configuration's order.
  grpc::Status list(const v1::ListDcbxRequest& request, v1::ListDcbxReply& reply) const {
    if (!request.port().empty() && !ports_.find(request.port()))
      return {grpc::StatusCode::NOT_FOUND, ports_.no_port(request.port())};
    for (const port::Port& port : ports_.ports()) {
      if (!request.port().empty() && port.config.name != request.port()) continue;
      const auto at = service_.ports().find(port.config.name);
      if (at != service_.ports().end()) fill(at->first, at->second, *reply.add_ports());
    }
    return grpc::Status::OK;
  }

  asio::io_context& loop_;
  const DcbxService& service_;
  const port::PortService& ports_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, const DcbxService& service,
                                        const port::PortService& ports) {
  return std::make_shared<DcbxApi>(loop, service, ports);
}

}  // namespace lossless::dcbx
