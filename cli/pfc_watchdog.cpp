// SPDX-License-Identifier: Apache-2.0
// `losslessctl show pfc-watchdog`, `pfc recover`, `pfc escape`.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "cli/commands.h"
#include "cli/format.h"
#include "daemon/core/units.h"

namespace lossless::cli {
namespace {

Cell state_cell(const v1::PfcWatchdog& w) {
  if (w.state() == "watching") return text_cell(w.state(), Tone::Good);
  if (w.state() == "disabled") return text_cell(w.state());
  return text_cell(w.off_reason().empty() ? w.state() : w.state() + ": " + w.off_reason(), Tone::Bad);
}

Cell ms_cell(std::uint64_t ms) { return value_cell(std::to_string(ms)); }

std::string watchdogs_part(const v1::ListPfcWatchdogsReply& reply, const Style& style) {
  Table table({{"PORT", "", true},
               {"TC", "", true},
               {"STATE", ""},
               {"ACTION", "settings"},
               {"MODE", "settings"},
               {"DETECT ms", "settings"},
               {"RECOVER ms", "settings"},
               {"POLL ms", "settings"},
               {"TRIGGERS", "limit"},
               {"OF", "limit"},
               {"IN s", "limit"},
               {"FOUND", "deadlocks"},
               {"ENDED", "deadlocks"},
               {"DROPPED", "deadlocks"},
               {"PEER", ""}});
  for (const auto& w : reply.queues()) {
    table.add({text_cell(w.port()), number_cell(w.tc()), state_cell(w), text_cell(w.action()),
               text_cell(w.mode()), ms_cell(w.detection_ms()), ms_cell(w.recovery_ms()), ms_cell(w.poll_ms()),
               count_cell(w.triggers(), Tone::Warn),
               value_cell(w.trigger_limit() ? std::to_string(w.trigger_limit()) : "-"),
               value_cell(fmt::format("{:g}", w.window_ms() / 1000.0)), count_cell(w.deadlocks(), Tone::Bad),
               count_cell(w.restored()), count_cell(w.discarded(), Tone::Bad),
               w.asked() ? text_cell("asks for pause", Tone::Warn) : text_cell("-")});
  }
  return table.text(style);
}

std::string history_part(const v1::ListPfcWatchdogsReply& reply, const Style& style) {
  Table table({{"PORT", "", true},
               {"TC", "", true},
               {"DETECTED", ""},
               {"STUCK ms", "before"},
               {"WAITING", "before"},
               {"ACTION", ""},
               {"LASTED ms", "after"},
               {"PERIODS", "after"},
               {"DROPPED", "after"},
               {"END", ""}});
  for (const auto& w : reply.queues())
    for (const auto& d : w.history())
      table.add({text_cell(w.port()), number_cell(w.tc()),
                 value_cell(fmt::format("{:.1f}s ago", static_cast<double>(d.detected_ms_ago()) / 1000)),
                 ms_cell(d.stuck_ms()), value_cell(format_size(d.backlog_bytes())), text_cell(d.action()),
                 ms_cell(d.lasted_ms()), number_cell(d.periods()), count_cell(d.dropped_packets(), Tone::Bad),
                 text_cell(d.end())});
  return table.empty() ? "no deadlock so far\n" : table.text(style);
}

std::string escape_line(const v1::ListPfcWatchdogsReply& reply) {
  if (!reply.escape()) return "escape: off\n";
  const auto since = static_cast<std::time_t>(reply.escape_since_s());
  return fmt::format("escape: ON since {:%Y-%m-%d %H:%M:%S}, PFC is off on all ports\n",
                     fmt::localtime(since));
}

void add_recover(CLI::App& pfc, Action& action) {
  struct Arguments {
    std::string port;
    unsigned tc = 0;
  };
  auto args = std::make_shared<Arguments>();
  auto* command = pfc.add_subcommand("recover", "Give a TC back the PFC that its watchdog turned off");
  command->add_option("IF", args->port, "Port")->required();
  command->add_option("TC", args->tc, "Traffic class, 0 to 7")
      ->required()
      ->check(CLI::Range(0U, 7U).description(""));
  command->callback([&action, args] {
    action = [args](Context& context) {
      v1::RecoverPfcRequest request;
      request.set_port(args->port);
      request.set_tc(args->tc);
      return context.call_and_print(
          &v1::Lossless::StubInterface::RecoverPfc, request, [&](const v1::RecoverPfcReply&, const Style&) {
            return fmt::format("PFC of TC {} on {} is in force again\n", args->tc, args->port);
          });
    };
  });
}

void add_escape(CLI::App& pfc, Action& action) {
  auto word = std::make_shared<std::string>();
  auto* command = pfc.add_subcommand("escape", "Turn PFC off on all ports at once, or back as configured");
  command->add_option("STATE", *word, "on: PFC off everywhere; off: PFC back")
      ->required()
      ->check(CLI::IsMember({"on", "off"}).description(""));
  command->callback([&action, word] {
    action = [word](Context& context) {
      v1::SetPfcEscapeRequest request;
      request.set_on(*word == "on");
      return context.call_and_print(&v1::Lossless::StubInterface::SetPfcEscape, request,
                                    [](const v1::SetPfcEscapeReply& reply, const Style&) {
                                      return fmt::format(
                                          "escape {} {}: PFC is {}\n", reply.changed() ? "is" : "was already",
                                          reply.on() ? "on" : "off",
                                          reply.on() ? "off on all ports" : "in force as configured");
                                    });
    };
  });
}

}  // namespace

std::string pfc_watchdogs_text(const v1::ListPfcWatchdogsReply& reply, const Style& style) {
  if (reply.queues().empty()) return escape_line(reply) + "no queue has PFC\n";
  return watchdogs_part(reply, style) + '\n' + history_part(reply, style) + '\n' + escape_line(reply);
}

void add_show_pfc_watchdog(CLI::App& show, Action& action) {
  auto port = std::make_shared<std::string>();
  auto* command = show.add_subcommand("pfc-watchdog", "Deadlock watchdogs: state, settings, history; escape");
  command->add_option("IF", *port, "Only this port");
  command->callback([&action, port] {
    action = [port](Context& context) {
      v1::ListPfcWatchdogsRequest request;
      request.set_port(*port);
      return context.call_and_print(&v1::Lossless::StubInterface::ListPfcWatchdogs, request,
                                    pfc_watchdogs_text);
    };
  });
}

void add_pfc(CLI::App& root, Action& action) {
  auto* pfc = root.add_subcommand("pfc", "Take PFC out of force and back: escape, recover");
  pfc->require_subcommand(1);
  add_recover(*pfc, action);
  add_escape(*pfc, action);
}

}  // namespace lossless::cli
