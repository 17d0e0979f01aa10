// SPDX-License-Identifier: Apache-2.0
// `losslessctl show inof-host`.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/format.h"
#include "inof_host.grpc.pb.h"

namespace lossless::cli {
namespace {

using Reply = v1::GetInofHostReply;

constexpr const char* kOff = "the host agent is off (role = \"host\" switches it on)\n";

std::string ago(std::uint64_t ms) { return fmt::format("{:.1f}s", static_cast<double>(ms) / 1000); }

Cell state_cell(const std::string& state) {
  if (state == "online") return text_cell(state, Tone::Good);
  return text_cell(state, state == "offline" ? Tone::Warn : Tone::Plain);
}

Cell hook_cell(const std::string& hook) {
  return text_cell(hook, hook == "failed" ? Tone::Bad : hook == "waiting" ? Tone::Warn : Tone::Plain);
}

std::string addresses_part(const Reply& reply, const Style& style) {
  if (reply.addresses().empty()) return "no address on a managed port\n";
  Table table({{"PORT", "", true},
               {"INTERFACE", "", true},
               {"ADDRESS", "", true},
               {"LINK", ""},
               {"PORT ID", "LLDP"},
               {"ANNOUNCED", "frames"},
               {"QUERIES", "frames"}});
  for (const auto& a : reply.addresses()) {
    table.add({text_cell(a.port()), text_cell(a.interface()), text_cell(a.address()),
               a.up() ? text_cell("up") : text_cell("down", Tone::Warn), text_cell(a.port_id()),
               count_cell(a.announced()), count_cell(a.queries())});
  }
  return table.text(style);
}

std::string members_part(const Reply& reply, const Style& style) {
  if (reply.members().empty()) return "no members: no switch has told of any\n";
  Table table({{"HOST", "", true},
               {"LOCAL", "", true},
               {"PORT", ""},
               {"STATE", ""},
               {"REASON", ""},
               {"SINCE", ""},
               {"ROLE", "offers"},
               {"PROTOCOL", "offers"},
               {"AT", "offers"},
               {"ID", "offers"},
               {"HOOK", "hook"},
               {"TRIES", "hook"},
               {"LAST RESULT", "hook"}});
  for (const auto& m : reply.members()) {
    table.add({text_cell(m.address()), text_cell(m.notified()), text_cell(m.port()), state_cell(m.state()),
               text_cell(m.reason()), value_cell(ago(m.changed_ms_ago())), text_cell(or_dash(m.role())),
               text_cell(or_dash(m.protocol())),
               m.service_port() == 0 ? value_cell("-") : number_cell(m.service_port()),
               text_cell(or_dash(m.id())), hook_cell(m.hook()), number_cell(m.hook_attempts()),
               text_cell(or_dash(m.hook_result()))});
  }
  return table.text(style);
}

std::string events_part(const Reply& reply, const Style& style) {
  if (reply.events().empty()) return "no events yet\n";
  Table table({{"AGO", "", true},
               {"HOST", ""},
               {"STATE", ""},
               {"REASON", ""},
               {"LOCAL", ""},
               {"PORT", ""},
               {"SEQUENCE", ""}});
  for (const auto& e : reply.events()) {
    table.add({value_cell(ago(e.ms_ago())), text_cell(e.address()), state_cell(e.state()),
               text_cell(e.reason()), text_cell(e.notified()), text_cell(e.port()),
               number_cell(e.sequence())});
  }
  return table.text(style);
}

std::string statistics_part(const Reply& reply, const Style& style) {
  const auto& s = reply.statistics();
  Listing list;
  list.add("notifications", count_cell(s.notifications()));
  list.add("ACKs sent", count_cell(s.acks()));
  list.add("repeated, ACKed again", count_cell(s.duplicates()));
  list.add("for an address we have not", count_cell(s.not_for_us(), Tone::Warn));
  list.add("malformed", count_cell(s.malformed(), Tone::Warn));
  list.add("of the other dialect", count_cell(s.other_dialect(), Tone::Warn));
  list.add("no room for the member", count_cell(s.members_dropped(), Tone::Bad));
  list.add("frames not sent", count_cell(s.send_failures(), Tone::Warn));
  list.add("hooks started", count_cell(s.hooks_started()));
  list.add("hooks failed", count_cell(s.hooks_failed(), Tone::Warn));
  list.add("hooks killed", count_cell(s.hooks_killed(), Tone::Warn));
  list.add("hooks given up", count_cell(s.hooks_given_up(), Tone::Bad));
  return list.text(style);
}

}  // namespace

std::string inof_host_text(const Reply& reply, const std::string& view, const Style& style) {
  if (!reply.enabled()) return kOff;
  if (view == "addresses") return addresses_part(reply, style);
  if (view == "events") return events_part(reply, style);
  if (view == "statistics") return statistics_part(reply, style);
  if (view == "members") return members_part(reply, style);
  return fmt::format("{} {} for {}, hook {}\n\n", reply.dialect(), reply.role(), reply.protocol(),
                     reply.hook()) +
         addresses_part(reply, style) + '\n' + members_part(reply, style);
}

void add_show_inof_host(CLI::App& show, Action& action) {
  auto view = std::make_shared<std::string>();
  auto* command = show.add_subcommand("inof-host", "iNOF host agent: what we announce, members, hooks");
  command->add_option("WHAT", *view, "addresses, members, events or statistics; without: the first two")
      ->check(CLI::IsMember({"addresses", "members", "events", "statistics"}).description(""));
  command->callback([&action, view] {
    action = [view](Context& context) {
      return context.call_and_print<v1::InofHost>(
          &v1::InofHost::StubInterface::GetInofHost, v1::GetInofHostRequest(),
          [view](const Reply& reply, const Style& style) { return inof_host_text(reply, *view, style); });
    };
  });
}

}  // namespace lossless::cli
