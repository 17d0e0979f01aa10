// SPDX-License-Identifier: Apache-2.0
// `losslessctl set ecn IF TC KEY=VALUE...`.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <set>

#include "cli/commands.h"
#include "cli/nearest.h"
#include "daemon/core/units.h"

namespace lossless::cli {
namespace {

const std::vector<std::string> kKeys{"kmin", "kmax", "pmax", "ewma", "enabled"};
constexpr std::string_view kKeyList = "kmin, kmax, pmax, ewma, enabled";

std::unexpected<Failure> bad_value(std::string_view key, std::string_view value, std::string_view fault) {
  return usage_failure(fmt::format("{}: '{}' {}", key, value, fault));
}

std::expected<std::uint64_t, Failure> size_value(std::string_view key, std::string_view value) {
  const auto bytes = parse_size(value);
  if (!bytes) return bad_value(key, value, bytes.error());
  return *bytes;
}

// 0.2 or 20%. The range is losslessd's business too; here it catches 20 for 20%.
std::expected<double, Failure> probability_value(std::string_view key, std::string_view value) {
  const bool percent = value.ends_with('%');
  const std::string_view digits = value.substr(0, value.size() - (percent ? 1 : 0));
  double p = 0;
  const auto [at, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), p, std::chars_format::fixed);
  if (percent) p /= 100;
  if (error != std::errc{} || at != digits.data() + digits.size() || !std::isfinite(p) || p <= 0 || p > 1) {
    return bad_value(key, value,
                     "is not allowed; allowed is more than 0 up to 1, or a percentage such as 20%");
  }
  return p;
}

std::expected<unsigned, Failure> shift_value(std::string_view key, std::string_view value) {
  if (value == "off") return 0U;
  unsigned n = 0;
  const auto [at, error] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (error != std::errc{} || at != value.data() + value.size() || n > 15) {
    return bad_value(key, value,
                     "is not allowed; allowed is 0 or off (instantaneous depth), or 1 to 15 (weight 2^-n)");
  }
  return n;
}

std::expected<bool, Failure> switch_value(std::string_view key, std::string_view value) {
  if (value == "on") return true;
  if (value == "off") return false;
  return bad_value(key, value, "is not allowed; allowed are on and off");
}

// Puts the parsed value into the request, or passes the failure on.
template <class T, class Put>
std::expected<void, Failure> store(const std::expected<T, Failure>& value, Put put) {
  if (!value) return std::unexpected(value.error());
  put(*value);
  return {};
}

std::expected<void, Failure> apply(v1::SetEcnRequest& r, std::string_view key, std::string_view value) {
  if (key == "kmin") return store(size_value(key, value), [&r](std::uint64_t v) { r.set_kmin_bytes(v); });
  if (key == "kmax") return store(size_value(key, value), [&r](std::uint64_t v) { r.set_kmax_bytes(v); });
  if (key == "pmax") return store(probability_value(key, value), [&r](double v) { r.set_pmax(v); });
  if (key == "ewma") return store(shift_value(key, value), [&r](unsigned v) { r.set_ewma_shift(v); });
  if (key == "enabled") return store(switch_value(key, value), [&r](bool v) { r.set_enabled(v); });
  return usage_failure(
      fmt::format("unknown setting '{}'{} (settings are {})", key, did_you_mean(key, kKeys), kKeyList));
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
      return usage_failure(fmt::format("'{}' is not KEY=VALUE; settings are {}", setting, kKeyList));
    }
    const std::string key = setting.substr(0, equals);
    if (!given.insert(key).second) return usage_failure(fmt::format("'{}' is given twice", key));
    if (const auto done = apply(request, key, std::string_view(setting).substr(equals + 1)); !done) {
      return std::unexpected(done.error());
    }
  }
  if (given.empty()) return usage_failure(fmt::format("nothing to set; settings are {}", kKeyList));
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
