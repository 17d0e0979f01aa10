// SPDX-License-Identifier: Apache-2.0
// `losslessctl show dcb`, `show ets`, `show application` and `show ecmp`.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/format.h"
#include "dcb.grpc.pb.h"

namespace lossless::cli {
namespace {

Tone tone_of(const std::string& state) {
  if (state == "ok" || state == "hardware") return Tone::Good;
  if (state == "refused" || state == "ignored") return Tone::Bad;
  if (state == "changed" || state == "firmware") return Tone::Warn;
  return Tone::Dim;
}

std::string head_line(const v1::DcbPort& port) {
  std::string out = fmt::format("{}: {}", port.port(), port.state());
  if (!port.reason().empty()) out += fmt::format(" ({})", port.reason());
  if (!port.driver().empty()) out += fmt::format(", driver {}", port.driver());
  out += fmt::format(", dcb = {}", port.use());
  if (port.writes()) out += fmt::format(", {} requests to the driver", port.writes());
  if (port.foreign_changes())
    out += fmt::format("\n  changed by another program {} times, put back {} times{}; last {} ago: {}",
                       port.foreign_changes(), port.put_back(), port.let_be() ? ", let be now" : "",
                       format_uptime(port.last_foreign_ms_ago()), port.last_foreign());
  return out + '\n';
}

std::string name_of(const v1::EcmpNextHop& hop) {
  return hop.gateway().empty() ? hop.device() : fmt::format("{} dev {}", hop.gateway(), hop.device());
}

struct EcmpWords {
  v1::GetEcmpRequest request;
  std::uint32_t flows = 0;
  std::uint32_t source_port = 0;
  std::uint32_t destination_port = 0;
};

}  // namespace

std::string dcb_text(const v1::ListDcbReply& reply, const Style& style) {
  std::string out;
  for (const auto& port : reply.ports()) {
    out += (out.empty() ? "" : "\n") + head_line(port);
    if (port.parts().empty()) continue;
    Table table({{"PART", "", true},
                 {"WHERE", ""},
                 {"STATE", ""},
                 {"CONFIGURED", "settings of the driver"},
                 {"ACTUAL", "settings of the driver"},
                 {"WHY", ""}});
    for (const auto& part : port.parts())
      table.add({text_cell(part.name()), text_cell(part.where()),
                 text_cell(part.state(), tone_of(part.state())), text_cell(or_dash(part.wanted())),
                 text_cell(or_dash(part.actual())), text_cell(or_dash(part.why()))});
    out += table.text(style);
  }
  return out.empty() ? "no ports\n" : out;
}

std::string ets_text(const v1::ListEtsReply& reply, const Style& style) {
  Table table({{"PORT", "", true},
               {"TC", "", true},
               {"SCHED", "configured"},
               {"GROUP", "configured"},
               {"WEIGHT", "configured"},
               {"SHARE", "configured"},
               {"SERVED", "configured"},
               {"WHERE", ""},
               {"BYTES", "sent"},
               {"SHARE", "sent"},
               {"WAITING", ""}});
  for (const auto& c : reply.classes()) {
    const bool wrr = c.group() != 0;
    table.add({text_cell(c.port()), number_cell(c.tc()), text_cell(c.schedule()),
               wrr ? text_cell(std::to_string(c.group())) : text_cell("-"),
               wrr ? text_cell(std::to_string(c.weight())) : text_cell("-"),
               wrr ? value_cell(fmt::format("{}%", c.share())) : value_cell("-"), number_cell(c.served()),
               text_cell(c.where()), bytes_cell(c.sent_bytes()),
               value_cell(fmt::format("{:.1f}%", c.sent_share())), bytes_cell(c.backlog_bytes())});
  }
  return table.empty() ? "no ports\n" : table.text(style);
}

namespace {

std::string protocol_text(const v1::ApplicationEntry& entry) {
  return entry.field() == "ethertype" ? fmt::format("0x{:04x}", entry.protocol())
                                      : std::to_string(entry.protocol());
}

// "udp 4791 = 5; tcp 3260 = 4"
std::string own_table(const v1::ApplicationPort& port) {
  std::string out;
  for (const auto& entry : port.own())
    out += fmt::format("{}{} {} = {}", out.empty() ? "" : "; ", entry.field(), protocol_text(entry),
                       entry.priority());
  return out.empty() ? "no entries" : out;
}

}  // namespace

std::string applications_text(const v1::ListApplicationsReply& reply, const Style& style) {
  std::string out;
  if (reply.entries().empty()) {
    out = "no entries\n";
  } else {
    Table table({{"FIELD", "", true}, {"PROTOCOL", ""}, {"PRIORITY", ""}});
    for (const auto& entry : reply.entries())
      table.add({text_cell(entry.field()), value_cell(protocol_text(entry)), number_cell(entry.priority())});
    out = table.text(style);
  }
  Table ports({{"PORT", "", true},
               {"TRUST", ""},
               {"TABLE", ""},
               {"OWN, BY DCBX", ""},
               {"TCS", ""},
               {"DRIVER HAS IT", ""},
               {"DRIVER TRUSTS", ""}});
  for (const auto& port : reply.ports())
    ports.add({text_cell(port.port()), text_cell(port.trust()),
               port.used() ? text_cell("used", Tone::Good) : text_cell("not used", Tone::Dim),
               text_cell(port.agreed() ? own_table(port) : "-"),
               text_cell(or_dash(fmt::format("{}", fmt::join(port.tc(), ",")))),
               text_cell(port.in_hardware() ? "yes" : "no"),
               text_cell(or_dash(fmt::format("{}", fmt::join(port.driver_trust(), ","))))});
  return ports.empty() ? out : out + '\n' + ports.text(style);
}

std::string ecmp_text(const v1::GetEcmpReply& reply, const Style& style) {
  std::string out = fmt::format(
      "hash {}: {}; the kernel's policy is {} for IPv4 and {} for IPv6, repaired {} times\n", reply.wanted(),
      reply.wanted() == "keep" ? "left alone"
      : reply.in_force()       ? "in force"
                               : "NOT in force",
      reply.ipv4_policy(), reply.ipv6_policy(), reply.repaired());
  if (!reply.error().empty()) out += reply.error() + '\n';
  if (reply.next_hops().empty()) return out;
  Table table({{"NEXT HOP", "", true}, {"FLOWS", ""}, {"SHARE", ""}});
  for (const auto& hop : reply.next_hops())
    table.add({text_cell(name_of(hop)), count_cell(hop.flows()),
               value_cell(fmt::format("{:.1f}%", 100.0 * hop.flows() / reply.flows_size()))});
  return out + '\n' + table.text(style);
}

void add_show_dcb(CLI::App& show, Action& action) {
  auto port = std::make_shared<std::string>();
  auto* dcb = show.add_subcommand("dcb", "DCB: what works in hardware, what in software, and why");
  dcb->add_option("IF", *port, "Only this port");
  dcb->callback([&action, port] {
    action = [port](Context& context) {
      v1::ListDcbRequest request;
      request.set_port(*port);
      return context.call_and_print<v1::Dcb>(&v1::Dcb::StubInterface::ListDcb, request, dcb_text);
    };
  });
  auto* ets = show.add_subcommand("ets", "ETS: strict TCs, WRR groups, shares configured and sent");
  ets->add_option("IF", *port, "Only this port");
  ets->callback([&action, port] {
    action = [port](Context& context) {
      v1::ListEtsRequest request;
      request.set_port(*port);
      return context.call_and_print<v1::Dcb>(&v1::Dcb::StubInterface::ListEts, request, ets_text);
    };
  });
  auto* applications = show.add_subcommand("application", "The application priority table, and who uses it");
  applications->callback([&action] {
    action = [](Context& context) {
      return context.call_and_print<v1::Dcb>(&v1::Dcb::StubInterface::ListApplications,
                                             v1::ListApplicationsRequest(), applications_text);
    };
  });
}

// With an address: which next hop flows to it take.
void add_show_ecmp(CLI::App& show, Action& action) {
  auto words = std::make_shared<EcmpWords>();
  auto* ecmp = show.add_subcommand("ecmp", "ECMP: hash policy, and the next hops of a list of flows");
  ecmp->add_option("ADDRESS", *words->request.mutable_destination(), "Destination of the flows to test");
  ecmp->add_option("--source", *words->request.mutable_source(), "Their source address")
      ->type_name("ADDRESS");
  ecmp->add_option("--flows", words->flows, "How many, each with a source port of its own (64)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096).description(""));
  ecmp->add_option("--source-port", words->source_port, "Source port of the first (49152)")
      ->type_name("PORT")
      ->check(CLI::Range(1, 65535).description(""));
  ecmp->add_option("--destination-port", words->destination_port, "Destination port (4791)")
      ->type_name("PORT")
      ->check(CLI::Range(1, 65535).description(""));
  ecmp->callback([&action, words] {
    action = [words](Context& context) {
      words->request.set_flows(words->flows);
      words->request.set_first_source_port(words->source_port);
      words->request.set_destination_port(words->destination_port);
      return context.call_and_print<v1::Dcb>(&v1::Dcb::StubInterface::GetEcmp, words->request, ecmp_text);
    };
  });
}

}  // namespace lossless::cli
