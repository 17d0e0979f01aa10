// SPDX-License-Identifier: Apache-2.0
// `losslessctl show ipcc`: CNPs that the switch sends by the depth of its queues.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/format.h"
#include "daemon/core/units.h"
#include "roce.grpc.pb.h"

namespace lossless::cli {

std::string ipcc_text(const v1::ListIpccReply& reply, const Style& style) {
  if (reply.queues().empty()) return "no queue has IPCC: see ipcc in lossless.toml(5)\n";
  Table table({{"PORT", "", true},
               {"TC", "", true},
               {"LOW", "depth"},
               {"HIGH", "depth"},
               {"NOW", "depth"},
               {"FEW", "one CNP for"},
               {"MANY", "one CNP for"},
               {"RISING", "packets, low"},
               {"FALLING", "packets, low"},
               {"RISING", "packets, high"},
               {"FALLING", "packets, high"},
               {"FEW", "CNPs sent"},
               {"MANY", "CNPs sent"},
               {"UNPAIRED", "not sent"},
               {"FLOW LIMIT", "not sent"},
               {"PORT LIMIT", "not sent"},
               {"FAILED", "not sent"}});
  for (const auto& q : reply.queues()) {
    table.add({text_cell(q.port()), number_cell(q.tc()), value_cell(format_size(q.low_bytes())),
               value_cell(format_size(q.high_bytes())), text_cell(q.now()),
               value_cell(format_size(q.few_bytes())), value_cell(format_size(q.many_bytes())),
               count_cell(q.packets_rising_low()), count_cell(q.packets_falling_low()),
               count_cell(q.packets_rising_high()), count_cell(q.packets_falling_high()),
               count_cell(q.sent_few()), count_cell(q.sent_many()), count_cell(q.unpaired(), Tone::Warn),
               count_cell(q.flow_limit()), count_cell(q.port_limit(), Tone::Warn),
               count_cell(q.failed(), Tone::Bad)});
  }
  return table.text(style);
}

void add_show_ipcc(CLI::App& show, Action& action) {
  auto port = std::make_shared<std::string>();
  auto* command = show.add_subcommand("ipcc", "CNPs this switch sends, by depth and trend of its queues");
  command->add_option("IF", *port, "Only this port");
  command->callback([&action, port] {
    action = [port](Context& context) {
      v1::ListIpccRequest request;
      request.set_port(*port);
      return context.call_and_print<v1::Roce>(&v1::Roce::StubInterface::ListIpcc, request, ipcc_text);
    };
  });
}

}  // namespace lossless::cli
