// SPDX-License-Identifier: Apache-2.0
// `losslessctl show ecn`.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/format.h"
#include "daemon/core/units.h"

namespace lossless::cli {
namespace {

Cell average_cell(const v1::Ecn& e) {
  return text_cell(e.ewma_shift() == 0 ? "instant" : fmt::format("ewma 2^-{}", e.ewma_shift()));
}

std::vector<Cell> threshold_cells(const v1::Ecn& e) {
  const bool set = e.kmax_bytes() > 0;
  return {e.enabled() ? text_cell("on", Tone::Good) : text_cell("off"),
          value_cell(set ? format_size(e.kmin_bytes()) : "-"),
          value_cell(set ? format_size(e.kmax_bytes()) : "-"),
          value_cell(set ? format_probability(e.pmax()) : "-"),
          set ? average_cell(e) : text_cell("-"),
          text_cell(e.point().empty() ? "-" : e.point())};
}

}  // namespace

std::string ecn_text(const v1::ListEcnReply& reply, const Style& style) {
  if (reply.queues().empty()) return "no queues: no port is attached\n";
  Table table({{"PORT", "", true},
               {"TC", "", true},
               {"TYPE", "", true},
               {"ECN", "thresholds"},
               {"KMIN", "thresholds"},
               {"KMAX", "thresholds"},
               {"PMAX", "thresholds"},
               {"DEPTH", "thresholds"},
               {"POINT", "thresholds"},
               {"NOT-ECT", "packets seen"},
               {"ECT(0)", "packets seen"},
               {"ECT(1)", "packets seen"},
               {"CE", "packets seen"},
               {"NOT-IP", "packets seen"},
               {"NO-DEPTH", "packets seen"},
               {"ALL", "selected by WRED"},
               {"MARKED", "selected by WRED"},
               {"DROPPED", "selected by WRED"},
               {"WAS-CE", "selected by WRED"},
               {"SPARED", "selected by WRED"},
               {"FAILED", "selected by WRED"}});
  for (const auto& e : reply.queues()) {
    std::vector<Cell> row{text_cell(e.port()), number_cell(e.tc()),
                          text_cell(e.lossless() ? "lossless" : "lossy")};
    for (auto& cell : threshold_cells(e)) row.push_back(std::move(cell));
    row.insert(row.end(),
               {count_cell(e.not_ect()), count_cell(e.ect0()), count_cell(e.ect1()), count_cell(e.ce()),
                count_cell(e.not_ip()), count_cell(e.no_depth(), Tone::Bad), count_cell(e.selected()),
                count_cell(e.marked(), Tone::Warn), count_cell(e.dropped(), Tone::Bad),
                count_cell(e.already_ce()), count_cell(e.spared()), count_cell(e.failed(), Tone::Bad)});
    table.add(std::move(row));
  }
  return table.text(style);
}

void add_show_ecn(CLI::App& show, Action& action) {
  auto port = std::make_shared<std::string>();
  auto* command = show.add_subcommand("ecn", "WRED/ECN thresholds and what was seen, marked and dropped");
  command->add_option("IF", *port, "Only this port");
  command->callback([&action, port] {
    action = [port](Context& context) {
      v1::ListEcnRequest request;
      request.set_port(*port);
      return context.call_and_print(&v1::Lossless::StubInterface::ListEcn, request, ecn_text);
    };
  });
}

}  // namespace lossless::cli
