// SPDX-License-Identifier: Apache-2.0
// `losslessctl show ecn-overlay`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/format.h"
#include "ecn_overlay.grpc.pb.h"

namespace lossless::cli {
namespace {

std::string entered_part(const v1::ListEcnOverlayReply& reply, const Style& style) {
  Table table({{"PORT", "", true},
               {"NOT-ECT", "entered, by inner ECN"},
               {"ECT0", "entered, by inner ECN"},
               {"ECT1", "entered, by inner ECN"},
               {"CE", "entered, by inner ECN"},
               {"CORRECTED", "outer header"},
               {"DSCP CARRIED", "outer header"},
               {"NOT IP", "inner frames"},
               {"BAD", "inner frames"},
               {"FAILED", "inner frames"}});
  for (const auto& p : reply.ports()) {
    if (!p.on()) continue;
    const auto& e = p.entered();
    table.add({text_cell(p.port()), count_cell(e.not_ect()), count_cell(e.ect0()), count_cell(e.ect1()),
               count_cell(e.ce()), count_cell(p.corrected()), count_cell(p.carried()), count_cell(p.not_ip()),
               count_cell(p.bad(), Tone::Warn), count_cell(p.failed(), Tone::Bad)});
  }
  return table.text(style);
}

std::string left_part(const v1::ListEcnOverlayReply& reply, const Style& style) {
  Table table({{"PORT", "", true},
               {"INNER", "", true},
               {"NOT-ECT", "left, by outer ECN"},
               {"ECT0", "left, by outer ECN"},
               {"ECT1", "left, by outer ECN"},
               {"CE", "left, by outer ECN"},
               {"RESTORED", "of the port"},
               {"DROPPED", "of the port"}});
  for (const auto& p : reply.ports()) {
    if (!p.on()) continue;
    bool first = true;
    for (const auto& row : p.left()) {
      const auto& o = row.outer();
      table.add({text_cell(p.port()), text_cell(row.inner()), count_cell(o.not_ect()), count_cell(o.ect0()),
                 count_cell(o.ect1()), count_cell(o.ce()), first ? count_cell(p.restored()) : text_cell(""),
                 first ? count_cell(p.dropped(), Tone::Warn) : text_cell("")});
      first = false;
    }
  }
  return table.text(style);
}

}  // namespace

std::string ecn_overlay_text(const v1::ListEcnOverlayReply& reply, const Style& style) {
  if (!reply.enabled()) return "ECN overlay is off: see [ecn_overlay] in lossless.toml(5)\n";
  return fmt::format("VXLAN on UDP port {}, DSCPs carried out: {}\ntunnels end at {}\n\n{}\n{}",
                     reply.udp_port(), reply.carry_dscp(),
                     reply.ends().empty() ? "no address" : fmt::format("{}", fmt::join(reply.ends(), ", ")),
                     entered_part(reply, style), left_part(reply, style));
}

void add_show_ecn_overlay(CLI::App& show, Action& action) {
  auto port = std::make_shared<std::string>();
  auto* command = show.add_subcommand("ecn-overlay", "Congestion marks carried across VXLAN");
  command->add_option("IF", *port, "Only this port");
  command->callback([&action, port] {
    action = [port](Context& context) {
      v1::ListEcnOverlayRequest request;
      request.set_port(*port);
      return context.call_and_print<v1::EcnOverlay>(&v1::EcnOverlay::StubInterface::ListEcnOverlay, request,
                                                    ecn_overlay_text);
    };
  });
}

}  // namespace lossless::cli
