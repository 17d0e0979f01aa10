// SPDX-License-Identifier: Apache-2.0
#include "daemon/bfd/api_io.h"

#include <bfd.grpc.pb.h>

#include "daemon/api/on_loop.h"

namespace lossless::bfd {
namespace {

void fill_session(const Session& session, Nanos now, v1::BfdPeer& out) {
  out.set_state(std::string(to_string(session.state())));
  out.set_diagnostic(std::string(to_string(session.diag())));
  out.set_state_ms(ms_between(session.changed_at(), now));
  out.set_discriminator(session.discriminator());
  out.set_transmit_us(session.tx_interval_us());
  out.set_detection_us(session.detection_time_us());
  out.set_multiplier(session.settings().detect_mult);
  out.set_polling(session.polling());
  out.set_authentication(std::string(to_string(session.settings().key.type)));
  if (session.last_rx() != 0) out.set_heard_ms_ago(ms_between(session.last_rx(), now));
  if (session.remote_discriminator() == 0) return;
  auto* remote = out.mutable_remote();
  const Packet& said = session.remote();
  remote->set_discriminator(said.my_discriminator);
  remote->set_state(std::string(to_string(said.state)));
  remote->set_diagnostic(std::string(to_string(said.diag)));
  remote->set_multiplier(said.detect_mult);
  remote->set_desired_min_tx_us(said.desired_min_tx_us);
  remote->set_required_min_rx_us(said.required_min_rx_us);
  remote->set_required_min_echo_rx_us(said.required_min_echo_rx_us);
  remote->set_demand(said.demand);
}

void fill_counters(const Table::Entry& entry, v1::BfdPeerCounters& out) {
  const Counters& counters = entry.session.counters();
  out.set_in(counters.in);
  out.set_out(counters.out);
  out.set_out_failed(entry.send_failures);
  out.set_bad_authentication(counters.auth);
  out.set_bad_sequence(counters.replayed);
  out.set_went_up(counters.went_up);
  out.set_went_down(counters.went_down);
}

void fill_strays(const Strays& strays, v1::BfdStrays& out) {
  out.set_far(strays.ttl);
  out.set_unknown(strays.unknown);
  for (std::size_t i = 0; i < kFaults; ++i)
    (*out.mutable_malformed())[std::string(to_string(static_cast<Fault>(i)))] = strays.faults[i];
}

class BfdApi final : public v1::Bfd::CallbackService {
 public:
  BfdApi(asio::io_context& loop, const BfdService& service) : loop_(loop), service_(service) {}

  grpc::ServerUnaryReactor* ListBfdPeers(grpc::CallbackServerContext* call,
                                         const v1::ListBfdPeersRequest* request,
                                         v1::ListBfdPeersReply* reply) override {
    return api::answer_on_loop(call, loop_, [this, request, reply] { return list(*request, *reply); });
  }

 private:
  grpc::Status list(const v1::ListBfdPeersRequest& request, v1::ListBfdPeersReply& reply) const {
    const auto address = parse_ip(request.address());
    if (!request.address().empty() && !address)
      return {grpc::StatusCode::INVALID_ARGUMENT,
              "'" + request.address() + "' is no address; allowed: an IPv4 or IPv6 address"};
    const BfdThread::Snapshot snapshot = service_.snapshot();
    reply.set_real_time(service_.real_time());
    reply.set_error(service_.error());
    fill_strays(snapshot.strays, *reply.mutable_strays());
    for (const BfdThread::View& view : snapshot.sessions)
      if (!address || view.entry.peer.key.peer == *address) fill(view, snapshot.now, *reply.add_peers());
    if (address && reply.peers().empty())
      return {grpc::StatusCode::NOT_FOUND, "no BFD peer " + request.address()};
    return grpc::Status::OK;
  }

  void fill(const BfdThread::View& view, Nanos now, v1::BfdPeer& out) const {
    const PeerKey& key = view.entry.peer.key;
    out.set_address(to_string(key.peer));
    if (key.local) out.set_local(to_string(*key.local));
    out.set_interface(key.interface);
    out.set_multihop(key.multihop);
    for (const std::string& owner : service_.clients().owners(key)) out.add_owners(owner);
    fill_session(view.entry.session, now, out);
    fill_counters(view.entry, *out.mutable_counters());
    out.set_send_error(view.error);
    const BfdService::Down* down = service_.last_down(key);
    if (!down) return;
    out.set_last_down(down->by_neighbour_admin ? "taken down by the neighbour's administrator"
                                               : std::string(to_string(down->diag)));
    out.set_last_down_ms_ago(ms_between(down->at, now));
  }

  asio::io_context& loop_;
  const BfdService& service_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, const BfdService& service) {
  return std::make_shared<BfdApi>(loop, service);
}

}  // namespace lossless::bfd
