// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/format.h"
#include "cli/show_dcbx.h"
#include "cli/suggest.h"
#include "cli/walk.h"
#include "daemon/core/config_keys.h"
#include "daemon/core/config_source.h"

namespace lossless::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 the request failed or the answer is no; 2 wrong command line; 3 no answer from "
    "losslessd.\n"
    "Environment: LOSSLESS_INSTANCE (instead of --instance), NO_COLOR. Manual: losslessctl(1).";

void add_globals(CLI::App& root, GlobalOptions& options) {
  root.add_option("--instance", options.instance, "Instance of losslessd (default)")->type_name("NAME");
  root.add_option("--socket", options.socket, "Its socket (/run/lossless/<instance>/api.sock)")
      ->type_name("PATH");
  root.add_flag("--json", options.json, "Print JSON, errors too");
  root.add_option("--color", options.color, "auto, always or never; auto: on a terminal")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""));
  root.add_option("--timeout", options.timeout_s, "Seconds to wait for losslessd (5)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.01, 3600.0).description(""));
}

void add_show(CLI::App& root, Action& action) {
  auto* show = root.add_subcommand("show", "Show state, counters and tables");
  show->require_subcommand(1);
  add_show_ports(*show, action);
  add_show_queues(*show, action);
  add_show_ecn(*show, action);
  add_show_ecn_overlay(*show, action);
  add_show_dcqcn(*show, action);
  add_show_pfc(*show, action);
  add_show_pfc_watchdog(*show, action);
  add_show_buffer(*show, action);
  add_show_packet_drop(*show, action);
  add_show_inof(*show, action);
  add_show_inof_host(*show, action);
  add_show_lldp(*show, action);
  add_show_dcb(*show, action);
  add_show_ecmp(*show, action);
  add_show_bfd(*show, action);
  add_show_dcbx(*show, action);
  add_show_flows(*show, action);
  add_show_ipcc(*show, action);
  add_show_bgp(*show, action);
  add_show_priority_map(*show, action);
  add_show_system(*show, action);
}

bool asks_for_help(const std::vector<std::string>& args) {
  return std::any_of(args.begin(), args.end(), [](const auto& word) {
    return word == "--help" || word == "-h" || word == "--version";
  });
}

// Faults that the parser would report without a hint.
std::expected<void, Failure> check_words(const CLI::App& root, const std::vector<std::string>& args) {
  const Walk at = walk(root, args);
  const auto names = command_names(*at.command);
  if (at.unknown) {
    return usage_failure(fmt::format("unknown command '{}'{} ({}: {})", printable(*at.unknown),
                                     did_you_mean(*at.unknown, {names.begin(), names.end()}),
                                     full_name(*at.command), joined(names)));
  }
  if (needs_command(*at.command) && at.pending == nullptr && !asks_for_help(args)) {
    return usage_failure(fmt::format("{}: which command? {}", full_name(*at.command), joined(names)));
  }
  return {};
}

// A mistyped option: the closest one that is allowed there.
std::string option_hint(const CLI::App& root, const std::vector<std::string>& args) {
  const Walk at = walk(root, args);
  std::vector<std::string> known;
  for (const auto* command = at.command; command != nullptr; command = command->get_parent()) {
    for (const auto* option : command->get_options()) {
      for (const auto& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  for (const auto& word : args) {
    const std::string name = word.substr(0, word.find('='));
    if (name.starts_with("--") && std::find(known.begin(), known.end(), name) == known.end()) {
      return did_you_mean(name, {known.begin(), known.end()});
    }
  }
  return "";
}

// The rule is the configuration's: the name becomes a part of paths.
std::expected<void, Failure> check_instance(const std::string& name) {
  const auto rows = keys<Config>();
  const auto row = std::ranges::find(rows, "instance", &Key<Config>::name);
  if (row == rows.end() || apply_rule(row->rule, Scalar(name))) return {};
  return usage_failure(fmt::format("instance '{}'; allowed: {}", printable(name), allowed(row->rule)));
}

// The command line as a chosen action, or how it ended without one (help, version: exit code 0).
std::expected<std::optional<int>, Failure> parse(CLI::App& root, const std::vector<std::string>& args,
                                                 Environment& env) {
  if (auto words = check_words(root, args); !words) return std::unexpected(words.error());
  try {
    root.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForVersion& version) {
    env.out << version.what() << '\n';
    return kOk;
  } catch (const CLI::Success&) {
    env.out << root.help();
    return kOk;
  } catch (const CLI::ParseError& error) {
    const std::string command = full_name(*walk(root, args).command);
    return usage_failure(
        fmt::format("{}{}; see `{} --help`", printable(error.what()), option_hint(root, args), command));
  }
  return std::nullopt;
}

Outcome execute(const std::vector<std::string>& args, Environment& env) {
  GlobalOptions options;
  Action action;
  const auto root = make_parser(options, action);
  const auto ended = parse(*root, args, env);
  if (!ended) return std::unexpected(ended.error());
  if (*ended) return **ended;
  if (root->get_option("--instance")->empty()) {
    options.instance = env.variable("LOSSLESS_INSTANCE").value_or("default");
  }
  if (auto good = check_instance(options.instance); !good) return std::unexpected(good.error());
  Context context(env, options);
  return action(context);
}

int complete_words(const std::vector<std::string>& args, Environment& env) {
  GlobalOptions options;
  Action action;
  const auto root = make_parser(options, action);
  for (const auto& candidate : complete(*root, std::span(args).subspan(1), system_names(env))) {
    env.out << candidate.word << '\t' << candidate.description << '\n';
  }
  return kOk;
}

// With --json the error is what the program reads: it takes the place of the reply.
int report(const Failure& failure, bool json, Environment& env) {
  if (json) {
    env.out << fmt::format("{{\"error\": {{\"code\": {}, \"message\": {}}}}}\n", json_string(failure.code),
                           json_string(failure.message));
  } else {
    env.err << "losslessctl: " << failure.message << '\n';
  }
  return failure.exit_code;
}

}  // namespace

std::unique_ptr<CLI::App> make_parser(GlobalOptions& options, Action& action) {
  auto root = std::make_unique<CLI::App>("Shows and changes a running losslessd.", "losslessctl");
  root->fallthrough();  // global options may stand anywhere
  root->require_subcommand(1);
  root->footer("Options for every command: see `losslessctl --help`.");
  root->set_version_flag("--version", std::string("losslessctl ") + LL_VERSION, "Version of losslessctl");
  add_globals(*root, options);
  add_show(*root, action);
  add_set(*root, action);
  add_pfc(*root, action);
  add_clear(*root, action);
  add_bgp(*root, action);
  add_zone(*root, action);
  add_zone_switches(*root, action);
  add_config(*root, action);
  add_reload(*root, action);
  add_detach(*root, action);
  add_completion(*root, action);
  root->footer(kFooter);
  return root;
}

int run(const std::vector<std::string>& args, Environment& env) {
  if (!args.empty() && args.front() == "__complete") return complete_words(args, env);
  const auto outcome = execute(args, env);
  if (outcome) return *outcome;
  const bool json = std::find(args.begin(), args.end(), "--json") != args.end();
  return report(outcome.error(), json, env);
}

}  // namespace lossless::cli
