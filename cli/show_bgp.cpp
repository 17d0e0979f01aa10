// SPDX-License-Identifier: Apache-2.0
// `losslessctl show bgp summary|neighbors|policy|inof|ipv4`, `clear bgp`, `bgp neighbor`.
#include <fmt/format.h>

#include "bgp.grpc.pb.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/suggest.h"

namespace lossless::cli {
namespace {

using Service = v1::Bgp;
using Stub = Service::StubInterface;

Cell state_cell(const v1::BgpNeighbor& n) {
  if (n.state() == "Established") return text_cell(n.state(), Tone::Good);
  if (!n.held_down().empty())
    return text_cell(fmt::format("{} ({})", n.state(), n.held_down()),
                     n.held_down() == "shutdown" ? Tone::Dim : Tone::Bad);
  return text_cell(n.state(), Tone::Warn);
}

Cell dash_cell(const std::string& text, Tone tone = Tone::Plain) {
  return text.empty() ? text_cell("-", Tone::Dim) : text_cell(text, tone);
}

std::string off_text() { return "BGP is off\n"; }

std::uint64_t received(const v1::BgpNeighbor& n) {
  std::uint64_t out = 0;
  for (const auto& counts : n.routes()) out += counts.received();
  return out;
}

void add_messages(Table& table, const char* name, const v1::BgpMessages& m) {
  table.add({text_cell(name), count_cell(m.opens()), count_cell(m.updates()), count_cell(m.notifications()),
             count_cell(m.keepalives()), count_cell(m.refreshes())});
}

std::string keys_text(const v1::BgpAuthentication& a) {
  std::string out;
  for (const v1::BgpKey& key : a.keys())
    out += fmt::format("{}{}/{} {}{}", out.empty() ? "" : ", ", key.send_id(), key.receive_id(),
                       key.algorithm(), key.sends() ? " (sends)" : "");
  return out;
}

void add_authentication(Listing& list, const v1::BgpAuthentication& a) {
  if (a.kind() == "tcp-ao") {
    list.add("authentication", text_cell("TCP-AO, key chain " + a.key_chain()));
    list.add("  keys in use", a.keys().empty() ? text_cell("none", Tone::Bad) : text_cell(keys_text(a)));
    if (a.connected())
      list.add("  this connection",
               text_cell(fmt::format("signs with {}, asks for {}", a.current_id(), a.wanted_id())));
    list.add("  keys change next", dash_cell(a.next_change()));
    list.add("  good segments", count_cell(a.good_segments()));
    list.add("  wrong signature", count_cell(a.bad_segments(), Tone::Warn));
  } else {
    list.add("authentication", text_cell(a.kind() == "md5" ? "TCP-MD5" : "none"));
  }
  if (!a.trouble().empty()) list.add("  does not match", text_cell(a.trouble(), Tone::Bad));
}

std::string neighbor_text(const v1::BgpNeighbor& n, const Style& style) {
  Listing list;
  list.add("neighbour", text_cell(n.address()));
  if (!n.description().empty()) list.add("description", text_cell(n.description()));
  list.add("AS", number_cell(n.asn()));
  list.add("router ID", dash_cell(n.router_id()));
  list.add("state", state_cell(n));
  list.add("since", value_cell(format_uptime(n.state_ms())));
  list.add("reflector client", text_cell(n.client() ? "yes" : "no"));
  list.add("connects", text_cell(n.dynamic() ? "to us, of a range" : n.passive() ? "to us" : "both ways"));
  list.add("hold time", n.hold_s() > 0 ? value_cell(fmt::format("{}s", n.hold_s())) : dash_cell(""));
  list.add("families", dash_cell(joined(n.families())));
  list.add("capabilities", dash_cell(joined(n.capabilities())));
  list.add("  unknown", number_cell(n.unknown_capabilities()));
  add_authentication(list, n.authentication());
  list.add("TTL security",
           n.ttl_security() > 0 ? value_cell(fmt::format("{} hops", n.ttl_security())) : text_cell("off"));
  list.add("established", count_cell(n.established()));
  if (n.handed_over() > 0) list.add("handed over", text_cell(fmt::format("{} times", n.handed_over())));
  list.add("dropped", count_cell(n.dropped(), Tone::Warn));
  list.add("refused connections", count_cell(n.refused(), Tone::Warn));
  list.add("faults in UPDATEs", count_cell(n.update_faults(), Tone::Warn));
  list.add("looped routes", count_cell(n.looped_routes()));
  list.add("filter in", dash_cell(n.import_filter()));
  if (!n.import_filter().empty()) list.add("  denied routes", count_cell(n.filtered_routes()));
  list.add("filter out", dash_cell(n.export_filter()));
  list.add("stale routes", count_cell(n.stale_routes(), Tone::Warn));
  list.add("most routes", number_cell(n.max_prefixes()));
  list.add("last error", dash_cell(n.last_error(), Tone::Warn));
  list.add("last try to connect", dash_cell(n.connect_error(), Tone::Warn));
  Table routes({{"FAMILY", "", true}, {"RECEIVED", "routes"}, {"USED", "routes"}, {"SENT", "routes"}});
  for (const auto& r : n.routes())
    routes.add({text_cell(r.family()), count_cell(r.received()), count_cell(r.used()), count_cell(r.sent())});
  Table messages({{"MESSAGES", "", true},
                  {"OPEN", ""},
                  {"UPDATE", ""},
                  {"NOTIFICATION", ""},
                  {"KEEPALIVE", ""},
                  {"REFRESH", ""}});
  add_messages(messages, "received", n.received());
  add_messages(messages, "sent", n.sent());
  return list.text(style) + '\n' + routes.text(style) + '\n' + messages.text(style);
}

}  // namespace

std::string bgp_summary_text(const v1::ListBgpNeighborsReply& reply, const Style& style) {
  if (!reply.on()) return off_text();
  std::string out =
      fmt::format("AS {}, router ID {}, cluster ID {}\n", reply.asn(), reply.router_id(), reply.cluster_id());
  out += fmt::format("{} iNOF routes, {} IPv4 routes, {} attribute sets, {} update groups\n",
                     reply.inof_routes(), reply.ipv4_routes(), reply.attribute_sets(), reply.update_groups());
  if (!reply.listen_error().empty()) out += paint(style, Tone::Bad, reply.listen_error()) + '\n';
  if (reply.neighbors().empty()) return out + "no neighbours\n";
  Table table({{"NEIGHBOUR", "", true},
               {"AS", ""},
               {"STATE", ""},
               {"SINCE", ""},
               {"CLIENT", ""},
               {"ROUTES", ""},
               {"UPDATES IN", ""},
               {"UPDATES OUT", ""},
               {"DROPPED", ""},
               {"DESCRIPTION", ""}});
  for (const auto& n : reply.neighbors())
    table.add({text_cell(n.address()), number_cell(n.asn()), state_cell(n),
               value_cell(format_uptime(n.state_ms())), text_cell(n.client() ? "yes" : "no"),
               count_cell(received(n)), count_cell(n.received().updates()), count_cell(n.sent().updates()),
               count_cell(n.dropped(), Tone::Warn), dash_cell(n.description())});
  return out + table.text(style);
}

std::string bgp_neighbors_text(const v1::ListBgpNeighborsReply& reply, const Style& style) {
  if (!reply.on()) return off_text();
  std::string out;
  for (const auto& n : reply.neighbors()) out += (out.empty() ? "" : "\n") + neighbor_text(n, style);
  return out.empty() ? "no neighbours\n" : out;
}

std::string bgp_routes_text(const v1::ListBgpRoutesReply& reply, const Style& style) {
  if (reply.routes().empty()) return "no routes\n";
  Table table({{"KIND", ""}, {"ROUTE", "", true}, {"FROM", ""}, {"USED", ""}, {"ATTRIBUTES", ""}});
  for (const auto& route : reply.routes()) {
    for (const auto& path : route.paths()) {
      std::string attributes;
      for (const auto& a : path.attributes())
        attributes += (attributes.empty() ? "" : ", ") + a.name() + " " + a.value();
      const std::string used = path.used() ? "yes, " + path.reason() : "no";
      table.add({text_cell(route.kind()), text_cell(route.route()), text_cell(path.neighbor()),
                 text_cell(path.stale() ? used + ", stale" : used, path.stale() ? Tone::Warn : Tone::Plain),
                 text_cell(attributes)});
    }
  }
  std::string out = table.text(style);
  if (reply.left_out() > 0) out += fmt::format("and {} more; see --limit\n", reply.left_out());
  return out;
}

std::string bgp_policy_text(const v1::ListBgpPolicyReply& reply, const Style& style) {
  if (reply.filters().empty()) return "no filters\n";
  std::string out;
  for (const auto& filter : reply.filters()) {
    out += fmt::format("{}{}: in from {}, out to {}\n", out.empty() ? "" : "\n", filter.name(),
                       filter.import().empty() ? "none" : joined(filter.import()),
                       filter.export_().empty() ? "none" : joined(filter.export_()));
    Table table({{"RULE", ""}, {"ACTION", ""}, {"MATCH", "", true}, {"IN", "routes"}, {"OUT", "routes"}});
    for (int i = 0; i < filter.rules_size(); ++i) {
      const auto& rule = filter.rules(i);
      const bool last = i + 1 == filter.rules_size();
      table.add({last ? dash_cell("") : number_cell(static_cast<std::uint64_t>(i) + 1),
                 text_cell(rule.action()), text_cell(rule.match()), count_cell(rule.import_hits()),
                 count_cell(rule.export_hits())});
    }
    out += table.text(style);
  }
  return out;
}

namespace {

void add_policy_command(CLI::App& bgp, Action& action) {
  auto filter = std::make_shared<std::string>();
  auto* command = bgp.add_subcommand("policy", "Filters, and how many routes met each rule");
  command->add_option("FILTER", *filter, "Only this one");
  command->callback([&action, filter] {
    action = [filter](Context& context) -> Outcome {
      v1::ListBgpPolicyRequest request;
      request.set_filter(*filter);
      return context.call_and_print<Service>(&Stub::ListBgpPolicy, request, bgp_policy_text);
    };
  });
}

void add_neighbors_command(CLI::App& bgp, Action& action) {
  auto address = std::make_shared<std::string>();
  auto* command = bgp.add_subcommand("neighbors", "Sessions in full: capabilities, routes, messages, errors");
  command->add_option("NEIGHBOR", *address, "Only this one");
  command->callback([&action, address] {
    action = [address](Context& context) -> Outcome {
      v1::ListBgpNeighborsRequest request;
      request.set_address(*address);
      return context.call_and_print<Service>(&Stub::ListBgpNeighbors, request, bgp_neighbors_text);
    };
  });
}

void add_routes_command(CLI::App& parent, Action& action, v1::ListBgpRoutesRequest::Family family) {
  auto neighbor = std::make_shared<std::string>();
  auto kind = std::make_shared<std::string>();
  auto limit = std::make_shared<unsigned>(0);
  auto* command = parent.add_subcommand("routes", "Routes and their paths, and why one is used");
  command->add_option("--neighbor", *neighbor, "Only what it announced; `local`: our own")
      ->type_name("NEIGHBOR");
  if (family == v1::ListBgpRoutesRequest::INOF)
    command->add_option("--kind", *kind, "host, zone, zone-host, default-zone or hard-zone")
        ->type_name("KIND")
        ->check(CLI::IsMember({"host", "zone", "zone-host", "default-zone", "hard-zone", "unknown"})
                    .description(""));
  command->add_option("--limit", *limit, "Most routes to show (10000)")->type_name("ROUTES");
  command->callback([&action, neighbor, kind, limit, family] {
    action = [neighbor, kind, limit, family](Context& context) -> Outcome {
      v1::ListBgpRoutesRequest request;
      request.set_family(family);
      request.set_neighbor(*neighbor);
      request.set_kind(*kind);
      request.set_limit(*limit);
      return context.call_and_print<Service>(&Stub::ListBgpRoutes, request, bgp_routes_text);
    };
  });
}

template <class Reply>
std::string nothing(const Reply&, const Style&) {
  return "";
}

void add_shutdown_command(CLI::App& neighbor, Action& action, const std::shared_ptr<std::string>& address,
                          bool down) {
  auto text = std::make_shared<std::vector<std::string>>();
  auto* command = neighbor.add_subcommand(
      down ? "shutdown" : "enable", down ? "Ends the session and keeps it down" : "Lets it come up again");
  if (down) command->add_option("TEXT", *text, "Why, for the people on the other side");
  command->callback([&action, address, down, text] {
    action = [address, down, text](Context& context) -> Outcome {
      v1::ShutDownBgpRequest request;
      request.set_address(*address);
      request.set_down(down);
      std::string all;
      for (const std::string& word : *text) all += (all.empty() ? "" : " ") + word;
      request.set_text(all);
      return context.call_and_print<Service>(&Stub::ShutDownBgp, request, nothing<v1::ShutDownBgpReply>);
    };
  });
}

}  // namespace

void add_show_bgp(CLI::App& show, Action& action) {
  auto* bgp = show.add_subcommand("bgp", "BGP: sessions and routes");
  bgp->require_subcommand(1);
  bgp->add_subcommand("summary", "One line for each neighbour")->callback([&action] {
    action = [](Context& context) -> Outcome {
      return context.call_and_print<Service>(&Stub::ListBgpNeighbors, v1::ListBgpNeighborsRequest(),
                                             bgp_summary_text);
    };
  });
  add_neighbors_command(*bgp, action);
  add_policy_command(*bgp, action);
  auto* inof = bgp->add_subcommand("inof", "Routes of iNOF");
  inof->require_subcommand(1);
  add_routes_command(*inof, action, v1::ListBgpRoutesRequest::INOF);
  auto* ipv4 = bgp->add_subcommand("ipv4", "IPv4 unicast routes");
  ipv4->require_subcommand(1);
  add_routes_command(*ipv4, action, v1::ListBgpRoutesRequest::IPV4_UNICAST);
}

void add_clear_bgp(CLI::App& clear, Action& action) {
  auto address = std::make_shared<std::string>();
  auto soft = std::make_shared<std::string>();
  auto way = std::make_shared<std::string>();
  auto* command = clear.add_subcommand("bgp", "Starts a session anew; soft: only its routes");
  command->add_option("NEIGHBOR", *address, "The neighbour")->required();
  command->add_option("SOFT", *soft, "soft: the session stays")
      ->check(CLI::IsMember({"soft"}).description(""));
  command->add_option("WAY", *way, "in: ask for theirs anew; out: send ours anew; both if left out")
      ->check(CLI::IsMember({"in", "out"}).description(""));
  command->callback([&action, address, soft, way] {
    action = [address, soft, way](Context& context) -> Outcome {
      v1::ClearBgpRequest request;
      request.set_address(*address);
      if (!soft->empty())
        request.set_soft(*way == "in"    ? v1::ClearBgpRequest::SOFT_IN
                         : *way == "out" ? v1::ClearBgpRequest::SOFT_OUT
                                         : v1::ClearBgpRequest::SOFT);
      return context.call_and_print<Service>(&Stub::ClearBgp, request, nothing<v1::ClearBgpReply>);
    };
  });
}

void add_bgp(CLI::App& root, Action& action) {
  auto* bgp = root.add_subcommand("bgp", "Changes sessions of BGP");
  bgp->require_subcommand(1);
  auto address = std::make_shared<std::string>();
  auto* neighbor = bgp->add_subcommand("neighbor", "One neighbour, until the next reload");
  neighbor->add_option("NEIGHBOR", *address, "Its address")->required();
  neighbor->require_subcommand(1);
  add_shutdown_command(*neighbor, action, address, true);
  add_shutdown_command(*neighbor, action, address, false);
}

}  // namespace lossless::cli
