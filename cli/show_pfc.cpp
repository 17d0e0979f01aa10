// SPDX-License-Identifier: Apache-2.0
// `losslessctl show pfc`.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/format.h"
#include "daemon/core/units.h"

namespace lossless::cli {
namespace {

Cell size_or_dash(bool set, std::uint64_t bytes) { return value_cell(set ? format_size(bytes) : "-"); }

Cell ago_cell(const v1::Pfc& q) {
  if (q.transitions() == 0 && q.last_pause_ms_ago() == 0) return value_cell("-");
  return value_cell(fmt::format("{:.1f}s", static_cast<double>(q.last_pause_ms_ago()) / 1000));
}

// On, off, or why it is off though it is configured.
Cell state_cell(const v1::Pfc& q) {
  if (!q.enabled()) return text_cell("off");
  return q.withheld().empty() ? text_cell("on", Tone::Good) : text_cell("off: " + q.withheld(), Tone::Bad);
}

Cell alarm_cell(bool raised) { return raised ? text_cell("raised", Tone::Bad) : text_cell("-"); }

std::string queues_part(const v1::ListPfcReply& reply, const Style& style) {
  Table table({{"PORT", "", true},
               {"TC", "", true},
               {"PFC", "thresholds"},
               {"XOFF", "thresholds"},
               {"XON", "thresholds"},
               {"HEADROOM", "thresholds"},
               {"NEEDED", "thresholds"},
               {"QUANTA", "thresholds"},
               {"PEER", "frames sent"},
               {"XOFF", "frames sent"},
               {"XON", "frames sent"},
               {"/s", "frames sent"},
               {"FRAMES", "received"},
               {"/s", "received"},
               {"QUEUE", "received"},
               {"PAUSES", "received"},
               {"PAUSED ms", "received"},
               {"LAST", "received"}});
  for (const auto& q : reply.queues()) {
    const bool on = q.enabled();
    table.add({text_cell(q.port()), number_cell(q.tc()), state_cell(q), size_or_dash(on, q.xoff_bytes()),
               size_or_dash(on, q.xon_bytes()), size_or_dash(on, q.headroom_bytes()),
               size_or_dash(on, q.needed_headroom_bytes()), value_cell(on ? std::to_string(q.quanta()) : "-"),
               q.peer_stopped() ? text_cell("stopped", Tone::Warn) : text_cell("-"), count_cell(q.tx_xoff()),
               count_cell(q.tx_xon()), count_cell(q.tx_fps()), count_cell(q.rx_frames()),
               count_cell(q.rx_fps()), q.paused() ? text_cell("paused", Tone::Warn) : text_cell("-"),
               count_cell(q.transitions()), count_cell(q.paused_ms()), ago_cell(q)});
  }
  return table.text(style);
}

std::string ports_part(const v1::ListPfcReply& reply, const Style& style) {
  Table table({{"PORT", "", true},
               {"PFC", "frames received"},
               {"PAUSE", "frames received"},
               {"/s", "frames received"},
               {"ALARM", "frames received"},
               {"SHORT", "malformed"},
               {"ADDRESS", "malformed"},
               {"OPCODE", "malformed"},
               {"VECTOR", "malformed"},
               {"LOSSY-TC", "ignored"},
               {"STORMS", "ignored"},
               {"/s", "sent"},
               {"ALARM", "sent"},
               {"BY DAEMON", "sent"},
               {"EVENTS", "lost"}});
  for (const auto& p : reply.ports()) {
    table.add({text_cell(p.port()), count_cell(p.rx_pfc()), count_cell(p.rx_pause()), count_cell(p.rx_fps()),
               alarm_cell(p.rx_alarm()), count_cell(p.bad_short(), Tone::Bad),
               count_cell(p.bad_address(), Tone::Bad), count_cell(p.bad_opcode(), Tone::Bad),
               count_cell(p.bad_vector(), Tone::Bad), count_cell(p.lossy(), Tone::Warn),
               count_cell(p.lossy_storms(), Tone::Warn), count_cell(p.tx_fps()), alarm_cell(p.tx_alarm()),
               count_cell(p.no_carrier(), Tone::Warn), count_cell(p.no_event(), Tone::Bad)});
  }
  return table.text(style);
}

std::string latency_line(std::string_view what, const v1::Latency& l) {
  if (l.count() == 0) return fmt::format("{}: none yet\n", what);
  return fmt::format("{}: p50 {} us, p99 {} us, longest {} us of {}\n", what, l.p50_us(), l.p99_us(),
                     l.max_us(), format_count(l.count()));
}

}  // namespace

std::string pfc_text(const v1::ListPfcReply& reply, const Style& style) {
  if (reply.queues().empty()) return "no queues: no port is attached\n";
  return queues_part(reply, style) + '\n' + ports_part(reply, style) + '\n' +
         latency_line("XOFF crossed to frame sent", reply.send()) +
         latency_line("frame received to queue stopped", reply.close());
}

void add_show_pfc(CLI::App& show, Action& action) {
  auto port = std::make_shared<std::string>();
  auto* command =
      show.add_subcommand("pfc", "Priority flow control: thresholds, frames, pauses, reaction times");
  command->add_option("IF", *port, "Only this port");
  add_show_hook_flows(*command, action);
  command->callback([&action, port, command] {
    if (!command->get_subcommands().empty()) return;  // that one has chosen already
    action = [port](Context& context) {
      v1::ListPfcRequest request;
      request.set_port(*port);
      return context.call_and_print(&v1::Lossless::StubInterface::ListPfc, request, pfc_text);
    };
  });
}

}  // namespace lossless::cli
