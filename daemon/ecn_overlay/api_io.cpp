// SPDX-License-Identifier: Apache-2.0
#include "daemon/ecn_overlay/api_io.h"

#include <ecn_overlay.grpc.pb.h>

#include <array>

#include "daemon/api/on_loop.h"
#include "daemon/ecn_overlay/tables.h"

namespace lossless::ecn_overlay {
namespace {

constexpr std::array kFields{"not-ect", "ect1", "ect0", "ce"};  // by ECN field

void fill_fields(const __u64 (&counts)[4], v1::EcnFields& out) {
  out.set_not_ect(counts[LL_ECN_NOT_ECT]);
  out.set_ect1(counts[LL_ECN_ECT1]);
  out.set_ect0(counts[LL_ECN_ECT0]);
  out.set_ce(counts[LL_ECN_CE]);
}

void fill_port(const Config& config, const port::Port& port, const ll_overlay_stats& stats,
               v1::EcnOverlayPort& out) {
  out.set_port(port.config.name);
  out.set_on(is_on(config, port.config));
  fill_fields(stats.entered, *out.mutable_entered());
  out.set_corrected(stats.corrected);
  out.set_carried(stats.carried);
  for (unsigned inner = 0; inner < kFields.size(); ++inner) {
    auto* left = out.add_left();
    left->set_inner(kFields[inner]);
    fill_fields(stats.left[inner], *left->mutable_outer());
  }
  out.set_restored(stats.restored);
  out.set_dropped(stats.dropped);
  out.set_not_ip(stats.not_ip);
  out.set_bad(stats.bad);
  out.set_failed(stats.failed);
}

class EcnOverlayApi final : public v1::EcnOverlay::CallbackService {
 public:
  EcnOverlayApi(asio::io_context& loop, EcnOverlayService& service, const port::PortService& ports)
      : loop_(loop), service_(service), ports_(ports) {}

  grpc::ServerUnaryReactor* ListEcnOverlay(grpc::CallbackServerContext* call,
                                           const v1::ListEcnOverlayRequest* request,
                                           v1::ListEcnOverlayReply* reply) override {
    return api::answer_on_loop(call, loop_, [this, request, reply] { return list(*request, *reply); });
  }

 private:
  grpc::Status list(const v1::ListEcnOverlayRequest& request, v1::ListEcnOverlayReply& reply) const {
    const std::string& name = request.port();
    if (!name.empty() && !ports_.find(name)) return {grpc::StatusCode::NOT_FOUND, ports_.no_port(name)};
    const Config& config = ports_.running();
    reply.set_enabled(config.ecn_overlay.enabled);
    reply.set_udp_port(config.ecn_overlay.port);
    reply.set_carry_dscp(std::string(to_string(config.ecn_overlay.carry_dscp)));
    for (const IpAddress& end : service_.ends()) reply.add_ends(to_string(end));
    for (const port::Port& port : ports_.ports())
      if (name.empty() || port.config.name == name)
        fill_port(config, port, service_.stats(port), *reply.add_ports());
    return grpc::Status::OK;
  }

  asio::io_context& loop_;
  EcnOverlayService& service_;
  const port::PortService& ports_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, EcnOverlayService& service,
                                        const port::PortService& ports) {
  return std::make_shared<EcnOverlayApi>(loop, service, ports);
}

}  // namespace lossless::ecn_overlay
