// SPDX-License-Identifier: Apache-2.0
// `losslessctl show bfd`.
#include <fmt/format.h>

#include "bfd.grpc.pb.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace lossless::cli {
namespace {

// 50000 -> "50ms", 3300 -> "3.3ms"
std::string milliseconds(std::uint64_t us) {
  return us == 0 ? "-" : fmt::format("{:g}ms", static_cast<double>(us) / 1000);
}

std::string via(const v1::BfdPeer& peer) {
  if (peer.multihop()) return "multihop";
  return or_dash(peer.interface());
}

Tone tone_of(const v1::BfdPeer& peer) {
  if (peer.state() == "up") return Tone::Good;
  if (peer.state() == "admin-down") return Tone::Dim;
  return peer.counters().went_down() > 0 ? Tone::Bad : Tone::Warn;
}

std::string last_down(const v1::BfdPeer& peer) {
  if (peer.last_down().empty()) return "-";
  return fmt::format("{}, {} ago", peer.last_down(), format_uptime(peer.last_down_ms_ago()));
}

// What stands above the table, whichever it is.
std::string remarks(const v1::ListBfdPeersReply& reply) {
  std::string out;
  if (!reply.error().empty()) out += reply.error() + '\n';
  if (!reply.real_time() && !reply.peers().empty())
    out += "the BFD thread has no real-time priority: short detection times fail falsely under load\n";
  for (const auto& peer : reply.peers())
    if (!peer.send_error().empty())
      out += fmt::format("{}: cannot send: {}\n", peer.address(), peer.send_error());
  return out;
}

Outcome show(Context& context, const std::string& address,
             std::string (*text)(const v1::ListBfdPeersReply&, const Style&)) {
  v1::ListBfdPeersRequest request;
  request.set_address(address);
  return context.call_and_print<v1::Bfd>(&v1::Bfd::StubInterface::ListBfdPeers, request, text);
}

}  // namespace

std::string bfd_peers_text(const v1::ListBfdPeersReply& reply, const Style& style) {
  if (reply.peers().empty()) return remarks(reply) + "no BFD peers\n";
  Table table({{"PEER", "", true},
               {"VIA", ""},
               {"STATE", ""},
               {"FOR", ""},
               {"SENDS", "we"},
               {"DETECTS", "we"},
               {"STATE", "neighbour"},
               {"SENDS", "neighbour"},
               {"RECEIVES", "neighbour"},
               {"TIMES", "neighbour"},
               {"AUTH", ""},
               {"FOR WHOM", ""},
               {"LAST DOWN", ""}});
  for (const auto& peer : reply.peers()) {
    const auto& remote = peer.remote();
    table.add({text_cell(peer.address()), text_cell(via(peer)), text_cell(peer.state(), tone_of(peer)),
               value_cell(format_uptime(peer.state_ms())), value_cell(milliseconds(peer.transmit_us())),
               value_cell(milliseconds(peer.detection_us())), text_cell(or_dash(remote.state())),
               value_cell(milliseconds(remote.desired_min_tx_us())),
               value_cell(milliseconds(remote.required_min_rx_us())), number_cell(remote.multiplier()),
               text_cell(peer.authentication()), text_cell(fmt::format("{}", fmt::join(peer.owners(), ","))),
               text_cell(last_down(peer))});
  }
  return remarks(reply) + table.text(style);
}

std::string bfd_counters_text(const v1::ListBfdPeersReply& reply, const Style& style) {
  std::string out = remarks(reply);
  if (!reply.peers().empty()) {
    Table table({{"PEER", "", true},
                 {"VIA", ""},
                 {"IN", "packets"},
                 {"OUT", "packets"},
                 {"UNSENT", "packets"},
                 {"AUTH", "discarded"},
                 {"SEQUENCE", "discarded"},
                 {"UP", "went"},
                 {"DOWN", "went"}});
    for (const auto& peer : reply.peers()) {
      const auto& c = peer.counters();
      table.add({text_cell(peer.address()), text_cell(via(peer)), count_cell(c.in()), count_cell(c.out()),
                 count_cell(c.out_failed(), Tone::Warn), count_cell(c.bad_authentication(), Tone::Bad),
                 count_cell(c.bad_sequence(), Tone::Warn), count_cell(c.went_up()),
                 count_cell(c.went_down(), Tone::Bad)});
    }
    out += table.text(style) + '\n';
  }
  Listing listing;
  listing.add("from too far away (TTL)", count_cell(reply.strays().far(), Tone::Warn));
  listing.add("of no session", count_cell(reply.strays().unknown(), Tone::Warn));
  for (const auto& [what, count] : reply.strays().malformed())
    if (count > 0) listing.add("malformed: " + what, count_cell(count, Tone::Warn));
  return out + listing.text(style);
}

// The view may be left out: `show bfd 10.0.0.2`.
void add_show_bfd(CLI::App& show_command, Action& action) {
  auto view = std::make_shared<std::string>();
  auto address = std::make_shared<std::string>();
  auto* command = show_command.add_subcommand("bfd", "BFD: sessions with neighbours, counters");
  command->add_option("VIEW", *view, "peers (default) or counters");
  command->add_option("ADDRESS", *address, "Only sessions with this neighbour");
  command->callback([&action, view, address] {
    action = [view, address](Context& context) -> Outcome {
      if (*view == "counters") return show(context, *address, bfd_counters_text);
      if (view->empty() || *view == "peers") return show(context, *address, bfd_peers_text);
      if (address->empty()) return show(context, *view, bfd_peers_text);
      return usage_failure(fmt::format("show bfd: '{}' is no view; views are peers and counters", *view));
    };
  });
}

}  // namespace lossless::cli
