// SPDX-License-Identifier: Apache-2.0
#include "cli/walk.h"

#include <algorithm>

namespace lossless::cli {
namespace {

// The option `name` (with its dashes) of the command or of those above it.
const CLI::Option* find_option(const CLI::App* command, const std::string& name) {
  for (; command != nullptr; command = command->get_parent()) {
    if (const auto* option = command->get_option_no_throw(name);
        option != nullptr && option->nonpositional()) {
      return option;
    }
  }
  return nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_min() > 0; }

std::string key_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_single_name() : option.get_lnames().front();
}

void take_option(Walk& at, const std::string& word) {
  const auto equals = word.find('=');
  const auto* option = find_option(at.command, word.substr(0, equals));
  if (option == nullptr || !takes_value(*option)) return;
  if (equals == std::string::npos) {
    at.pending = option;
  } else {
    at.values[key_of(*option)] = word.substr(equals + 1);
  }
}

// Into the command of that name, if there is one.
bool descend(Walk& at, const std::string& word) {
  const auto below =
      at.command->get_subcommands([&word](const CLI::App* app) { return app->check_name(word); });
  if (!below.empty()) at.command = below.front();
  return !below.empty();
}

}  // namespace

Walk walk(const CLI::App& root, std::span<const std::string> words) {
  Walk at;
  at.command = &root;
  for (const auto& word : words) {
    if (at.pending != nullptr) {
      at.values[key_of(*at.pending)] = word;
      at.pending = nullptr;
    } else if (!at.only_positionals && word == "--") {
      at.only_positionals = true;
    } else if (!at.only_positionals && word.size() > 1 && word.starts_with('-')) {
      take_option(at, word);
    } else if (at.positionals.empty() && descend(at, word)) {
      continue;
    } else if (needs_command(*at.command)) {
      at.unknown = word;
      break;
    } else {
      at.positionals.push_back(word);
    }
  }
  return at;
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(below->get_name());
  }
  return names;
}

bool needs_command(const CLI::App& command) {
  const auto options = command.get_options();
  const bool takes_words = std::any_of(options.begin(), options.end(),
                                       [](const auto* option) { return option->get_positional(); });
  return !takes_words && !command_names(command).empty();
}

std::string full_name(const CLI::App& command) {
  const std::string above = command.get_parent() == nullptr ? "" : full_name(*command.get_parent()) + " ";
  return above + command.get_name();
}

}  // namespace lossless::cli
