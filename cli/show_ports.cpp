// SPDX-License-Identifier: Apache-2.0
// `losslessctl show ports`.
#include "cli/commands.h"
#include "cli/format.h"

namespace lossless::cli {
namespace {

Tone tone_of(v1::Port::State state) {
  switch (state) {
    case v1::Port::ATTACHED:
      return Tone::Good;
    case v1::Port::REFUSED:
      return Tone::Bad;
    case v1::Port::ABSENT:
    case v1::Port::DETACHED:
      return Tone::Warn;
    default:
      return Tone::Plain;
  }
}

Cell state_cell(const v1::Port& port) {
  return text_cell(v1::Port::State_Name(port.state()), tone_of(port.state()));
}

Cell link_cell(const v1::Port& port) {
  if (port.ifindex() == 0) return text_cell("-");
  return port.link_up() ? text_cell("up") : text_cell("down", Tone::Warn);
}

std::string rate_text(const v1::Port& port) {
  return port.rate_bps() == 0 ? "-" : human_rate(static_cast<double>(port.rate_bps()));
}

Cell xdp_cell(const v1::Port& port) { return text_cell(port.xdp().empty() ? "-" : port.xdp()); }

std::uint64_t bad_packets(const v1::Port& port) {
  return port.bad_l2_short() + port.bad_ip_short() + port.bad_ip_version() + port.bad_ip_hlen() +
         port.bad_remark();
}

}  // namespace

std::string ports_text(const v1::ListPortsReply& reply, const Style& style) {
  if (reply.ports().empty()) return "no ports are configured\n";
  Table table({{"PORT", "", true},
               {"STATE", ""},
               {"LINK", ""},
               {"RATE", ""},
               {"MTU", ""},
               {"DRIVER", ""},
               {"XDP", ""},
               {"TRUST", "priority"},
               {"PRIO", "priority"},
               {"UNTRUSTED", "packets"},
               {"REMARKED", "packets"},
               {"BAD", "packets"},
               {"REASON", ""}});
  for (const auto& port : reply.ports()) {
    table.add({text_cell(port.name()), state_cell(port), link_cell(port), value_cell(rate_text(port)),
               port.mtu() == 0 ? value_cell("-") : number_cell(port.mtu()),
               text_cell(port.driver().empty() ? "-" : port.driver()), xdp_cell(port),
               text_cell(port.trust()), number_cell(port.priority()), count_cell(port.untrusted()),
               count_cell(port.remarked()), count_cell(bad_packets(port), Tone::Warn),
               text_cell(port.reason(), tone_of(port.state()))});
  }
  return table.text(style);
}

std::string port_details(const v1::Port& port, const Style& style) {
  Listing list;
  list.add("port", text_cell(port.name()));
  list.add("state", state_cell(port));
  if (!port.reason().empty()) list.add("reason", text_cell(port.reason(), tone_of(port.state())));
  list.add("ifindex", port.ifindex() == 0 ? text_cell("- (absent)") : number_cell(port.ifindex()));
  list.add("link", link_cell(port));
  list.add("rate", text_cell(port.rate_bps() == 0 ? "not limited" : rate_text(port)));
  list.add("mtu", number_cell(port.mtu()));
  list.add("driver", text_cell(port.driver().empty() ? "-" : port.driver()));
  list.add("xdp", xdp_cell(port));
  list.add("trust", text_cell(port.trust()));
  list.add("priority", number_cell(port.priority()));
  list.add("took port priority", count_cell(port.untrusted()));
  list.add("DSCP rewritten", count_cell(port.remarked()));
  list.add("bad: short L2 header", count_cell(port.bad_l2_short(), Tone::Warn));
  list.add("bad: short IP header", count_cell(port.bad_ip_short(), Tone::Warn));
  list.add("bad: IP version", count_cell(port.bad_ip_version(), Tone::Warn));
  list.add("bad: IP header length", count_cell(port.bad_ip_hlen(), Tone::Warn));
  list.add("bad: rewrite failed", count_cell(port.bad_remark(), Tone::Bad));
  return list.text(style);
}

void add_show_ports(CLI::App& show, Action& action) {
  auto port = std::make_shared<std::string>();
  auto* command =
      show.add_subcommand("ports", "Managed ports: state, link, rate, trust; with IF every detail");
  command->add_option("IF", *port, "Only this port");
  command->callback([&action, port] {
    action = [port](Context& context) {
      v1::ListPortsRequest request;
      request.set_port(*port);
      return context.call_and_print(&v1::Lossless::StubInterface::ListPorts, request,
                                    [port](const v1::ListPortsReply& reply, const Style& style) {
                                      const bool one = !port->empty() && reply.ports_size() == 1;
                                      return one ? port_details(reply.ports(0), style)
                                                 : ports_text(reply, style);
                                    });
    };
  });
}

}  // namespace lossless::cli
