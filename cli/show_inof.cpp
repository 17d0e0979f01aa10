// SPDX-License-Identifier: Apache-2.0
// `losslessctl show inof host|zone|status|statistics|whitelist`.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/format.h"
#include "cli/suggest.h"
#include "daemon/core/address.h"
#include "daemon/core/config_source.h"
#include "inof.grpc.pb.h"

namespace lossless::cli {
namespace {

using Service = v1::Inof;
using Stub = Service::StubInterface;

Cell state_cell(const std::string& state) {
  if (state == "online") return text_cell(state, Tone::Good);
  return text_cell(state, state == "offline" ? Tone::Dim : Tone::Bad);
}

Cell switch_cell(bool on) { return on ? text_cell("on", Tone::Good) : text_cell("off"); }

std::string seconds(std::uint64_t ms) { return fmt::format("{:.1f}s", static_cast<double>(ms) / 1000); }

void add_hosts(Table& table, const google::protobuf::RepeatedPtrField<v1::InofHostEntry>& hosts) {
  for (const auto& h : hosts) {
    table.add({text_cell(h.address()), text_cell(or_dash(joined(h.zones()))), text_cell(or_dash(h.role())),
               text_cell(h.subscribed() ? "yes" : "no"), text_cell(or_dash(h.port())), state_cell(h.state()),
               text_cell(h.reason()), value_cell(seconds(h.changed_ms_ago())), text_cell(h.learned_from()),
               text_cell(h.dialect())});
  }
}

std::string host_details(const v1::InofHostEntry& h, const Style& style) {
  Listing list;
  list.add("address", text_cell(h.address()));
  list.add("zones", text_cell(or_dash(joined(h.zones()))));
  list.add("state", state_cell(h.state()));
  list.add("reason", text_cell(h.reason()));
  if (!h.detail().empty()) list.add("detail", text_cell(h.detail(), Tone::Warn));
  list.add("since", value_cell(seconds(h.changed_ms_ago())));
  list.add("role", text_cell(or_dash(h.role())));
  list.add("protocol", text_cell(or_dash(h.protocol())));
  list.add("subscribed", text_cell(h.subscribed() ? "yes" : "no"));
  list.add("access interface", text_cell(or_dash(h.port())));
  list.add("learned from", text_cell(h.learned_from()));
  list.add("dialect", text_cell(h.dialect()));
  list.add("chassis ID", text_cell(h.chassis()));
  list.add("port ID", text_cell(h.port_id()));
  list.add("ID", text_cell(or_dash(h.id())));
  list.add("last heard", value_cell(seconds(h.heard_ms_ago()) + " ago"));
  return list.text(style);
}

std::string changed_note(const v1::ChangeInofReply& reply, const Style&) {
  return reply.kept() ? "done, and kept for the next start\n" : "done, until losslessd starts again\n";
}

}  // namespace

std::string inof_hosts_text(const v1::ListInofHostsReply& reply, const Style& style) {
  if (reply.hosts().empty()) return "no host is known\n";
  Table table({{"ADDRESS", "", true},
               {"ZONES", ""},
               {"ROLE", ""},
               {"SUBSCRIBED", ""},
               {"INTERFACE", ""},
               {"STATE", ""},
               {"REASON", ""},
               {"SINCE", ""},
               {"FROM", ""},
               {"DIALECT", ""}});
  add_hosts(table, reply.hosts());
  std::string out = table.text(style);
  for (const auto& h : reply.hosts())
    if (!h.detail().empty()) out += fmt::format("{} on {}: {}\n", h.address(), or_dash(h.port()), h.detail());
  return out;
}

std::string inof_zones_text(const v1::ListInofZonesReply& reply, const Style& style) {
  if (reply.zones().empty()) return "nothing to show\n";
  Table table({{"ZONE", "", true}, {"CONFIGURED", ""}, {"HOSTS", ""}, {"ONLINE", ""}});
  for (const auto& z : reply.zones()) {
    table.add({text_cell(z.name()),
               text_cell(z.name() == "default" ? "all others" : or_dash(joined(z.members()))),
               text_cell(or_dash(joined(z.hosts()))), number_cell(z.online())});
  }
  std::string out = table.text(style);
  for (const auto& z : reply.zones())
    for (const auto& what : z.inconsistent()) out += fmt::format("{}: {}\n", z.name(), what);
  return out;
}

std::string inof_status_text(const v1::GetInofStatusReply& reply, const Style& style) {
  Listing list;
  list.add("iNOF", switch_cell(reply.on()));
  list.add("dialects", text_cell(reply.dialects()));
  list.add("age time", value_cell(fmt::format("{}s", reply.age_s())));
  list.add("default zone", switch_cell(reply.default_zone()));
  list.add("hard zoning", switch_cell(reply.hard_zoning()));
  list.add("initiators apart", switch_cell(reply.block_initiators()));
  list.add("white list", switch_cell(reply.whitelist()));
  list.add("changes kept in", text_cell(or_dash(reply.state_file())));
  list.add("zones", number_cell(reply.zones()));
  list.add("memberships", number_cell(reply.memberships()));
  list.add("local hosts", number_cell(reply.local_hosts()));
  list.add("remote hosts", number_cell(reply.remote_hosts()));
  list.add("online", number_cell(reply.online()));
  list.add("subscribed", number_cell(reply.subscribed()));
  list.add("unacknowledged", number_cell(reply.under_way()));
  if (!reply.full_ports().empty()) list.add("full ports", text_cell(joined(reply.full_ports()), Tone::Bad));
  return list.text(style);
}

std::string inof_statistics_text(const v1::GetInofStatisticsReply& reply, const Style& style) {
  Table hosts({{"HOST", "", true},
               {"SENT", "notifications"},
               {"REPEATED", "notifications"},
               {"ACKED", "notifications"},
               {"EXPIRED", "notifications"},
               {"FULL STATES", "notifications"}});
  const auto row = [&hosts](const std::string& name, const v1::InofNotifications& n) {
    hosts.add({text_cell(name), count_cell(n.sent()), count_cell(n.retransmitted(), Tone::Warn),
               count_cell(n.acked()), count_cell(n.expired(), Tone::Bad), count_cell(n.resyncs())});
  };
  for (const auto& h : reply.hosts()) row(h.address(), h);
  row("all", reply.total());
  Table drops({{"PORT", "", true},
               {"ISOLATED", "storage packets dropped"},
               {"STRANGER", "storage packets dropped"},
               {"INITIATORS", "storage packets dropped"},
               {"NOT LISTED", "storage packets dropped"}});
  for (const auto& d : reply.drops())
    drops.add({text_cell(d.port()), count_cell(d.isolated(), Tone::Warn),
               count_cell(d.stranger(), Tone::Warn), count_cell(d.initiators(), Tone::Warn),
               count_cell(d.denied(), Tone::Warn)});
  Listing list;
  const auto count = [&list](const char* name, std::uint64_t n, Tone tone = Tone::Plain) {
    list.add(name, count_cell(n, tone));
  };
  count("status frames sent", reply.frames_sent());
  count("  not taken by the device", reply.frames_failed(), Tone::Bad);
  count("announcements", reply.announcements());
  count("  with a bad TLV", reply.bad_tlvs(), Tone::Warn);
  count("  in a dialect that is off", reply.refused_dialect(), Tone::Warn);
  count("  on a port without link", reply.refused_down());
  count("  of hosts beyond the limit", reply.refused_full(), Tone::Bad);
  count("joins", reply.joined());
  count("leaves", reply.left());
  count("zone queries", reply.queries());
  count("  for no host of that port", reply.queries_unknown(), Tone::Warn);
  count("ACKs of hosts not asked", reply.acks_not_asked(), Tone::Warn);
  count("  on another port", reply.acks_wrong_port(), Tone::Bad);
  count("  with a wrong sequence number", reply.acks_wrong_sequence(), Tone::Warn);
  count("  come again", reply.acks_duplicate());
  count("notifications received", reply.stray_notifications(), Tone::Bad);
  count("malformed status frames", reply.bad_frames(), Tone::Bad);
  return hosts.text(style) + '\n' + drops.text(style) + '\n' + list.text(style);
}

std::string inof_whitelist_text(const v1::GetInofWhitelistReply& reply, const Style& style) {
  std::string out = reply.on() ? "" : "the white list is off: any host may join anywhere\n";
  Table table({{"PORT", "", true}, {"ALLOWED", ""}});
  for (const auto& port : reply.exceptions()) table.add({text_cell(port), text_cell("any host (exception)")});
  for (const auto& a : reply.allow()) table.add({text_cell(a.port()), text_cell(or_dash(joined(a.hosts())))});
  if (!table.empty()) out += table.text(style);
  if (reply.denied().empty()) return out + "no host is denied\n";
  Table denied({{"DENIED", "", true}, {"INTERFACE", ""}, {"SINCE", ""}, {"REASON", ""}});
  for (const auto& h : reply.denied())
    denied.add({text_cell(h.address(), Tone::Bad), text_cell(h.port()),
                value_cell(seconds(h.changed_ms_ago())), text_cell(h.detail())});
  return out + '\n' + denied.text(style);
}

namespace {

void add_hosts_command(CLI::App& inof, Action& action) {
  auto which = std::make_shared<std::string>();
  auto* command = inof.add_subcommand("host", "Hosts: zones, role, access interface, state and why");
  command->add_option("HOST", *which, "local, remote, or one address");
  command->callback([&action, which] {
    action = [which](Context& context) -> Outcome {
      v1::ListInofHostsRequest request;
      if (*which == "local") {
        request.set_where(v1::ListInofHostsRequest::LOCAL);
      } else if (*which == "remote") {
        request.set_where(v1::ListInofHostsRequest::REMOTE);
      } else if (!which->empty() && !parse_ip(*which)) {
        return usage_failure(
            fmt::format("'{}'; allowed: local, remote, or an IPv4 or IPv6 address", printable(*which)));
      } else {
        request.set_address(*which);
      }
      const bool one = !request.address().empty();
      return context.call_and_print<Service>(&Stub::ListInofHosts, request,
                                             [one](const v1::ListInofHostsReply& reply, const Style& style) {
                                               if (one && reply.hosts_size() == 1)
                                                 return host_details(reply.hosts(0), style);
                                               return inof_hosts_text(reply, style);
                                             });
    };
  });
}

void add_zones_command(CLI::App& inof, Action& action) {
  auto name = std::make_shared<std::string>();
  auto what = std::make_shared<std::string>();
  auto* command = inof.add_subcommand("zone", "Zones: members as configured, hosts that are there");
  command->add_option("ZONE", *name, "Only this zone, or `inconsistent`");
  command->add_option("INCONSISTENT", *what, "`inconsistent`: members that no host has, hosts that are alone")
      ->check(CLI::IsMember({"inconsistent"}).description(""));
  command->callback([&action, name, what] {
    action = [name, what](Context& context) {
      v1::ListInofZonesRequest request;
      request.set_inconsistent(!what->empty() || *name == "inconsistent");
      if (*name != "inconsistent") request.set_name(*name);
      return context.call_and_print<Service>(&Stub::ListInofZones, request, inof_zones_text);
    };
  });
}

template <class Request, class Reply, class Show>
void add_plain(CLI::App& parent, Action& action, const char* name, const char* about,
               grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*), Show show) {
  parent.add_subcommand(name, about)->callback([&action, method, show] {
    action = [method, show](Context& context) {
      return context.call_and_print<Service>(method, Request{}, show);
    };
  });
}

void run_change(Action& action, const std::function<void(v1::ChangeInofRequest&)>& fill) {
  action = [fill](Context& context) {
    v1::ChangeInofRequest request;
    fill(request);
    return context.call_and_print<Service>(&Stub::ChangeInof, request, changed_note);
  };
}

void add_switch(CLI::App& root, Action& action, const char* name, const char* about,
                void (v1::ChangeInofRequest::*set)(bool)) {
  auto value = std::make_shared<std::string>();
  auto* command = root.add_subcommand(name, about);
  command->add_option("SWITCH", *value, "on or off")
      ->required()
      ->check(CLI::IsMember({"on", "off"}).description(""));
  command->callback([&action, value, set] {
    run_change(action, [value, set](v1::ChangeInofRequest& request) { (request.*set)(*value == "on"); });
  });
}

using MemberOf = v1::InofMember* (v1::ChangeInofRequest::*)();

void add_member_command(CLI::App& host, Action& action, const char* name, const char* about,
                        MemberOf member_of) {
  auto zone = std::make_shared<std::string>();
  auto member = std::make_shared<std::string>();
  auto* command = host.add_subcommand(name, about);
  command->add_option("ZONE", *zone, "The zone")->required();
  command->add_option("MEMBER", *member, "Address, prefix, or FIRST-LAST")->required();
  command->callback([&action, zone, member, member_of] {
    run_change(action, [=](v1::ChangeInofRequest& request) {
      auto* change = (request.*member_of)();
      change->set_zone(*zone);
      change->set_member(*member);
    });
  });
}

}  // namespace

void add_show_inof(CLI::App& show, Action& action) {
  auto* inof = show.add_subcommand("inof", "iNOF: hosts, zones, notifications, white list");
  inof->require_subcommand(1);
  add_hosts_command(*inof, action);
  add_zones_command(*inof, action);
  add_plain(*inof, action, "status", "Switches and totals", &Stub::GetInofStatus, inof_status_text);
  add_plain(*inof, action, "statistics", "Notifications by host, drops by port, what was refused",
            &Stub::GetInofStatistics, inof_statistics_text);
  add_plain(*inof, action, "whitelist", "Who may join where, and who was denied", &Stub::GetInofWhitelist,
            inof_whitelist_text);
}

void add_zone(CLI::App& root, Action& action) {
  auto* zone = root.add_subcommand("zone", "Change zones of iNOF");
  zone->require_subcommand(1);
  const auto named = [&](const char* name, const char* about, auto set) {
    auto value = std::make_shared<std::string>();
    auto* command = zone->add_subcommand(name, about);
    command->add_option("ZONE", *value, "The zone")->required();
    command->callback([&action, value, set] {
      run_change(action, [value, set](v1::ChangeInofRequest& request) { set(request, *value); });
    });
  };
  named("add", "A new zone without members",
        [](v1::ChangeInofRequest& request, const std::string& name) { request.set_add_zone(name); });
  named("remove", "Removes a zone; its hosts join the default zone if no other has them",
        [](v1::ChangeInofRequest& request, const std::string& name) { request.set_remove_zone(name); });
  auto* host = zone->add_subcommand("host", "Change members of a zone");
  host->require_subcommand(1);
  add_member_command(*host, action, "add", "Adds an address or a range",
                     &v1::ChangeInofRequest::mutable_add_member);
  add_member_command(*host, action, "remove", "Removes one, as it was given",
                     &v1::ChangeInofRequest::mutable_remove_member);
}

void add_zone_switches(CLI::App& root, Action& action) {
  add_switch(root, action, "default-zone", "Whether hosts in no zone join the default zone of iNOF",
             &v1::ChangeInofRequest::set_default_zone);
  add_switch(root, action, "hard-zoning", "Whether storage traffic between zones of iNOF is dropped",
             &v1::ChangeInofRequest::set_hard_zoning);
}

}  // namespace lossless::cli
