// SPDX-License-Identifier: Apache-2.0
// `losslessctl show buffer`, `show packet-drop` and `clear watermark`: what the buffer model holds and lost.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/format.h"
#include "cli/suggest.h"
#include "daemon/core/config_source.h"
#include "daemon/core/units.h"

namespace lossless::cli {
namespace {

Cell type_cell(bool lossless) { return text_cell(lossless ? "lossless" : "lossy"); }

std::string cleared_text(const v1::ClearWatermarkReply& reply, const Style&) {
  if (reply.ports().empty()) return "no port is configured\n";
  return "cleared the watermarks of " + printable(joined(reply.ports())) + '\n';
}

// "1/4", "2"; a threshold that is static has none.
std::string alpha_text(double alpha) {
  if (alpha == 0) return "-";
  return alpha < 1 ? fmt::format("1/{:.0f}", 1 / alpha) : fmt::format("{:.0f}", alpha);
}

std::string pools_text(const v1::ListBufferReply& reply, const Style& style) {
  Table table({{"POOL", "", true},
               {"SIZE", "bytes"},
               {"USED", "bytes"},
               {"USED", "cells"},
               {"PEAK", "bytes"},
               {"OVER", "packets"}});
  for (const auto& p : reply.pools())
    table.add({text_cell(p.name()), value_cell(p.size_bytes() ? format_size(p.size_bytes()) : "-"),
               bytes_cell(p.used_bytes()), count_cell(p.used_cells()), bytes_cell(p.peak_bytes()),
               count_cell(p.over_limit(), Tone::Bad)});
  return table.text(style);
}

}  // namespace

std::string buffer_text(const v1::ListBufferReply& reply, const Style& style) {
  if (reply.queues().empty()) return "no queues: no port is attached\n";
  Table table({{"PORT", "", true},
               {"TC", "", true},
               {"TYPE", "", true},
               {"BYTES", "came in here"},
               {"CELLS", "came in here"},
               {"PEAK", "came in here"},
               {"GUAR", "came in here"},
               {"ALPHA", "came in here"},
               {"XOFF", "headroom"},
               {"SIZE", "headroom"},
               {"USED", "headroom"},
               {"PEAK", "headroom"},
               {"OVER", "headroom"},
               {"BYTES", "to go out here"},
               {"CELLS", "to go out here"},
               {"PEAK", "to go out here"},
               {"LIMIT", "to go out here"}});
  for (const auto& q : reply.queues()) {
    const bool pfc = q.xoff_bytes() > 0;
    table.add({text_cell(q.port()), number_cell(q.tc()), type_cell(q.lossless()),
               bytes_cell(q.ingress_bytes()), count_cell(q.ingress_cells()),
               bytes_cell(q.ingress_peak_bytes()), bytes_cell(q.guaranteed_bytes()),
               text_cell(alpha_text(q.alpha())), value_cell(pfc ? format_size(q.xoff_bytes()) : "-"),
               value_cell(pfc ? format_size(q.headroom_bytes()) : "-"), bytes_cell(q.headroom_used_bytes()),
               bytes_cell(q.headroom_peak_bytes()), count_cell(q.over_limit(), Tone::Bad),
               bytes_cell(q.egress_bytes()), count_cell(q.egress_cells()), bytes_cell(q.egress_peak_bytes()),
               value_cell(format_size(q.limit_bytes()))});
  }
  const std::string cells = fmt::format("a cell is {} bytes\n", reply.cell_bytes());
  return table.text(style) + cells + (reply.pools().empty() ? "" : "\n" + pools_text(reply, style));
}

std::string packet_drops_text(const v1::ListPacketDropsReply& reply, const Style& style) {
  if (reply.queues().empty()) return "no queues: no port is attached\n";
  Table table({{"PORT", "", true},
               {"TC", "", true},
               {"TYPE", "", true},
               {"QUEUE FULL", "packets"},
               {"WRED", "packets"},
               {"POOL FULL", "packets"},
               {"WATCHDOG", "packets"}});
  for (const auto& q : reply.queues()) {
    table.add({text_cell(q.port()), number_cell(q.tc()), type_cell(q.lossless()),
               count_cell(q.tail(), Tone::Bad), count_cell(q.wred(), Tone::Bad),
               count_cell(q.pool(), Tone::Bad), count_cell(q.watchdog(), Tone::Bad)});
  }
  Table ingress({{"PORT", "", true},
                 {"ZONE", "storage packets at ingress"},
                 {"WHITE LIST", "storage packets at ingress"}});
  for (const auto& p : reply.ports())
    ingress.add(
        {text_cell(p.port()), count_cell(p.zone(), Tone::Warn), count_cell(p.whitelist(), Tone::Warn)});
  return ingress.empty() ? table.text(style) : table.text(style) + '\n' + ingress.text(style);
}

void add_show_buffer(CLI::App& show, Action& action) {
  auto port = std::make_shared<std::string>();
  auto* command = show.add_subcommand("buffer", "Buffer use by ingress and egress: now, peak, headroom");
  command->add_option("IF", *port, "Only this port");
  command->callback([&action, port] {
    action = [port](Context& context) {
      v1::ListBufferRequest request;
      request.set_port(*port);
      return context.call_and_print(&v1::Lossless::StubInterface::ListBuffer, request, buffer_text);
    };
  });
}

void add_show_packet_drop(CLI::App& show, Action& action) {
  auto port = std::make_shared<std::string>();
  auto* command = show.add_subcommand("packet-drop", "Packets dropped, by queue and reason");
  command->add_option("IF", *port, "Only this port");
  command->callback([&action, port] {
    action = [port](Context& context) {
      v1::ListPacketDropsRequest request;
      request.set_port(*port);
      return context.call_and_print(&v1::Lossless::StubInterface::ListPacketDrops, request,
                                    packet_drops_text);
    };
  });
}

void add_clear(CLI::App& root, Action& action) {
  auto* clear = root.add_subcommand("clear", "Start counters or BGP sessions anew");
  clear->require_subcommand(1);
  add_clear_bgp(*clear, action);
  auto port = std::make_shared<std::string>();
  auto* command = clear->add_subcommand("watermark", "Highest buffer levels and over-limit counts");
  command->add_option("IF", *port, "Only this port");
  command->callback([&action, port] {
    action = [port](Context& context) {
      v1::ClearWatermarkRequest request;
      request.set_port(*port);
      return context.call_and_print(&v1::Lossless::StubInterface::ClearWatermark, request, cleared_text);
    };
  });
  add_clear_flows(*clear, action);
}

}  // namespace lossless::cli
