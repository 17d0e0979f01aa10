// SPDX-License-Identifier: Apache-2.0
// `losslessctl config check|diff` and `reload`.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/format.h"
#include "daemon/core/config.h"
#include "daemon/core/config_source.h"

namespace lossless::cli {
namespace {

std::string errors_json(const std::string& file, const ConfigErrors& errors) {
  std::string out =
      fmt::format("{{\n \"file\": {},\n \"ok\": {},\n \"errors\": [", json_string(file), errors.empty());
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const auto& e = errors[i];
    out += fmt::format("{}\n  {{\"file\": {}, \"line\": {}, \"column\": {}, \"message\": {}}}",
                       i == 0 ? "" : ",", json_string(e.file), e.line, e.column, json_string(e.message));
  }
  return out + (errors.empty() ? "]\n}\n" : "\n ]\n}\n");
}

std::string summary(const std::string& file, const Config& config) {
  std::string ports;
  for (const auto& port : config.ports) ports += (ports.empty() ? "" : ", ") + port.name;
  return fmt::format("{}: ok (instance {}, {} port{}{}{})\n", file, config.instance, config.ports.size(),
                     config.ports.size() == 1 ? "" : "s", ports.empty() ? "" : ": ", ports);
}

// Needs no daemon: the reader is the same one losslessd uses.
Outcome check(Context& context, const std::string& file) {
  const auto config = load_config(file);
  const ConfigErrors errors = config ? ConfigErrors{} : config.error();
  auto& out = context.env().out;
  if (context.options().json) {
    out << errors_json(file, errors);
  } else if (config) {
    out << summary(file, *config);
  } else {
    for (const auto& error : errors) out << error.text() << '\n';
    context.note(
        fmt::format("losslessctl: {} error{} in {}", errors.size(), errors.size() == 1 ? "" : "s", file));
  }
  return config ? kOk : kFailed;
}

std::string changes_text(const google::protobuf::RepeatedPtrField<v1::ConfigChange>& changes,
                         const Style& style, std::string_view none) {
  if (changes.empty()) return std::string(none) + '\n';
  std::string out;
  for (const auto& c : changes) {
    const bool added = c.running().empty();
    const bool removed = c.file().empty();
    const std::string path = printable(c.path());
    if (added) {
      out += paint(style, Tone::Good, fmt::format("+ {} = {}", path, printable(c.file())));
    } else if (removed) {
      out += paint(style, Tone::Bad, fmt::format("- {} = {}", path, printable(c.running())));
    } else {
      out += paint(style, Tone::Warn,
                   fmt::format("~ {} = {} -> {}", path, printable(c.running()), printable(c.file())));
    }
    out += '\n';
  }
  return out;
}

Outcome diff(Context& context, bool exit_code) {
  const auto reply = context.call(&v1::Lossless::StubInterface::DiffConfig, v1::DiffConfigRequest{});
  if (!reply) return std::unexpected(reply.error());
  context.print(*reply, [](const v1::DiffConfigReply& r, const Style& style) {
    return changes_text(r.changes(), style, "no difference: what runs is what the file says");
  });
  return exit_code && !reply->changes().empty() ? kFailed : kOk;
}

}  // namespace

void add_config(CLI::App& root, Action& action) {
  auto* config = root.add_subcommand("config", "Check a configuration file; compare it with what runs");
  config->require_subcommand(1);

  auto file = std::make_shared<std::string>();
  auto* check_command =
      config->add_subcommand("check", "Read FILE and print every error in it; needs no losslessd");
  check_command->add_option("FILE", *file, "Configuration file")->required();
  check_command->callback(
      [&action, file] { action = [file](Context& context) { return check(context, *file); }; });

  auto exit_code = std::make_shared<bool>(false);
  auto* diff_command =
      config->add_subcommand("diff", "What a reload would change (- goes, + comes, ~ changes)");
  diff_command->add_flag("--exit-code", *exit_code, "Exit with 1 if there is a difference");
  diff_command->callback(
      [&action, exit_code] { action = [exit_code](Context& context) { return diff(context, *exit_code); }; });
}

void add_reload(CLI::App& root, Action& action) {
  root.add_subcommand("reload", "Read the configuration file again and apply the difference")
      ->callback([&action] {
        action = [](Context& context) {
          return context.call_and_print(&v1::Lossless::StubInterface::Reload, v1::ReloadRequest{},
                                        [](const v1::ReloadReply& r, const Style& style) {
                                          return changes_text(r.changes(), style, "nothing to change");
                                        });
        };
      });
}

}  // namespace lossless::cli
