// SPDX-License-Identifier: Apache-2.0
#include "daemon/roce/api_io.h"

#include <roce.grpc.pb.h>

#include <map>

#include "daemon/api/on_loop.h"
#include "daemon/core/address.h"
#include "daemon/core/clock.h"
#include "daemon/roce/ipcc_view.h"

namespace lossless::roce {
namespace {

constexpr std::uint32_t kDefaultTop = 20;
constexpr std::uint32_t kMaxTop = 10'000;
constexpr std::size_t kFlowsInReply = 512;

using PortNames = std::map<std::uint32_t, std::string>;  // by interface index

PortNames names_of(const port::PortService& ports) {
  PortNames names;
  for (const port::Port& port : ports.ports())
    if (port.link.ifindex) names[static_cast<std::uint32_t>(port.link.ifindex)] = port.config.name;
  return names;
}

std::string name_of(const PortNames& names, std::uint32_t ifindex) {
  if (ifindex == 0) return {};
  const auto at = names.find(ifindex);
  return at == names.end() ? "if" + std::to_string(ifindex) : at->second;
}

grpc::Status wrong(const std::string& text) { return {grpc::StatusCode::INVALID_ARGUMENT, text}; }

grpc::Status read_address(const std::string& text, const char* what, std::optional<IpAddress>& out) {
  if (text.empty()) return grpc::Status::OK;
  out = parse_ip(text);
  return out ? grpc::Status::OK : wrong(std::string(what) + " '" + text + "' is no IP address");
}

// On the loop's thread: names of ports are its state.
grpc::Status read_filter(const v1::FlowFilter& wanted, const port::PortService& ports, ll_roce_which& out) {
  FlowFilter filter;
  if (auto bad = read_address(wanted.source(), "source", filter.source); !bad.ok()) return bad;
  if (auto bad = read_address(wanted.destination(), "destination", filter.destination); !bad.ok()) return bad;
  if (wanted.has_qp()) filter.qp = wanted.qp();
  if (!wanted.port().empty()) {
    const port::Port* port = ports.find(wanted.port());
    if (!port) return {grpc::StatusCode::NOT_FOUND, ports.no_port(wanted.port())};
    filter.ifindex = static_cast<std::uint32_t>(port->link.ifindex);
  }
  out = filter.which();
  return grpc::Status::OK;
}

const char* how_text(std::uint8_t how) {
  switch (how) {
    case LL_PAIR_CM:
      return "cm";
    case LL_PAIR_ACK:
      return "ack";
    case LL_PAIR_READ:
      return "read";
    default:
      return "";
  }
}

void fill_flow(const Flow& f, const PortNames& names, std::uint64_t now, v1::RoceFlow& out) {
  out.set_source(to_string(source_of(f.key)));
  out.set_destination(to_string(destination_of(f.key)));
  out.set_qp(f.key.qp);
  out.set_ingress(name_of(names, f.in_ifindex));
  out.set_egress(name_of(names, f.out_ifindex));
  out.set_tc(f.tc);
  out.set_packets(f.packets);
  out.set_bytes(f.bytes);
  out.set_rate_bps(rate_of(f, now));
  out.set_last_psn(f.last_psn);
  out.set_gaps(f.gaps);
  out.set_retransmitted(f.retransmitted);
  out.set_ce(f.ce);
  out.set_marked(f.marked);
  out.set_cnps_sent(f.cnps);
  out.set_cnps_seen(f.cnps_seen);
  out.set_first_ms_ago(ms_between(f.first_ns, now));
  out.set_last_ms_ago(ms_between(f.last_ns, now));
  out.set_paired_by(how_text(f.how));
  out.set_peer_qp(f.peer_qpn);
  out.set_guess((f.how == LL_PAIR_ACK || f.how == LL_PAIR_READ) && f.checked == 0);
  out.set_udp_source_port(f.sport);
  out.set_dscp(f.tos >> 2U);
  out.set_opcode(f.opcode);
}

// What a request asks for, with all that the walk needs of the loop's state.
struct Query {
  ll_roce_which which{};
  std::optional<FlowOrder> order;
  std::uint32_t top = kDefaultTop;
  PortNames names;
  std::uint64_t max_flows = 0;
  bool on = false;
};

// Walks through the table and writes as it goes. Deletes itself at the end of the call.
class FlowStream final : public grpc::ServerWriteReactor<v1::ListFlowsReply> {
 public:
  FlowStream(asio::io_context& loop, const RoceService& service, const port::PortService& ports,
             const v1::ListFlowsRequest* request)
      : walk_(service.maps().roce_flows.fd()) {
    asio::post(loop, [this, &service, &ports, request] {
      const grpc::Status ready = prepare(service, ports, *request);
      // The walk goes on where it holds nobody up.
      if (ready.ok())
        StartSendInitialMetadata();
      else
        Finish(ready);
    });
  }

  void OnSendInitialMetadataDone(bool ok) override { ok ? go_on() : Finish(grpc::Status::CANCELLED); }
  void OnWriteDone(bool ok) override { ok ? go_on() : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  grpc::Status prepare(const RoceService& service, const port::PortService& ports,
                       const v1::ListFlowsRequest& request) {
    if (auto bad = read_filter(request.filter(), ports, query_.which); !bad.ok()) return bad;
    if (!request.sort().empty() || request.top()) {
      query_.order = parse_order(request.sort().empty() ? "bytes" : request.sort());
      if (!query_.order)
        return wrong("order '" + request.sort() + "'; orders are bytes, packets, ce, cnp, rate");
      if (request.top() > kMaxTop)
        return wrong("top " + std::to_string(request.top()) + "; allowed: 1 to " + std::to_string(kMaxTop));
      if (request.top()) query_.top = request.top();
    }
    query_.names = names_of(ports);
    query_.max_flows = service.config().max_flows;
    query_.on = service.config().flows;
    now_ = monotonic_now();
    return grpc::Status::OK;
  }

  void go_on() {
    if (over_) return Finish(grpc::Status::OK);
    reply_.Clear();
    const Status done = query_.order ? sorted() : next_piece();
    if (!done) return Finish({grpc::StatusCode::INTERNAL, done.error()});
    StartWrite(&reply_);
  }

  Status next_piece() {
    while (at_ == piece_.size() && !walk_.is_over()) {
      const auto next = walk_.next();
      if (!next) return std::unexpected(next.error());
      piece_ = *next;
      at_ = 0;
      seen_ += piece_.size();
    }
    while (at_ < piece_.size() && reply_.flows_size() < static_cast<int>(kFlowsInReply)) {
      const Flow& flow = piece_[at_++];
      if (!ll_roce_matches(&query_.which, &flow)) continue;
      ++matched_;
      fill_flow(flow, query_.names, now_, *reply_.add_flows());
    }
    if (at_ == piece_.size() && walk_.is_over()) finish();
    return {};
  }

  Status sorted() {
    TopFlows top(*query_.order, query_.top, now_);
    while (!walk_.is_over()) {
      const auto next = walk_.next();
      if (!next) return std::unexpected(next.error());
      seen_ += next->size();
      for (const Flow& flow : *next) {
        if (!ll_roce_matches(&query_.which, &flow)) continue;
        ++matched_;
        top.add(flow);
      }
    }
    for (const Flow& flow : top.take()) fill_flow(flow, query_.names, now_, *reply_.add_flows());
    finish();
    return {};
  }

  void finish() {
    auto* totals = reply_.mutable_totals();
    totals->set_seen(seen_);
    totals->set_matched(matched_);
    totals->set_max_flows(query_.max_flows);
    totals->set_on(query_.on);
    over_ = true;
  }

  FlowWalk walk_;
  Query query_;
  std::uint64_t now_ = 0;
  std::span<const Flow> piece_;
  std::size_t at_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t matched_ = 0;
  bool over_ = false;
  v1::ListFlowsReply reply_;
};

// Forgets flows away from the loop: a million of them take a second. Deletes itself at the end of the call.
class FlowClearing final : public grpc::ServerUnaryReactor {
 public:
  FlowClearing(asio::io_context& loop, const RoceService& service, const port::PortService& ports,
               const v1::ClearFlowsRequest* request, v1::ClearFlowsReply* reply)
      : maps_(service.maps()), reply_(reply) {
    asio::post(loop, [this, &ports, request] {
      const grpc::Status ready = read_filter(request->filter(), ports, which_);
      // What follows is called by one of gRPC's threads.
      if (ready.ok())
        StartSendInitialMetadata();
      else
        Finish(ready);
    });
  }

  void OnSendInitialMetadataDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    which_.born_before = monotonic_now();
    FlowForgetting clearing(maps_, which_);
    while (!clearing.is_over())
      if (const auto done = clearing.next(); !done) return Finish({grpc::StatusCode::INTERNAL, done.error()});
    reply_->set_cleared(clearing.forgotten());
    Finish(grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  const Maps& maps_;
  v1::ClearFlowsReply* reply_;
  ll_roce_which which_{};
};

void fill_statistics(const ll_roce_stats& s, v1::RoceStatistics& out) {
  out.set_packets(s.packets);
  out.set_new_flows(s.flows);
  out.set_no_room(s.no_room);
  out.set_evicted(s.evicted);
  out.set_cm_messages(s.cm);
  out.set_paired_cm(s.paired_cm);
  out.set_paired_ack(s.paired_ack);
  out.set_paired_read(s.paired_read);
  out.set_contradicted(s.contradicted);
  out.set_refused(s.refused);
  out.set_released(s.released);
  for (unsigned kind = LL_ROCE_OTHER + 1; kind < LL_ROCE_KINDS; ++kind)
    if (s.bad[kind]) (*out.mutable_bad())[ll_roce_kind_name(static_cast<ll_roce_kind>(kind))] = s.bad[kind];
}

class RoceApi final : public v1::Roce::CallbackService {
 public:
  RoceApi(asio::io_context& loop, const RoceService& service, const port::PortService& ports)
      : loop_(loop), service_(service), ports_(ports) {}

  grpc::ServerWriteReactor<v1::ListFlowsReply>* ListFlows(grpc::CallbackServerContext*,
                                                          const v1::ListFlowsRequest* request) override {
    return new FlowStream(loop_, service_, ports_, request);
  }

  grpc::ServerUnaryReactor* ClearFlows(grpc::CallbackServerContext*, const v1::ClearFlowsRequest* request,
                                       v1::ClearFlowsReply* reply) override {
    return new FlowClearing(loop_, service_, ports_, request, reply);
  }

  grpc::ServerUnaryReactor* GetRoceStatistics(grpc::CallbackServerContext* call,
                                              const v1::GetRoceStatisticsRequest*,
                                              v1::GetRoceStatisticsReply* reply) override {
    return api::answer_on_loop(call, loop_, [this, reply] {
      for (const port::Port& port : ports_.ports()) {
        auto* out = reply->add_ports();
        out->set_port(port.config.name);
        fill_statistics(service_.maps().roce_stats.sum(port.slot), *out);
      }
      return grpc::Status::OK;
    });
  }

  grpc::ServerUnaryReactor* ListIpcc(grpc::CallbackServerContext* call, const v1::ListIpccRequest* request,
                                     v1::ListIpccReply* reply) override {
    return api::answer_on_loop(call, loop_, [this, request, reply]() -> grpc::Status {
      const std::string& name = request->port();
      if (!name.empty() && !ports_.find(name)) return {grpc::StatusCode::NOT_FOUND, ports_.no_port(name)};
      for (const port::Port& port : ports_.ports())
        if (name.empty() || port.config.name == name) list_ipcc(port, service_.maps(), *reply);
      return grpc::Status::OK;
    });
  }

 private:
  asio::io_context& loop_;
  const RoceService& service_;
  const port::PortService& ports_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, const RoceService& service,
                                        const port::PortService& ports) {
  return std::make_shared<RoceApi>(loop, service, ports);
}

}  // namespace lossless::roce
