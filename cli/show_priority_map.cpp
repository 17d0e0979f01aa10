// SPDX-License-Identifier: Apache-2.0
// `losslessctl show priority-map`.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"

namespace lossless::cli {
namespace {

constexpr int kPerRow = 8;  // code points on a line

bool same_maps(const v1::PriorityMap& a, const v1::PriorityMap& b) {
  return a.trust() == b.trust() && a.priority() == b.priority() &&
         std::equal(a.dot1p_tc().begin(), a.dot1p_tc().end(), b.dot1p_tc().begin(), b.dot1p_tc().end()) &&
         std::equal(a.dscp_dot1p().begin(), a.dscp_dot1p().end(), b.dscp_dot1p().begin(),
                    b.dscp_dot1p().end()) &&
         std::equal(a.dscp_dscp().begin(), a.dscp_dscp().end(), b.dscp_dscp().begin(), b.dscp_dscp().end());
}

std::string names_of(const std::vector<const v1::PriorityMap*>& group) {
  std::string out;
  for (const auto* map : group) out += (out.empty() ? "" : ", ") + map->port();
  return out;
}

// One line: priorities above, classes below.
std::string dot1p_text(const v1::PriorityMap& map, const Style& style) {
  std::vector<Column> columns{{"dot1p", "", true}};
  std::vector<Cell> row{text_cell("TC")};
  for (int p = 0; p < map.dot1p_tc_size(); ++p) {
    columns.push_back({std::to_string(p), ""});
    row.push_back(number_cell(map.dot1p_tc(p)));
  }
  Table table(std::move(columns));
  table.add(std::move(row));
  return table.text(style);
}

// 64 code points as 8 lines of 8; `value` gives what is shown for a code point.
template <class Value>
std::string dscp_grid(const char* title, const Style& style, Value value) {
  std::vector<Column> columns{{title, "", true}};
  for (int i = 0; i < kPerRow; ++i) columns.push_back({fmt::format("+{}", i), ""});
  Table table(std::move(columns));
  for (int base = 0; base < 64; base += kPerRow) {
    std::vector<Cell> row{value_cell(fmt::format("{}", base))};
    for (int i = 0; i < kPerRow; ++i) row.push_back(value(base + i));
    table.add(std::move(row));
  }
  return table.text(style);
}

// The class of a code point: dscp->dscp first, then dscp->dot1p, then dot1p->TC.
unsigned class_of(const v1::PriorityMap& map, int dscp) {
  const auto rewritten = static_cast<int>(map.dscp_dscp(dscp));
  return map.dot1p_tc(static_cast<int>(map.dscp_dot1p(rewritten)));
}

std::string rewrites_text(const v1::PriorityMap& map) {
  std::string out;
  for (int d = 0; d < map.dscp_dscp_size(); ++d) {
    const auto to = map.dscp_dscp(d);
    if (to != static_cast<unsigned>(d)) out += fmt::format("{}{}->{}", out.empty() ? "" : ", ", d, to);
  }
  return out.empty() ? "none" : out;
}

bool complete(const v1::PriorityMap& map) {
  const auto below = [](const auto& values, unsigned limit) {
    return std::all_of(values.begin(), values.end(), [limit](unsigned v) { return v < limit; });
  };
  return map.dot1p_tc_size() == 8 && map.dscp_dot1p_size() == 64 && map.dscp_dscp_size() == 64 &&
         below(map.dot1p_tc(), 8) && below(map.dscp_dot1p(), 8) && below(map.dscp_dscp(), 64);
}

std::string group_text(const std::vector<const v1::PriorityMap*>& group, const Style& style) {
  const v1::PriorityMap& map = *group.front();
  std::string out = paint(style, Tone::Head, text_cell(names_of(group)).text) +
                    fmt::format(": trust {}, port priority {}\n", map.trust(), map.priority());
  if (!complete(map)) return out + "losslessd sent tables of the wrong size\n";
  out += '\n' + dot1p_text(map, style);
  out += '\n' + dscp_grid("DSCP -> TC", style, [&map](int d) { return number_cell(class_of(map, d)); });
  out += '\n' + dscp_grid("DSCP -> dot1p", style, [&map](int d) { return number_cell(map.dscp_dot1p(d)); });
  return out + "\nDSCP -> DSCP: " + rewrites_text(map) + '\n';
}

}  // namespace

std::string priority_maps_text(const v1::ListPriorityMapsReply& reply, const Style& style) {
  // Most switches have the same tables on every port: they are shown once.
  std::vector<std::vector<const v1::PriorityMap*>> groups;
  for (const auto& map : reply.maps()) {
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&map](const auto& group) { return same_maps(*group.front(), map); });
    if (found == groups.end()) {
      groups.push_back({&map});
    } else {
      found->push_back(&map);
    }
  }
  if (groups.empty()) return "no ports are configured\n";
  std::string out;
  for (const auto& group : groups) out += (out.empty() ? "" : "\n") + group_text(group, style);
  return out;
}

void add_show_priority_map(CLI::App& show, Action& action) {
  auto port = std::make_shared<std::string>();
  auto* command =
      show.add_subcommand("priority-map", "Trust and the tables from dot1p and DSCP to traffic classes");
  command->add_option("IF", *port, "Only this port");
  command->callback([&action, port] {
    action = [port](Context& context) {
      v1::ListPriorityMapsRequest request;
      request.set_port(*port);
      return context.call_and_print(&v1::Lossless::StubInterface::ListPriorityMaps, request,
                                    priority_maps_text);
    };
  });
}

}  // namespace lossless::cli
