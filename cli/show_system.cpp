// SPDX-License-Identifier: Apache-2.0
// `losslessctl show capabilities` and `show version`.
#include "cli/commands.h"
#include "cli/format.h"

namespace lossless::cli {
namespace {

void add_capability(Table& table, const std::string& where, const v1::Capability& c) {
  table.add({text_cell(where), text_cell(c.name()),
             c.available() ? text_cell("yes", Tone::Good) : text_cell("no", Tone::Warn),
             text_cell(c.detail())});
}

}  // namespace

std::string capabilities_text(const v1::GetCapabilitiesReply& reply, const Style& style) {
  Table table({{"WHERE", "", true}, {"CAPABILITY", "", true}, {"THERE", ""}, {"DETAIL", ""}});
  for (const auto& c : reply.kernel()) add_capability(table, "kernel", c);
  for (const auto& port : reply.ports()) {
    for (const auto& c : port.capabilities()) add_capability(table, port.port(), c);
  }
  return table.text(style);
}

std::string version_text(const v1::GetVersionReply& reply, const Style& style) {
  Listing list;
  list.add("losslessctl", text_cell(LL_VERSION));
  list.add("losslessd", text_cell(reply.version(), reply.version() == LL_VERSION ? Tone::Plain : Tone::Warn));
  list.add("instance", text_cell(reply.instance()));
  list.add("pid", number_cell(reply.pid()));
  list.add("uptime", text_cell(format_uptime(reply.uptime_ms())));
  list.add("datapath", text_cell(reply.adopted() ? "adopted from before this start" : "made by this start"));
  list.add("datapath ABI", number_cell(reply.abi()));
  list.add("configuration", text_cell(reply.config_file()));
  list.add("kernel", text_cell(reply.kernel()));
  return list.text(style);
}

void add_show_system(CLI::App& show, Action& action) {
  show.add_subcommand("capabilities", "What this kernel and these ports can do")->callback([&action] {
    action = [](Context& context) {
      return context.call_and_print(&v1::Lossless::StubInterface::GetCapabilities,
                                    v1::GetCapabilitiesRequest{}, capabilities_text);
    };
  });
  show.add_subcommand("version", "Version, instance and uptime of the running losslessd")
      ->callback([&action] {
        action = [](Context& context) {
          return context.call_and_print(&v1::Lossless::StubInterface::GetVersion, v1::GetVersionRequest{},
                                        version_text);
        };
      });
}

}  // namespace lossless::cli
