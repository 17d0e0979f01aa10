// SPDX-License-Identifier: Apache-2.0
// `losslessctl show dcqcn`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/commands.h"
#include "cli/format.h"
#include "dcqcn.grpc.pb.h"

namespace lossless::cli {
namespace {

std::string state_of(bool on, const std::string& reason) {
  if (on) return "on";
  return reason.empty() ? "off" : "off: " + reason;
}

std::string us(std::uint64_t time) { return fmt::format("{}us", time); }

std::string settings_part(const v1::GetDcqcnReply& reply, const Style& style) {
  const auto& p = reply.parameters();
  Listing list;
  list.add("notification point", text_cell(state_of(reply.np(), "")));
  list.add("reaction point", text_cell(state_of(reply.rp(), reply.rp_reason())));
  list.add("guard", text_cell(state_of(reply.guard(), "")));
  list.add("QPs known", text_cell(reply.rdma_reason().empty() ? std::to_string(reply.known_qps())
                                                              : "none: " + reply.rdma_reason()));
  list.add("cnp_per", text_cell(p.cnp_per()));
  list.add("min_time_between_cnps", text_cell(us(p.min_time_between_cnps_us())));
  list.add("cnp_dscp", number_cell(p.cnp_dscp()));
  list.add("cnp_802p_prio", number_cell(p.cnp_802p_prio()));
  list.add("rate_reduce_monitor_period", text_cell(us(p.rate_reduce_monitor_period_us())));
  list.add("dce_tcp_rtt", text_cell(us(p.dce_tcp_rtt_us())));
  list.add("dce_tcp_g", text_cell(fmt::format("{}/1024", p.dce_tcp_g())));
  list.add("rpg_time_reset", text_cell(us(p.rpg_time_reset_us())));
  list.add("rpg_byte_reset", text_cell(human_size(p.rpg_byte_reset())));
  list.add("rpg_threshold", number_cell(p.rpg_threshold()));
  list.add("rpg_ai_rate", text_cell(human_rate(static_cast<double>(p.rpg_ai_rate_bps()))));
  list.add("rpg_hai_rate", text_cell(human_rate(static_cast<double>(p.rpg_hai_rate_bps()))));
  list.add("rpg_min_rate", text_cell(human_rate(static_cast<double>(p.rpg_min_rate_bps()))));
  return list.text(style);
}

std::string dropped_of(const v1::DcqcnPort& port) {
  std::vector<std::string> out;
  const std::map<std::string, std::uint64_t> sorted(port.dropped().begin(), port.dropped().end());
  for (const auto& [kind, count] : sorted)
    if (count > 0) out.push_back(fmt::format("{} {}", kind, format_count(count)));
  return out.empty() ? "-" : fmt::format("{}", fmt::join(out, ", "));
}

std::string ports_part(const v1::GetDcqcnReply& reply, const Style& style) {
  Table table({{"PORT", "", true},
               {"np_ecn_marked_roce_packets", "notification point"},
               {"np_cnp_sent", "notification point"},
               {"HELD", "notification point"},
               {"NO PEER", "notification point"},
               {"FAILED", "notification point"},
               {"rp_cnp_handled", "reaction point"},
               {"rp_cnp_ignored", "reaction point"},
               {"PACED", "reaction point"},
               {"DROPPED", "guard"}});
  for (const auto& p : reply.ports())
    table.add({text_cell(p.port()), count_cell(p.np_ecn_marked_roce_packets()), count_cell(p.np_cnp_sent()),
               count_cell(p.np_held()), count_cell(p.np_no_peer(), Tone::Warn),
               count_cell(p.np_no_carrier(), Tone::Warn), count_cell(p.rp_cnp_handled()),
               count_cell(p.rp_cnp_ignored(), Tone::Warn), count_cell(p.rp_paced()),
               text_cell(dropped_of(p))});
  return table.text(style);
}

std::string qps_part(const v1::GetDcqcnReply& reply, const Style& style) {
  if (reply.qps().empty()) return "no QP was slowed down lately\n";
  Table table({{"PORT", "", true},
               {"QPN", "", true},
               {"PEER", "", true},
               {"QPN", "peer"},
               {"NOW", "rate"},
               {"TARGET", "rate"},
               {"LINE", "rate"},
               {"ALPHA", "state"},
               {"T", "state"},
               {"BC", "state"},
               {"CUTS", "state"},
               {"CNPS", "seen"},
               {"PACKETS", "seen"},
               {"BYTES", "seen"},
               {"PACED", "seen"},
               {"LAST", "seen"}});
  for (const auto& q : reply.qps())
    table.add({text_cell(q.port()), number_cell(q.qpn()), text_cell(q.peer()), number_cell(q.peer_qpn()),
               rate_cell(static_cast<double>(q.rate_bps())), rate_cell(static_cast<double>(q.target_bps())),
               rate_cell(static_cast<double>(q.line_bps())), value_cell(fmt::format("{:.3f}", q.alpha())),
               number_cell(q.timer_stage()), number_cell(q.byte_stage()), count_cell(q.cuts()),
               count_cell(q.cnps()), count_cell(q.packets()), bytes_cell(q.bytes()), count_cell(q.paced()),
               value_cell(fmt::format("{:.1f}s", static_cast<double>(q.last_ms_ago()) / 1000))});
  return table.text(style);
}

}  // namespace

std::string dcqcn_text(const v1::GetDcqcnReply& reply, const Style& style) {
  if (!reply.enabled()) return "DCQCN is off: see [dcqcn] in lossless.toml(5); it needs role = \"host\"\n";
  return settings_part(reply, style) + '\n' + ports_part(reply, style) + '\n' + qps_part(reply, style);
}

void add_show_dcqcn(CLI::App& show, Action& action) {
  auto* command = show.add_subcommand("dcqcn", "DCQCN of a host: parameters, counters, rates of QPs");
  command->callback([&action] {
    action = [](Context& context) {
      return context.call_and_print<v1::Dcqcn>(&v1::Dcqcn::StubInterface::GetDcqcn, v1::GetDcqcnRequest{},
                                               dcqcn_text);
    };
  });
}

}  // namespace lossless::cli
