// SPDX-License-Identifier: Apache-2.0
// `losslessctl detach`: ports are given back, by losslessd or, when none runs, by ourselves.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/offline_io.h"
#include "cli/suggest.h"
#include "daemon/core/config_source.h"

namespace lossless::cli {
namespace {

struct Arguments {
  std::vector<std::string> ports;
  bool all = false;
  std::string netns;
};

std::string detached_text(const v1::DetachReply& reply, const Style&) {
  if (reply.detached().empty()) return "nothing was attached\n";
  return "detached " + printable(joined(reply.detached())) + '\n';
}

Outcome without_daemon(Context& context, const Arguments& args) {
  const std::string& instance = context.options().instance;
  context.note(
      fmt::format("losslessd is not running for instance '{}': detaching its ports directly in {}", instance,
                  args.netns.empty() ? "this network namespace" : fmt::format("namespace '{}'", args.netns)));
  const auto ports = detach_offline(context.env(), instance, args.netns);
  if (!ports) return std::unexpected(ports.error());
  v1::DetachReply reply;
  for (const auto& port : *ports) reply.add_detached(port);
  context.print(reply, detached_text);
  return kOk;
}

Outcome detach(Context& context, const Arguments& args) {
  if (args.all != args.ports.empty()) {
    return usage_failure(args.all ? "detach takes ports or --all, not both"
                                  : "detach needs ports, or --all for every port");
  }
  v1::DetachRequest request;
  request.set_all(args.all);
  for (const auto& port : args.ports) request.add_ports(port);
  const auto reply = context.call(&v1::Lossless::StubInterface::Detach, request);
  if (!reply && reply.error().code == kNotRunning) {
    if (args.all) return without_daemon(context, args);
    Failure failure = reply.error();
    failure.message += "; without it only `losslessctl detach --all` works";
    return std::unexpected(std::move(failure));
  }
  if (!reply) return std::unexpected(reply.error());
  context.print(*reply, detached_text);
  return kOk;
}

}  // namespace

void add_detach(CLI::App& root, Action& action) {
  auto args = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "detach", "Give ports back: the datapath, queues and pins go; traffic goes on plain");
  command->add_option("IF", args->ports, "Ports");
  command->add_flag("--all", args->all, "Every port of the instance; also works when losslessd doesn't run");
  command->add_option("--netns", args->netns, "Network namespace of the instance, when losslessd doesn't run")
      ->type_name("NAME");
  command->callback(
      [&action, args] { action = [args](Context& context) { return detach(context, *args); }; });
}

}  // namespace lossless::cli
