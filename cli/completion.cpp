// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/walk.h"

namespace lossless::cli {
namespace {

std::vector<Candidate> plain(const std::vector<std::string>& words) {
  std::vector<Candidate> out;
  out.reserve(words.size());
  for (const auto& word : words) out.push_back({word, ""});
  return out;
}

std::vector<Candidate> commands(const CLI::App& command) {
  std::vector<Candidate> out;
  for (const auto* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    out.push_back({below->get_name(), below->get_description()});
  }
  return out;
}

// Long options of the command and of those above it.
std::vector<Candidate> options(const CLI::App* command) {
  std::vector<Candidate> out;
  for (; command != nullptr; command = command->get_parent()) {
    for (const auto* option : command->get_options()) {
      for (const auto& name : option->get_lnames()) {
        const Candidate candidate{"--" + name, option->get_description()};
        const bool known =
            std::any_of(out.begin(), out.end(), [&](const auto& c) { return c.word == candidate.word; });
        if (!known) out.push_back(candidate);
      }
    }
  }
  return out;
}

std::vector<Candidate> option_values(const std::string& option, const Names& names) {
  if (option == "color") return plain({"auto", "always", "never"});
  if (option == "instance") return plain(names.instances());
  if (option == "netns") return plain(names.netns());
  if (option == "sort") return plain({"bytes", "packets", "ce", "cnp", "rate"});
  if (option == "socket") return {{std::string(kFiles), ""}};
  return {};
}

// Keys of `set ecn` that aren't given yet; values only where there is a choice.
std::vector<Candidate> ecn_settings(const std::string& current, std::span<const std::string> given) {
  if (current.starts_with("enabled=")) return plain({"enabled=on", "enabled=off"});
  if (current.starts_with("ewma=")) return plain({"ewma=off"});
  std::vector<Candidate> out{{"kmin=", "marking starts above this depth, e.g. 100KB"},
                             {"kmax=", "every packet is marked above this depth, e.g. 400KB"},
                             {"pmax=", "probability at kmax, e.g. 0.2 or 20%"},
                             {"ewma=", "weight 2^-n of the average, off = depth now"},
                             {"enabled=", "on or off"}};
  std::erase_if(out, [&](const Candidate& c) {
    return std::any_of(given.begin(), given.end(),
                       [&](const auto& word) { return word.starts_with(c.word); });
  });
  return out;
}

std::vector<Candidate> ports(const Walk& at, const Names& names) {
  const auto value = [&at](const char* option) {
    const auto found = at.values.find(option);
    return found == at.values.end() ? std::string() : found->second;
  };
  std::vector<std::string> free = names.ports(value("instance"), value("socket"));
  std::erase_if(free, [&at](const auto& port) {
    return std::find(at.positionals.begin(), at.positionals.end(), port) != at.positionals.end();
  });
  return plain(free);
}

// Positional arguments are known by their names in the parser.
std::vector<Candidate> arguments(const Walk& at, const std::string& current, const Names& names) {
  std::vector<const CLI::Option*> positionals;
  for (const auto* option : at.command->get_options()) {
    if (option->get_positional()) positionals.push_back(option);
  }
  if (positionals.empty()) return {};
  const std::size_t index = std::min(at.positionals.size(), positionals.size() - 1);
  const auto* option = positionals[index];
  if (at.positionals.size() > index && option->get_items_expected_max() <= 1) return {};
  const std::string& name = option->get_name();
  if (name == "IF") return ports(at, names);
  if (name == "HOST") return plain({"local", "remote"});
  if (name == "ZONE" && at.command->get_parent()->get_name() == "inof") return plain({"inconsistent"});
  if (name == "INCONSISTENT") return plain({"inconsistent"});
  if (name == "SWITCH") return plain({"on", "off"});
  if (name == "VIEW" && at.command->get_name() == "bfd") return plain({"peers", "counters"});
  if (name == "VIEW") return plain({"neighbors", "local", "statistics"});
  if (name == "WHAT") return plain({"addresses", "members", "events", "statistics"});
  if (name == "TC") return plain({"0", "1", "2", "3", "4", "5", "6", "7"});
  if (name == "SETTING") return ecn_settings(current, std::span(at.positionals).subspan(index));
  if (name == "FILE") return {{std::string(kFiles), ""}};
  if (name == "STATE") return plain({"on", "off"});
  if (name == "SHELL") return plain({"bash", "zsh"});
  return {};
}

std::vector<Candidate> all_candidates(const Walk& at, const std::string& current, const Names& names) {
  if (at.unknown) return {};
  if (at.pending != nullptr) return option_values(at.pending->get_lnames().front(), names);
  if (!at.only_positionals && current.starts_with("--") && current.find('=') != std::string::npos) {
    const std::string option = current.substr(2, current.find('=') - 2);
    auto values = option_values(option, names);
    for (auto& value : values) {
      if (value.word != kFiles) value.word = "--" + option + "=" + value.word;
    }
    return values;
  }
  if (!at.only_positionals && current.starts_with('-')) return options(at.command);
  auto out = commands(*at.command);
  if (needs_command(*at.command)) return out;
  if (!at.positionals.empty()) out.clear();
  const auto words = arguments(at, current, names);
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

std::vector<std::string> port_names(Environment env, const std::string& instance, const std::string& socket) {
  GlobalOptions options;
  options.instance = instance.empty() ? env.variable("LOSSLESS_INSTANCE").value_or("default") : instance;
  options.socket = socket;
  options.timeout_s = 0.3;  // nobody waits longer for a Tab
  Context context(env, options);
  const auto reply = context.call(&v1::Lossless::StubInterface::ListPorts, v1::ListPortsRequest{});
  std::vector<std::string> out;
  if (reply) {
    for (const auto& port : reply->ports()) out.push_back(port.name());
  }
  return out;
}

std::vector<std::string> folder_entries(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    out.push_back(at->path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// '=' breaks words in bash: what stands before it is already on the line and must not come again.
constexpr std::string_view kBash =
    R"sh(# bash completion for losslessctl; use: source <(losslessctl completion bash)
_losslessctl() {
  local line="${COMP_LINE:0:COMP_POINT}" cur before value
  local -a words
  read -r -a words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  cur="${words[-1]}"
  before=""
  [[ $cur == *=* && $COMP_WORDBREAKS == *=* ]] && before="${cur%"${cur##*=}"}"
  COMPREPLY=()
  while IFS=$'\t' read -r value _; do
    case "$value" in
      :files)
        compopt -o filenames
        while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "${cur#"$before"}")
        ;;
      *)
        [[ $value == *= ]] && compopt -o nospace
        COMPREPLY+=("${value#"$before"}")
        ;;
    esac
  done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _losslessctl losslessctl
)sh";

constexpr std::string_view kZsh = R"sh(#compdef losslessctl
# zsh completion for losslessctl; use: source <(losslessctl completion zsh)
_losslessctl() {
  local line value
  local -a closed open
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    value="${line%%$'\t'*}"
    if [[ $value == :files ]]; then
      [[ $PREFIX == --*=* ]] && compset -P '*='
      _files
    elif [[ $value == *= ]]; then
      open+=("${value//:/\\:}:${line#*$'\t'}")
    else
      closed+=("${value//:/\\:}:${line#*$'\t'}")
    fi
  done
  (( $#open )) && _describe -t settings setting open -S ''
  (( $#closed )) && _describe -t values value closed
}
if [[ ${funcstack[1]} == _losslessctl ]]; then _losslessctl "$@"; else compdef _losslessctl losslessctl; fi
)sh";

}  // namespace

std::vector<Candidate> complete(const CLI::App& root, std::span<const std::string> words,
                                const Names& names) {
  if (words.empty()) return {};
  const std::string& current = words.back();
  const Walk at = walk(root, words.first(words.size() - 1));
  auto out = all_candidates(at, current, names);
  std::erase_if(out,
                [&current](const Candidate& c) { return c.word != kFiles && !c.word.starts_with(current); });
  return out;
}

Names system_names(const Environment& env) {
  return {.ports = [&env](const std::string& instance,
                          const std::string& socket) { return port_names(env, instance, socket); },
          .instances = [&env] { return instances_with_socket(env.run_dir); },
          .netns = [&env] { return folder_entries(env.netns_dir); }};
}

std::string_view completion_script(std::string_view shell) { return shell == "zsh" ? kZsh : kBash; }

void add_completion(CLI::App& root, Action& action) {
  auto shell = std::make_shared<std::string>();
  auto* command = root.add_subcommand("completion", "Print the completion script of a shell");
  command->add_option("SHELL", *shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}).description(""));
  command->callback([&action, shell] {
    action = [shell](Context& context) -> Outcome {
      context.env().out << completion_script(*shell);
      return kOk;
    };
  });
}

}  // namespace lossless::cli
