// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/api_io.h"

#include <algorithm>
#include <set>

#include "bgp.grpc.pb.h"
#include "daemon/api/on_loop.h"
#include "daemon/core/config_source.h"
#include "daemon/core/utc.h"

namespace lossless::bgp {
namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr std::uint32_t kDefaultLimit = 10'000;

Status bad(const std::string& text) { return {StatusCode::INVALID_ARGUMENT, text}; }

std::expected<PeerAddress, Status> address_of(const std::string& text) {
  if (auto address = parse_peer(text)) return *std::move(address);
  return std::unexpected(bad("'" + printable(text) +
                             "' is no address; allowed: IPv4 or IPv6, a link-local one with its interface: "
                             "fe80::1%swp1"));
}

std::expected<const Neighbor*, Status> find(const Speaker& speaker, const std::string& text) {
  const auto address = address_of(text);
  if (!address) return std::unexpected(address.error());
  if (const Neighbor* neighbor = speaker.find(*address)) return neighbor;
  std::string known;
  for (const Neighbor* n : speaker.neighbors())
    known += (known.empty() ? "" : ", ") + to_string(n->settings().peer());
  return std::unexpected(Status(
      StatusCode::NOT_FOUND, "no neighbour " + text + "; neighbours: " + (known.empty() ? "none" : known)));
}

void fill_messages(const std::array<std::uint64_t, 6>& from, v1::BgpMessages& out) {
  const auto count = [&](MessageType type) { return from[static_cast<std::size_t>(type)]; };
  out.set_opens(count(MessageType::Open));
  out.set_updates(count(MessageType::Update));
  out.set_notifications(count(MessageType::Notification));
  out.set_keepalives(count(MessageType::Keepalive));
  out.set_refreshes(count(MessageType::RouteRefresh));
}

void fill_open(const Open& open, v1::BgpNeighbor& out) {
  out.set_router_id(id_text(open.router_id));
  out.set_unknown_capabilities(open.unknown_capabilities);
  const auto add = [&](bool has, std::string_view name) {
    if (has) out.add_capabilities(std::string(name));
  };
  for (const FamilyFacts& f : kFamilyTable) add(open.families.has(f.family), f.name);
  add(open.four_octet_as, "four-octet-as");
  add(open.route_refresh, "route-refresh");
  add(open.enhanced_refresh, "enhanced-route-refresh");
  add(open.extended_message, "extended-message");
  if (open.graceful_restart)
    out.add_capabilities("graceful-restart " + std::to_string(open.graceful_restart->time_s) + "s" +
                         (open.graceful_restart->restarting ? " (restarting)" : ""));
}

void fill_ao(const Authentication& from, v1::BgpAuthentication& out) {
  out.set_key_chain(from.chain);
  for (const KeyUse& use : from.keys) {
    auto* key = out.add_keys();
    key->set_send_id(use.key.send_id);
    key->set_receive_id(use.key.receive_id);
    key->set_algorithm(std::string(lossless::to_string(use.key.algorithm)));
    key->set_sends(use.sends);
  }
  if (from.next_change) out.set_next_change(utc_text(*from.next_change));
  out.set_bad_segments(from.bad_tries);
  out.set_listener_unknown_key_segments(from.tries_no_key);
  out.set_listener_unsigned_segments(from.tries_unsigned);
  if (!from.connection) return;
  out.set_connected(true);
  out.set_current_id(from.connection->current_id);
  out.set_wanted_id(from.connection->wanted_id);
  out.set_good_segments(from.connection->good);
  out.set_bad_segments(from.bad_tries + from.connection->bad);
  out.set_unknown_key_segments(from.connection->no_key);
  out.set_unsigned_segments(from.connection->unsigned_);
}

void fill_authentication(const Authentication& from, bool established, v1::BgpAuthentication& out) {
  out.set_kind(std::string(to_string(from.kind)));
  out.set_trouble(trouble_of(from, established));
  if (from.kind == AuthKind::TcpAo) fill_ao(from, out);
  if (from.kind != AuthKind::Md5) return;
  out.set_md5_failures(from.md5.failures);
  out.set_md5_not_found(from.md5.not_found);
  out.set_md5_unexpected(from.md5.unexpected);
}

void fill_session(const Neighbor& n, v1::BgpNeighbor& out) {
  const NeighborSettings& s = n.settings();
  out.set_address(to_string(s.peer()));
  out.set_asn(s.asn);
  out.set_description(s.description);
  out.set_state(std::string(to_string(n.state())));
  out.set_held_down(n.held_down());
  out.set_client(s.client);
  out.set_passive(s.passive);
  out.set_dynamic(s.dynamic);
  out.set_state_ms(static_cast<std::uint64_t>((BgpService::now() - n.since()).count() / 1000));
  out.set_md5(!s.password.empty());
  out.set_ttl_security(s.ttl_security);
  out.set_max_prefixes(s.max_prefixes);
  out.set_import_filter(s.import_filter);
  out.set_export_filter(s.export_filter);
  out.set_last_error(n.last_error());
  std::string connect = n.connect_error();
  // Whoever drops what has a wrong key tells only itself.
  const bool is_signed = !s.password.empty() || !s.key_chain.empty();
  if (connect.starts_with("cannot connect") && is_signed) connect += " (a key that differs looks like this)";
  out.set_connect_error(connect);
  if (n.peer_open()) fill_open(*n.peer_open(), out);
  if (!n.established()) return;
  out.set_handed_over(n.handed_over());
  out.set_hold_s(n.agreed().hold_s);
  for (const FamilyFacts& f : kFamilyTable)
    if (n.agreed().families.has(f.family)) out.add_families(std::string(f.name));
}

void fill_neighbor(const Speaker& speaker, const Neighbor& n, bool details, v1::BgpNeighbor& out) {
  fill_session(n, out);
  for (const FamilyFacts& f : kFamilyTable) {
    if (!n.settings().families.has(f.family)) continue;
    auto* counts = out.add_routes();
    counts->set_family(std::string(f.name));
    counts->set_received(speaker.rib(f.family).paths_of(n.id()));
    // These look through all routes.
    if (details) counts->set_used(speaker.rib(f.family).used_of(n.id()));
    if (details) counts->set_sent(speaker.advertised(n, f.family));
  }
  if (details) out.set_stale_routes(speaker.stale(n));
  const NeighborCounters& c = n.counters();
  out.set_looped_routes(c.looped);
  out.set_filtered_routes(c.filtered);
  fill_messages(c.in, *out.mutable_received());
  fill_messages(c.out, *out.mutable_sent());
  out.set_established(c.established);
  out.set_dropped(c.dropped);
  out.set_refused(c.refused);
  out.set_update_faults(c.faults);
}

void fill(BgpService& service, const Neighbor& n, const Dropped& dropped, bool details,
          v1::BgpNeighbor& out) {
  fill_neighbor(service.speaker(), n, details, out);
  fill_authentication(service.authentication(n, dropped), n.established(), *out.mutable_authentication());
}

Status list_neighbors(BgpService& service, const v1::ListBgpNeighborsRequest& request,
                      v1::ListBgpNeighborsReply& reply) {
  const Speaker& speaker = service.speaker();
  reply.set_on(service.config().on);
  if (!reply.on()) return Status::OK;
  reply.set_asn(speaker.self().asn);
  reply.set_router_id(id_text(speaker.self().router_id));
  reply.set_cluster_id(id_text(speaker.self().cluster_id));
  reply.set_listen_error(service.listen_error());
  reply.set_inof_routes(speaker.rib(Family::Inof).size());
  reply.set_ipv4_routes(speaker.rib(Family::Ipv4Unicast).size());
  reply.set_attribute_sets(speaker.attribute_sets());
  reply.set_update_groups(static_cast<std::uint32_t>(speaker.groups()));
  const Dropped dropped = service.dropped();
  if (!request.address().empty()) {
    const auto neighbor = find(speaker, request.address());
    if (!neighbor) return neighbor.error();
    fill(service, **neighbor, dropped, true, *reply.add_neighbors());
    return Status::OK;
  }
  for (const Neighbor* n : speaker.neighbors()) fill(service, *n, dropped, false, *reply.add_neighbors());
  return Status::OK;
}

std::string prefix_text(ByteView nlri) {
  std::array<std::uint8_t, 4> bytes{};
  std::ranges::copy(nlri.subspan(1), bytes.begin());
  return to_string(IpAddress::v4_of(bytes)) + "/" + std::to_string(nlri[0]);
}

void fill_path(const Speaker& speaker, const Path& path, v1::BgpPath& out) {
  const Neighbor* neighbor = path.peer == kLocal ? nullptr : speaker.by_id(path.peer);
  out.set_neighbor(neighbor ? to_string(neighbor->settings().peer()) : "local");
  out.set_stale(path.stale);
  for (const auto& [name, value] : describe(*path.attributes)) {
    auto* attribute = out.add_attributes();
    attribute->set_name(std::string(name));
    attribute->set_value(value);
  }
}

void fill_route(const Speaker& speaker, const Rib& rib, const Net& net, v1::BgpRoute& out) {
  const bool inof = rib.family() == Family::Inof;
  const ByteView nlri = net.used()->nlri.view();
  out.set_kind(inof ? std::string(kind_text(nlri)) : "prefix");
  out.set_route(inof ? inof_text(nlri) : prefix_text(nlri));
  const Choice choice = rib.choice(net);
  for (const Path& path : net.paths) {
    auto* entry = out.add_paths();
    fill_path(speaker, path, *entry);
    if (&path != net.used()) continue;
    entry->set_used(true);
    entry->set_reason(std::string(to_string(choice.step)));
  }
}

bool has_path_of(const Net& net, PeerId peer) {
  return std::ranges::any_of(net.paths, [&](const Path& p) { return p.peer == peer; });
}

Status list_routes(const BgpService& service, const v1::ListBgpRoutesRequest& request,
                   v1::ListBgpRoutesReply& reply) {
  const Speaker& speaker = service.speaker();
  std::optional<PeerId> peer;
  if (!request.neighbor().empty() && request.neighbor() != "local") {
    const auto neighbor = find(speaker, request.neighbor());
    if (!neighbor) return neighbor.error();
    peer = (*neighbor)->id();
  }
  if (request.neighbor() == "local") peer = kLocal;
  const std::uint32_t limit = request.limit() > 0 ? request.limit() : kDefaultLimit;
  const Rib& rib =
      speaker.rib(request.family() == v1::ListBgpRoutesRequest::INOF ? Family::Inof : Family::Ipv4Unicast);
  std::vector<const Net*> nets;
  for (std::uint32_t slot = 0; slot < rib.end(); ++slot) {
    const Net& net = rib.net(slot);
    if (!net.used() || (peer && !has_path_of(net, *peer))) continue;
    if (!request.kind().empty() && kind_text(net.key()) != request.kind()) continue;
    nets.push_back(&net);
  }
  std::ranges::sort(nets, [](const Net* a, const Net* b) {
    return std::ranges::lexicographical_compare(a->key(), b->key());
  });
  for (const Net* net : nets) {
    if (reply.routes_size() < static_cast<int>(limit)) {
      fill_route(speaker, rib, *net, *reply.add_routes());
    } else {
      reply.set_left_out(reply.left_out() + 1);
    }
  }
  return Status::OK;
}

void fill_filter(const Speaker& speaker, const Filter& filter, v1::BgpFilter& out) {
  const BgpFilterConfig& config = filter.config();
  out.set_name(config.name);
  for (std::size_t i = 0; i < filter.hits().size(); ++i) {
    const bool last = i == config.rules.size();
    auto* rule = out.add_rules();
    rule->set_action(std::string(lossless::to_string(last ? config.otherwise : config.rules[i].action)));
    rule->set_match(last ? "all others" : rule_text(config.rules[i]));
    rule->set_import_hits(filter.hits()[i].import);
    rule->set_export_hits(filter.hits()[i].export_to);
  }
  for (const Neighbor* n : speaker.neighbors()) {
    const NeighborSettings& s = n->settings();
    if (s.import_filter == config.name) out.add_import(to_string(s.peer()));
    if (s.export_filter == config.name) out.add_export_(to_string(s.peer()));
  }
}

Status list_policy(const BgpService& service, const v1::ListBgpPolicyRequest& request,
                   v1::ListBgpPolicyReply& reply) {
  std::string known;
  for (const auto& [name, filter] : service.speaker().filters()) {
    known += (known.empty() ? "" : ", ") + name;
    if (request.filter().empty() || request.filter() == name)
      fill_filter(service.speaker(), *filter, *reply.add_filters());
  }
  if (request.filter().empty() || !reply.filters().empty()) return Status::OK;
  return {StatusCode::NOT_FOUND,
          "no filter '" + printable(request.filter()) + "'; filters: " + (known.empty() ? "none" : known)};
}

Status clear(BgpService& service, const v1::ClearBgpRequest& request) {
  const auto neighbor = find(service.speaker(), request.address());
  if (!neighbor) return neighbor.error();
  std::optional<Speaker::Soft> soft;
  if (request.soft() == v1::ClearBgpRequest::SOFT) soft = Speaker::Soft::Both;
  if (request.soft() == v1::ClearBgpRequest::SOFT_IN) soft = Speaker::Soft::In;
  if (request.soft() == v1::ClearBgpRequest::SOFT_OUT) soft = Speaker::Soft::Out;
  const PeerAddress address = (*neighbor)->settings().peer();
  if (const auto wrong = service.clear(address, soft)) return {StatusCode::FAILED_PRECONDITION, *wrong};
  return Status::OK;
}

Status shut_down(BgpService& service, const v1::ShutDownBgpRequest& request) {
  const auto neighbor = find(service.speaker(), request.address());
  if (!neighbor) return neighbor.error();
  constexpr std::size_t kMaxText = 255;
  if (request.text().size() > kMaxText)
    return bad("the text has " + std::to_string(request.text().size()) + " bytes; allowed: at most 255");
  const PeerAddress address = (*neighbor)->settings().peer();
  if (const auto wrong = service.set_shutdown(address, request.down(), request.text()))
    return {StatusCode::FAILED_PRECONDITION, *wrong};
  return Status::OK;
}

class BgpApi final : public v1::Bgp::CallbackService {
 public:
  BgpApi(asio::io_context& loop, BgpService& service) : loop_(loop), service_(service) {}

  // What says whether BGP is on is answered always.
  grpc::ServerUnaryReactor* ListBgpNeighbors(grpc::CallbackServerContext* call,
                                             const v1::ListBgpNeighborsRequest* request,
                                             v1::ListBgpNeighborsReply* reply) override {
    return api::answer_on_loop(call, loop_, [=, this] { return list_neighbors(service_, *request, *reply); });
  }
  grpc::ServerUnaryReactor* ListBgpRoutes(grpc::CallbackServerContext* call,
                                          const v1::ListBgpRoutesRequest* request,
                                          v1::ListBgpRoutesReply* reply) override {
    return answer(call, [=, this] { return list_routes(service_, *request, *reply); });
  }
  grpc::ServerUnaryReactor* ListBgpPolicy(grpc::CallbackServerContext* call,
                                          const v1::ListBgpPolicyRequest* request,
                                          v1::ListBgpPolicyReply* reply) override {
    return answer(call, [=, this] { return list_policy(service_, *request, *reply); });
  }
  grpc::ServerUnaryReactor* ClearBgp(grpc::CallbackServerContext* call, const v1::ClearBgpRequest* request,
                                     v1::ClearBgpReply*) override {
    return answer(call, [=, this] { return clear(service_, *request); });
  }
  grpc::ServerUnaryReactor* ShutDownBgp(grpc::CallbackServerContext* call,
                                        const v1::ShutDownBgpRequest* request,
                                        v1::ShutDownBgpReply*) override {
    return answer(call, [=, this] { return shut_down(service_, *request); });
  }

 private:
  template <class Answer>
  grpc::ServerUnaryReactor* answer(grpc::CallbackServerContext* call, Answer make) {
    return api::answer_on_loop(call, loop_, [this, make = std::move(make)] {
      if (service_.config().on) return make();
      return Status(StatusCode::FAILED_PRECONDITION,
                    "BGP is off; allowed in the configuration: [bgp] with on = true");
    });
  }

  asio::io_context& loop_;
  BgpService& service_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, BgpService& service) {
  return std::make_shared<BgpApi>(loop, service);
}

}  // namespace lossless::bgp
