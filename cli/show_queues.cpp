// SPDX-License-Identifier: Apache-2.0
// `losslessctl show queues`, once or as a live view.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "cli/commands.h"
#include "cli/format.h"
#include "daemon/core/units.h"

namespace lossless::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct WatchOptions {
  std::string port;
  std::string interval;  // of --watch, empty without
  unsigned count = 0;    // polls before the end, 0 = until Ctrl-C
};

std::string schedule_text(const v1::Queue& q) {
  return q.group() == 0 ? q.schedule() : fmt::format("{} {}:{}", q.schedule(), q.group(), q.weight());
}

std::vector<Cell> key_cells(const v1::Queue& q) {
  return {text_cell(q.port()), number_cell(q.tc()), text_cell(q.lossless() ? "lossless" : "lossy")};
}

// Counts per second; nothing for a counter that went backwards because the port was attached anew.
double per_second(std::uint64_t before, std::uint64_t now, double seconds) {
  return now < before || seconds <= 0 ? 0 : static_cast<double>(now - before) / seconds;
}

std::expected<std::chrono::milliseconds, Failure> parse_interval(const std::string& text) {
  if (text == "true") return std::chrono::seconds(2);  // a flag without a value
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, seconds);
  const bool in_range = seconds >= 0.1 && seconds <= 3600;  // NaN is in no range
  if (error != std::errc{} || at != end || !in_range) {
    return usage_failure(fmt::format("--watch={}: the interval is 0.1 to 3600 seconds", text));
  }
  return std::chrono::milliseconds(static_cast<long>(seconds * 1000));
}

void print_poll(Context& context, const v1::ListQueuesReply* before, const v1::ListQueuesReply& now,
                double seconds) {
  auto& env = context.env();
  if (context.options().json) {
    env.out << to_json(now, true);
  } else {
    // Home and clear below, line by line: nothing flickers, nothing old stays.
    if (env.out_is_terminal) env.out << "\x1b[H\x1b[J";
    env.out << queue_rates_text(before, now, seconds, context.style());
    if (!env.out_is_terminal) env.out << '\n';
  }
  env.out.flush();
}

// A daemon that is restarted under the live view is waited for; a program that reads us wants the error.
bool worth_waiting(Context& context, const Failure& failure) {
  if (failure.exit_code != kUnreachable || !context.env().out_is_terminal || context.options().json)
    return false;
  context.env().out << "\x1b[H\x1b[J" << failure.message << "\nwaiting for it; Ctrl-C ends\n" << std::flush;
  return true;
}

Outcome watch(Context& context, const WatchOptions& options) {
  const auto interval = parse_interval(options.interval);
  if (!interval) return std::unexpected(interval.error());
  v1::ListQueuesRequest request;
  request.set_port(options.port);
  std::optional<v1::ListQueuesReply> before;
  Clock::time_point before_at;
  for (unsigned poll = 0; options.count == 0 || poll < options.count; ++poll) {
    if (poll > 0) context.env().sleep(*interval);
    auto reply = context.call(&v1::Lossless::StubInterface::ListQueues, request);
    const auto at = context.env().now();
    if (!reply) {
      if (!worth_waiting(context, reply.error())) return std::unexpected(reply.error());
      before.reset();
      continue;
    }
    print_poll(context, before ? &*before : nullptr, *reply,
               std::chrono::duration<double>(at - before_at).count());
    before = std::move(*reply);
    before_at = at;
  }
  return kOk;
}

}  // namespace

std::string queues_text(const v1::ListQueuesReply& reply, const Style& style) {
  if (reply.queues().empty()) return "no queues: no port is attached\n";
  Table table({{"PORT", "", true},
               {"TC", "", true},
               {"TYPE", "", true},
               {"SCHED", "queue"},
               {"LIMIT", "queue"},
               {"BYTES", "waiting now"},
               {"PACKETS", "waiting now"},
               {"PACKETS", "sent"},
               {"BYTES", "sent"},
               {"PACKETS", "dropped"},
               {"PACKETS", "received"},
               {"BYTES", "received"}});
  for (const auto& q : reply.queues()) {
    auto row = key_cells(q);
    row.insert(
        row.end(),
        {text_cell(schedule_text(q)), value_cell(format_size(q.limit_bytes())), bytes_cell(q.backlog_bytes()),
         count_cell(q.backlog_packets()), count_cell(q.sent_packets()), bytes_cell(q.sent_bytes()),
         count_cell(q.dropped_packets(), Tone::Bad), count_cell(q.rx_packets()), bytes_cell(q.rx_bytes())});
    table.add(std::move(row));
  }
  return table.text(style);
}

std::string queue_rates_text(const v1::ListQueuesReply* before, const v1::ListQueuesReply& now,
                             double seconds, const Style& style) {
  if (now.queues().empty()) return "no queues: no port is attached\n";
  std::map<std::pair<std::string, unsigned>, const v1::Queue*> old;
  if (before != nullptr) {
    for (const auto& q : before->queues()) old[{q.port(), q.tc()}] = &q;
  }
  Table table({{"PORT", "", true},
               {"TC", "", true},
               {"TYPE", "", true},
               {"BYTES", "waiting now"},
               {"FILL", "waiting now"},
               {"RATE", "sent"},
               {"PACKETS/s", "sent"},
               {"PACKETS", "dropped"},
               {"PER s", "dropped"},
               {"RATE", "received"},
               {"PACKETS/s", "received"}});
  for (const auto& q : now.queues()) {
    const auto found = old.find({q.port(), q.tc()});
    const v1::Queue& was = found == old.end() ? q : *found->second;
    const auto rate = [seconds](std::uint64_t a, std::uint64_t b) {
      return rate_cell(8 * per_second(a, b, seconds));
    };
    const auto count = [seconds](std::uint64_t a, std::uint64_t b, Tone tone = Tone::Plain) {
      return count_cell(static_cast<std::uint64_t>(std::llround(per_second(a, b, seconds))), tone);
    };
    const double fill = q.limit_bytes() == 0
                            ? 0
                            : static_cast<double>(q.backlog_bytes()) / static_cast<double>(q.limit_bytes());
    auto row = key_cells(q);
    row.insert(row.end(),
               {bytes_cell(q.backlog_bytes()), value_cell(fmt::format("{:.0f}%", 100 * fill)),
                rate(was.sent_bytes(), q.sent_bytes()), count(was.sent_packets(), q.sent_packets()),
                count_cell(q.dropped_packets(), Tone::Bad),
                count(was.dropped_packets(), q.dropped_packets(), Tone::Bad),
                rate(was.rx_bytes(), q.rx_bytes()), count(was.rx_packets(), q.rx_packets())});
    table.add(std::move(row));
  }
  return table.text(style);
}

void add_show_queues(CLI::App& show, Action& action) {
  auto options = std::make_shared<WatchOptions>();
  auto* command = show.add_subcommand("queues", "Egress queues: depth now, limit, sent, dropped, received");
  command->add_option("IF", options->port, "Only this port");
  // A flag, so that `--watch eth0` doesn't take the port for the interval; SECONDS only after '='.
  auto* interval =
      command->add_flag("--watch", options->interval, "Live view with rates, again every SECONDS (2)")
          ->type_name("[=SECONDS]");
  command->add_option("--count", options->count, "End the live view after so many polls")
      ->needs(interval)
      ->type_name("N")
      ->check(CLI::Range(1U, 1'000'000'000U).description(""));
  command->callback([&action, options] {
    action = [options](Context& context) {
      if (!options->interval.empty()) return watch(context, *options);
      v1::ListQueuesRequest request;
      request.set_port(options->port);
      return context.call_and_print(&v1::Lossless::StubInterface::ListQueues, request, queues_text);
    };
  });
}

}  // namespace lossless::cli
