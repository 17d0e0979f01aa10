// SPDX-License-Identifier: Apache-2.0
// `losslessctl set ecn IF TC KEY=VALUE...`.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "cli/commands.h"
#include "cli/suggest.h"
#include "daemon/core/config_keys.h"
#include "daemon/core/config_source.h"

namespace lossless::cli {
namespace {

const std::vector<std::string_view> kKeys{"kmin", "kmax", "pmax", "ewma", "enabled"};

// The whole of `text` as a number, or nothing.
template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || at != text.data() + text.size()) return std::nullopt;
  return value;
}

// What a configuration file would hold for this word: sizes as strings, 20% as 0.2, off as 0.
std::optional<Scalar> as_scalar(Rule::Type type, std::string_view word) {
  switch (type) {
    case Rule::Type::Probability: {
      const bool percent = word.ends_with('%');
      if (percent) word.remove_suffix(1);
      const auto p = number<double>(word);
      return p ? std::optional<Scalar>(percent ? *p / 100 : *p) : std::nullopt;
    }
    case Rule::Type::Integer: {
      const auto n = number<std::int64_t>(word == "off" ? "0" : word);
      return n ? std::optional<Scalar>(*n) : std::nullopt;
    }
    default:
      return std::string(word);
  }
}

// Ranges and units are those of the file's keys; there they stand once.
std::expected<Scalar, Failure> read_value(std::string_view key, std::string_view word) {
  const auto rows = keys<EcnConfig>();
  const auto row = std::ranges::find(rows, key, &Key<EcnConfig>::name);
  if (row == rows.end()) {
    return usage_failure(fmt::format("unknown setting '{}'{} (settings are {})", printable(key),
                                     did_you_mean(key, kKeys), joined(kKeys)));
  }
  const auto scalar = as_scalar(row->rule.type, word);
  const auto value =
      scalar ? apply_rule(row->rule, *scalar) : std::unexpected(std::string("is not a number"));
  if (value) return *value;
  return usage_failure(
      fmt::format("{}: '{}' {}; allowed: {}", key, printable(word), value.error(), allowed(row->rule)));
}

std::expected<void, Failure> put(v1::SetEcnRequest& r, std::string_view key, std::string_view word) {
  if (key == "enabled") {
    if (word != "on" && word != "off") {
      return usage_failure(fmt::format("enabled: '{}' is neither; allowed: on, off", printable(word)));
    }
    r.set_enabled(word == "on");
    return {};
  }
  const auto value = read_value(key, word);
  if (!value) return std::unexpected(value.error());
  if (key == "pmax") {
    r.set_pmax(std::get<double>(*value));
    return {};
  }
  const auto n = static_cast<std::uint64_t>(std::get<std::int64_t>(*value));
  if (key == "kmin") r.set_kmin_bytes(n);
  if (key == "kmax") r.set_kmax_bytes(n);
  if (key == "ewma") r.set_ewma_shift(static_cast<unsigned>(n));
  return {};
}

}  // namespace

std::expected<v1::SetEcnRequest, Failure> parse_ecn_settings(const std::string& port, unsigned tc,
                                                             const std::vector<std::string>& settings) {
  v1::SetEcnRequest request;
  request.set_port(port);
  request.set_tc(tc);
  std::set<std::string> given;
  for (const auto& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos) {
      return usage_failure(
          fmt::format("'{}' is not KEY=VALUE; settings are {}", printable(setting), joined(kKeys)));
    }
    const std::string key = setting.substr(0, equals);
    if (!given.insert(key).second) return usage_failure(fmt::format("'{}' is given twice", printable(key)));
    if (const auto done = put(request, key, std::string_view(setting).substr(equals + 1)); !done) {
      return std::unexpected(done.error());
    }
  }
  if (given.empty()) return usage_failure(fmt::format("nothing to set; settings are {}", joined(kKeys)));
  return request;
}

void add_set(CLI::App& root, Action& action) {
  struct Arguments {
    std::string port;
    unsigned tc = 0;
    std::vector<std::string> settings;
  };
  auto args = std::make_shared<Arguments>();
  auto* set = root.add_subcommand("set", "Change the running datapath until the next reload or restart");
  set->require_subcommand(1);
  auto* command =
      set->add_subcommand("ecn", "Thresholds of one traffic class; what isn't named stays as it is");
  command->add_option("IF", args->port, "Port")->required();
  command->add_option("TC", args->tc, "Traffic class, 0 to 7")
      ->required()
      ->check(CLI::Range(0U, 7U).description(""));
  command
      ->add_option("SETTING", args->settings,
                   "kmin=SIZE kmax=SIZE pmax=0..1|PERCENT% ewma=0..15|off enabled=on|off")
      ->required()
      ->type_name("KEY=VALUE");
  command->callback([&action, args] {
    action = [args](Context& context) -> Outcome {
      const auto request = parse_ecn_settings(args->port, args->tc, args->settings);
      if (!request) return std::unexpected(request.error());
      return context.call_and_print(&v1::Lossless::StubInterface::SetEcn, *request,
                                    [](const v1::SetEcnReply& reply, const Style& style) {
                                      v1::ListEcnReply row;
                                      *row.add_queues() = reply.ecn();
                                      return ecn_text(row, style);
                                    });
    };
  });
}

}  // namespace lossless::cli
