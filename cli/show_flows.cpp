// SPDX-License-Identifier: Apache-2.0
// `losslessctl show flows` and `clear flows`: RoCEv2 flows, printed as they come in.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/format.h"
#include "roce.grpc.pb.h"

namespace lossless::cli {
namespace {

struct Wanted {
  std::string source, destination, port, sort;
  std::uint32_t qp = 0, top = 0;
};

// Options that say which flows; the QP counts only when it was given.
void add_filter(CLI::App& command, const std::shared_ptr<Wanted>& wanted) {
  command.add_option("--src", wanted->source, "Only from this address")->type_name("IP");
  command.add_option("--dst", wanted->destination, "Only to this address")->type_name("IP");
  command.add_option("--qp", wanted->qp, "Only to this QP, or from it")->type_name("QPN");
  command.add_option("--port", wanted->port, "Only in or out by this port")->type_name("IF");
}

v1::FlowFilter filter_of(const Wanted& wanted, bool qp) {
  v1::FlowFilter filter;
  filter.set_source(wanted.source);
  filter.set_destination(wanted.destination);
  filter.set_port(wanted.port);
  if (qp) filter.set_qp(wanted.qp);
  return filter;
}

std::string paired_text(const v1::RoceFlow& f) {
  if (f.paired_by().empty()) return "-";
  return fmt::format("{}{}", f.paired_by(), f.guess() ? "?" : "");
}

std::string totals_text(const v1::FlowTotals& totals) {
  if (!totals.on()) return "flows are not followed ([roce] flows = false)\n";
  if (totals.seen() == totals.matched())
    return fmt::format("{} flows, room for {}\n", format_count(totals.seen()),
                       format_count(totals.max_flows()));
  return fmt::format("{} of {} flows, room for {}\n", format_count(totals.matched()),
                     format_count(totals.seen()), format_count(totals.max_flows()));
}

// One object, written flow by flow: a table of a million rows is never in memory.
class JsonFlows {
 public:
  explicit JsonFlows(std::ostream& out) : out_(out) { out_ << "{\"flows\": ["; }
  void add(const v1::ListFlowsReply& reply) {
    for (const auto& flow : reply.flows()) {
      out_ << (first_ ? "\n" : ",\n") << trimmed(to_json(flow, true));
      first_ = false;
    }
    if (reply.has_totals()) totals_ = trimmed(to_json(reply.totals(), true));
  }
  void finish() { out_ << "\n], \"totals\": " << (totals_.empty() ? "{}" : totals_) << "}\n"; }

 private:
  static std::string trimmed(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

  std::ostream& out_;
  std::string totals_;
  bool first_ = true;
};

Outcome show_flows(Context& context, const v1::ListFlowsRequest& request) {
  std::ostream& out = context.env().out;
  std::optional<JsonFlows> json;
  const auto done = context.stream<v1::Roce>(&v1::Roce::StubInterface::ListFlows, request,
                                             [&](const v1::ListFlowsReply& reply) {
                                               if (context.options().json) {
                                                 if (!json) json.emplace(out);
                                                 json->add(reply);
                                                 return;
                                               }
                                               if (!reply.flows().empty())
                                                 out << flows_text(reply, context.style());
                                               if (reply.has_totals()) out << totals_text(reply.totals());
                                             });
  if (!done) return std::unexpected(done.error());
  if (json) json->finish();
  return kOk;
}

std::string statistics_text(const v1::GetRoceStatisticsReply& reply, const Style& style) {
  Table table({{"PORT", "", true},
               {"PACKETS", ""},
               {"NEW", "flows"},
               {"EVICTED", "flows"},
               {"NO ROOM", "flows"},
               {"MESSAGES", "CM"},
               {"ENDED", "CM"},
               {"CM", "paired by"},
               {"ACK", "paired by"},
               {"READ", "paired by"},
               {"DROPPED", "pairs"},
               {"REFUSED", "pairs"},
               {"BAD", ""}});
  std::string kinds;
  for (const auto& p : reply.ports()) {
    std::uint64_t bad = 0;
    for (const auto& [kind, count] : p.bad()) {
      bad += count;
      kinds += fmt::format("{}: {} {}\n", p.port(), format_count(count), kind);
    }
    table.add({text_cell(p.port()), count_cell(p.packets()), count_cell(p.new_flows()),
               count_cell(p.evicted(), Tone::Warn), count_cell(p.no_room(), Tone::Bad),
               count_cell(p.cm_messages()), count_cell(p.released()), count_cell(p.paired_cm()),
               count_cell(p.paired_ack()), count_cell(p.paired_read()),
               count_cell(p.contradicted(), Tone::Warn), count_cell(p.refused(), Tone::Warn),
               count_cell(bad, Tone::Warn)});
  }
  return table.text(style) + (kinds.empty() ? "" : "\nbad packets by kind\n" + kinds);
}

std::string cleared_text(const v1::ClearFlowsReply& reply, const Style&) {
  return fmt::format("cleared {} flows\n", format_count(reply.cleared()));
}

}  // namespace

std::string flows_text(const v1::ListFlowsReply& reply, const Style& style) {
  Table table({{"SOURCE", "", true},
               {"DESTINATION", "", true},
               {"QP", "", true},
               {"IN", "port"},
               {"OUT", "port"},
               {"TC", ""},
               {"QP", "sender"},
               {"BY", "sender"},
               {"PACKETS", "seen"},
               {"BYTES", "seen"},
               {"RATE", "seen"},
               {"GAPS", "PSN"},
               {"AGAIN", "PSN"},
               {"IN", "CE"},
               {"HERE", "CE"},
               {"SENT", "CNPs"},
               {"SEEN", "CNPs"},
               {"LAST", ""}});
  for (const auto& f : reply.flows()) {
    table.add({text_cell(f.source()), text_cell(f.destination()), text_cell(fmt::format("{:#08x}", f.qp())),
               text_cell(f.ingress()), text_cell(f.egress().empty() ? "-" : f.egress()), number_cell(f.tc()),
               text_cell(f.paired_by().empty() ? "-" : fmt::format("{:#08x}", f.peer_qp())),
               text_cell(paired_text(f), f.guess() ? Tone::Warn : Tone::Plain), count_cell(f.packets()),
               bytes_cell(f.bytes()), rate_cell(static_cast<double>(f.rate_bps())),
               count_cell(f.gaps(), Tone::Warn), count_cell(f.retransmitted(), Tone::Warn),
               count_cell(f.ce(), Tone::Warn), count_cell(f.marked(), Tone::Warn), count_cell(f.cnps_sent()),
               count_cell(f.cnps_seen()),
               value_cell(fmt::format("{:.1f}s", static_cast<double>(f.last_ms_ago()) / 1000))});
  }
  return table.text(style);
}

void add_show_flows(CLI::App& show, Action& action) {
  auto wanted = std::make_shared<Wanted>();
  auto statistics = std::make_shared<bool>(false);
  auto* command = show.add_subcommand("flows", "RoCEv2 flows: counters, sequence, and who sends them");
  command->add_option("--top", wanted->top, "The first N by --sort (20)")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000).description(""));
  command->add_option("--sort", wanted->sort, "bytes, packets, ce, cnp or rate; most first")
      ->type_name("KEY")
      ->check(CLI::IsMember({"bytes", "packets", "ce", "cnp", "rate"}).description(""));
  add_filter(*command, wanted);
  command->add_flag("--statistics", *statistics, "Counters of ports instead: pairing, bad packets by kind");
  command->callback([&action, wanted, statistics, command] {
    const bool qp = command->get_option("--qp")->count() > 0;
    action = [wanted, statistics, qp](Context& context) {
      if (*statistics)
        return context.call_and_print<v1::Roce>(&v1::Roce::StubInterface::GetRoceStatistics,
                                                v1::GetRoceStatisticsRequest{}, statistics_text);
      v1::ListFlowsRequest request;
      *request.mutable_filter() = filter_of(*wanted, qp);
      request.set_top(wanted->top);
      request.set_sort(wanted->sort);
      return show_flows(context, request);
    };
  });
}

void add_clear_flows(CLI::App& clear, Action& action) {
  auto wanted = std::make_shared<Wanted>();
  auto* command = clear.add_subcommand("flows", "RoCEv2 flows: forgets them and their counters");
  add_filter(*command, wanted);
  command->callback([&action, wanted, command] {
    const bool qp = command->get_option("--qp")->count() > 0;
    action = [wanted, qp](Context& context) {
      v1::ClearFlowsRequest request;
      *request.mutable_filter() = filter_of(*wanted, qp);
      return context.call_and_print<v1::Roce>(&v1::Roce::StubInterface::ClearFlows, request, cleared_text);
    };
  });
}

}  // namespace lossless::cli
