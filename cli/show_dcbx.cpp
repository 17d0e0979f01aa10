// SPDX-License-Identifier: Apache-2.0
// `losslessctl show dcbx`.
#include "cli/show_dcbx.h"

#include <fmt/format.h>

#include "cli/format.h"

namespace lossless::cli {
namespace {

// "5:0,1,2 6:3": what priorities are mapped to.
template <class Values>
std::string by_target(const Values& values) {
  std::string out;
  for (std::uint32_t target = 0; target < 16; ++target) {
    std::string from;
    for (int p = 0; p < values.size(); ++p)
      if (values[p] == target) from += fmt::format("{}{}", from.empty() ? "" : ",", p);
    if (!from.empty()) out += fmt::format("{}{}:{}", out.empty() ? "" : " ", target, from);
  }
  return out.empty() ? "-" : out;
}

template <class Values>
std::string shares(const Values& values) {
  std::string out;
  for (int tc = 0; tc < values.size(); ++tc)
    if (values[tc] > 0) out += fmt::format("{}{}:{}%", out.empty() ? "" : " ", tc, values[tc]);
  return out.empty() ? "-" : out;
}

std::string by_whom(const std::string& text, const std::string& by) {
  return by == "peer" ? text + " (peer)" : text;
}

template <class Feature>
std::string willing(bool has, const Feature& feature) {
  if (!has) return "-";
  return feature.willing() ? "yes" : "no";
}

struct Row {
  const char* name;
  std::string (*text)(const v1::DcbxSide& side);
};

const Row kRows[] = {
    {"ETS willing", [](const v1::DcbxSide& s) { return willing(s.has_ets(), s.ets()); }},
    {"ETS TC:priorities",
     [](const v1::DcbxSide& s) {
       return s.has_ets() ? by_whom(by_target(s.ets().priority_tc()), s.ets().by()) : "-";
     }},
    {"ETS TC:share", [](const v1::DcbxSide& s) { return s.has_ets() ? shares(s.ets().share()) : "-"; }},
    {"PFC willing", [](const v1::DcbxSide& s) { return willing(s.has_pfc(), s.pfc()); }},
    {"PFC priorities",
     [](const v1::DcbxSide& s) {
       if (!s.has_pfc()) return std::string("-");
       const auto& list = s.pfc().priorities();
       return by_whom(list.empty() ? "none" : fmt::format("{}", fmt::join(list, ",")), s.pfc().by());
     }},
    {"PFC at once",
     [](const v1::DcbxSide& s) { return s.has_pfc() ? std::to_string(s.pfc().capability()) : "-"; }},
    {"APP willing", [](const v1::DcbxSide& s) { return willing(s.has_apps(), s.apps()); }},
    {"APP",
     [](const v1::DcbxSide& s) {
       if (!s.has_apps()) return std::string("-");
       const auto& list = s.apps().entries();
       return by_whom(list.empty() ? "none" : fmt::format("{}", fmt::join(list, "; ")), s.apps().by());
     }},
};

std::string heading(const v1::DcbxPort& port, const Style& style) {
  std::string out = fmt::format("{}: DCBX {} ({})", port.port(), port.dialect(), port.version());
  if (port.has_peer()) {
    out += ", neighbour " + port.peer().source();
  } else {
    out += port.peers() == 0 ? ", no neighbour" : fmt::format(", {} neighbours", port.peers());
  }
  if (port.has_cee())
    out += fmt::format(", sequence {}{}, its {}", port.cee().sequence(),
                       port.cee().acknowledged() ? " (acknowledged)" : "", port.cee().peer_sequence());
  out += '\n';
  for (const auto& alarm : port.alarms())
    out += paint(style, Tone::Bad, fmt::format("  {}: {}", alarm.kind(), alarm.what())) + '\n';
  if (!port.refused().empty())
    out += paint(style, Tone::Bad, "  not applied to the port: " + port.refused()) + '\n';
  return out;
}

}  // namespace

std::string dcbx_text(const v1::ListDcbxReply& reply, const Style& style) {
  if (reply.ports().empty()) return "no port has DCBX\n";
  std::string out;
  for (const auto& port : reply.ports()) {
    Table table({{"", "", true}, {"LOCAL", ""}, {"PEER", ""}, {"OPERATIONAL", ""}});
    for (const Row& row : kRows) {
      const bool settled = std::string_view(row.name).ends_with("willing");  // not of what holds
      table.add({text_cell(row.name), text_cell(row.text(port.local())),
                 text_cell(port.has_peer() ? row.text(port.peer()) : "-"),
                 text_cell(settled ? "" : row.text(port.operational()))});
    }
    out += (out.empty() ? "" : "\n") + heading(port, style) + table.text(style);
  }
  return out;
}

void add_show_dcbx(CLI::App& show, Action& action) {
  auto port = std::make_shared<std::string>();
  auto* command = show.add_subcommand("dcbx", "DCBX: what we have, what the neighbour has, what holds");
  command->add_option("IF", *port, "Only this port");
  command->callback([&action, port] {
    action = [port](Context& context) -> Outcome {
      v1::ListDcbxRequest request;
      request.set_port(*port);
      return context.call_and_print<v1::Dcbx>(&v1::Dcbx::StubInterface::ListDcbx, request, dcbx_text);
    };
  });
}

}  // namespace lossless::cli
