// SPDX-License-Identifier: Apache-2.0
// `losslessctl show pfc hook-flows`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/format.h"

namespace lossless::cli {
namespace {

std::string flows_part(const v1::ListHookFlowsReply& reply, const Style& style) {
  Table table({{"SOURCE", "", true},
               {"DESTINATION", "", true},
               {"IN", "", true},
               {"OUT", "", true},
               {"DSCP", "", true},
               {"MOVED", "became"},
               {"DSCP", "became"},
               {"TC", "became"},
               {"PACKETS", "seen"},
               {"BYTES", "seen"},
               {"LAST", "seen"}});
  for (const auto& f : reply.flows()) {
    table.add({text_cell(f.source()), text_cell(f.destination()), text_cell(f.ingress()),
               text_cell(f.egress()), number_cell(f.dscp()),
               f.moved() ? text_cell("yes", Tone::Good) : text_cell("no", Tone::Warn),
               number_cell(f.new_dscp()), number_cell(f.tc()), count_cell(f.packets()), bytes_cell(f.bytes()),
               value_cell(fmt::format("{:.1f}s", static_cast<double>(f.last_ms_ago()) / 1000))});
  }
  return table.text(style);
}

}  // namespace

std::string hook_flows_text(const v1::ListHookFlowsReply& reply, const Style& style) {
  if (reply.groups().empty()) return "no port groups: see [[port_group]] in lossless.toml(5)\n";
  std::string out;
  for (const auto& group : reply.groups())
    out += fmt::format("group {}: {}\n", group.name(), fmt::join(group.ports(), ", "));
  out += fmt::format("packets: {} moved, {} left as they are, {} that could not be rewritten\n",
                     format_count(reply.moved()), format_count(reply.other()), format_count(reply.failed()));
  if (reply.flows().empty()) return out + "no hook flows\n";
  return out + '\n' + flows_part(reply, style);
}

void add_show_hook_flows(CLI::App& pfc, Action& action) {
  auto* command = pfc.add_subcommand(
      "hook-flows", "Flows that come in and leave by ports of one group, and what became of them");
  command->callback([&action] {
    action = [](Context& context) {
      return context.call_and_print(&v1::Lossless::StubInterface::ListHookFlows, v1::ListHookFlowsRequest{},
                                    hook_flows_text);
    };
  });
}

}  // namespace lossless::cli
