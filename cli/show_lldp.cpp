// SPDX-License-Identifier: Apache-2.0
// `losslessctl show lldp`.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/format.h"
#include "lldp.grpc.pb.h"

namespace lossless::cli {
namespace {

std::string seconds(std::uint64_t ms) { return fmt::format("{}s", (ms + 500) / 1000); }

template <class Names>
std::string list_of(const Names& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

std::string management_of(const v1::LldpPacket& packet) {
  std::vector<std::string> out;
  for (const auto& entry : packet.management()) out.push_back(entry.address());
  return list_of(out);
}

Outcome neighbors(Context& context, const std::string& port) {
  v1::ListLldpNeighborsRequest request;
  request.set_port(port);
  return context.call_and_print<v1::Lldp>(&v1::Lldp::StubInterface::ListLldpNeighbors, request,
                                          lldp_neighbors_text);
}

Outcome local(Context& context, const std::string& port) {
  v1::ListLldpLocalRequest request;
  request.set_port(port);
  return context.call_and_print<v1::Lldp>(&v1::Lldp::StubInterface::ListLldpLocal, request, lldp_local_text);
}

Outcome statistics(Context& context, const std::string& port) {
  v1::ListLldpStatisticsRequest request;
  request.set_port(port);
  return context.call_and_print<v1::Lldp>(&v1::Lldp::StubInterface::ListLldpStatistics, request,
                                          lldp_statistics_text);
}

}  // namespace

std::string lldp_neighbors_text(const v1::ListLldpNeighborsReply& reply, const Style& style) {
  if (reply.neighbors().empty()) return "no neighbours\n";
  Table table({{"PORT", "", true},
               {"CHASSIS", "neighbour"},
               {"PORT ID", "neighbour"},
               {"SYSTEM", "neighbour"},
               {"MANAGEMENT", "neighbour"},
               {"CAPABILITIES", "neighbour"},
               {"ORG TLVS", "neighbour"},
               {"TTL", "time"},
               {"KNOWN", "time"},
               {"CHANGED", "time"},
               {"SEEN", "time"},
               {"FRAMES", ""}});
  for (const auto& n : reply.neighbors()) {
    const auto& p = n.packet();
    table.add({text_cell(n.port()), text_cell(p.chassis_id()), text_cell(p.port_id()),
               text_cell(or_dash(p.system_name())), text_cell(or_dash(management_of(p))),
               text_cell(or_dash(list_of(p.capabilities().enabled()))),
               number_cell(static_cast<std::uint64_t>(p.org_size())), value_cell(seconds(n.expires_ms())),
               value_cell(seconds(n.age_ms())), value_cell(seconds(n.changed_ms_ago())),
               value_cell(seconds(n.seen_ms_ago())), count_cell(n.frames())});
  }
  return table.text(style);
}

std::string lldp_local_text(const v1::ListLldpLocalReply& reply, const Style& style) {
  if (!reply.enabled()) return "LLDP is off ([lldp] enabled = false)\n";
  std::string out =
      fmt::format("every {} s, TTL {} intervals, fast start {} frames, {} neighbours per port\n",
                  reply.interval_s(), reply.hold(), reply.fast_start(), reply.max_neighbors());
  if (reply.ports().empty()) return out + "no port is attached\n";
  Table table({{"PORT", "", true},
               {"MODE", ""},
               {"LINK", ""},
               {"CHASSIS", "says"},
               {"PORT ID", "says"},
               {"SYSTEM", "says"},
               {"DESCRIPTION", "says"},
               {"MANAGEMENT", "says"},
               {"CAPABILITIES", "says"},
               {"ORG TLVS", "says"}});
  for (const auto& port : reply.ports()) {
    const auto& p = port.packet();
    table.add({text_cell(port.port()), text_cell(port.mode(), port.mode() == "off" ? Tone::Dim : Tone::Plain),
               port.up() ? text_cell("up") : text_cell("down", Tone::Warn), text_cell(p.chassis_id()),
               text_cell(p.port_id()), text_cell(or_dash(p.system_name())),
               text_cell(or_dash(p.system_description())), text_cell(or_dash(management_of(p))),
               text_cell(or_dash(list_of(p.capabilities().enabled()))),
               number_cell(static_cast<std::uint64_t>(p.org_size()))});
  }
  return out + '\n' + table.text(style);
}

std::string lldp_statistics_text(const v1::ListLldpStatisticsReply& reply, const Style& style) {
  if (reply.ports().empty()) return "no port has LLDP\n";
  Table table({{"PORT", "", true},
               {"NOW", "neighbours"},
               {"ADDED", "neighbours"},
               {"CHANGED", "neighbours"},
               {"AGED", "neighbours"},
               {"DELETED", "neighbours"},
               {"NO ROOM", "neighbours"},
               {"SENT", "frames"},
               {"UNSENT", "frames"},
               {"RECEIVED", "frames"},
               {"DISCARDED", "frames"},
               {"ERRORS", "frames"},
               {"LOST", "frames"},
               {"DISCARDED", "TLVs"},
               {"UNKNOWN", "TLVs"}});
  for (const auto& p : reply.ports()) {
    table.add({text_cell(p.port()),
               p.full() ? text_cell(fmt::format("{} (full)", p.neighbors()), Tone::Warn)
                        : text_cell(std::to_string(p.neighbors())),
               count_cell(p.inserts()), count_cell(p.changes()), count_cell(p.ageouts(), Tone::Warn),
               count_cell(p.deletes()), count_cell(p.drops(), Tone::Warn), count_cell(p.frames_out()),
               count_cell(p.frames_out_failed(), Tone::Warn), count_cell(p.frames_in()),
               count_cell(p.frames_discarded(), Tone::Warn), count_cell(p.frames_in_errors(), Tone::Warn),
               count_cell(p.frames_lost(), Tone::Bad), count_cell(p.tlvs_discarded(), Tone::Warn),
               count_cell(p.tlvs_unrecognized())});
  }
  return table.text(style);
}

// The view may be left out: `show lldp eth0`.
void add_show_lldp(CLI::App& show, Action& action) {
  auto view = std::make_shared<std::string>();
  auto port = std::make_shared<std::string>();
  auto* command = show.add_subcommand("lldp", "LLDP: neighbours of the ports, what we send, counters");
  command->add_option("VIEW", *view, "neighbors (default), local or statistics");
  command->add_option("IF", *port, "Only this port");
  command->callback([&action, view, port] {
    action = [view, port](Context& context) -> Outcome {
      if (*view == "local") return local(context, *port);
      if (*view == "statistics") return statistics(context, *port);
      if (view->empty() || *view == "neighbors") return neighbors(context, *port);
      if (port->empty()) return neighbors(context, *view);
      return usage_failure(
          fmt::format("show lldp: '{}' is no view; views are neighbors, local and statistics", *view));
    };
  });
}

}  // namespace lossless::cli
