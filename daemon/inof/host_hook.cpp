// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/host_hook.h"

#include <algorithm>

namespace lossless::inof {
namespace {

constexpr std::string_view kPath = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";

std::string service_port(const HookEvent& event) {
  const std::uint16_t port = event.service ? event.service->port : 0;
  return std::to_string(port == 0 ? kNvmePort : port);
}

std::string transport(const HookEvent& event) {
  return event.service && event.service->protocol == Protocol::Tcp ? "tcp" : "rdma";
}

// Values come from the network: a NUL would cut them and anything unprintable has no place in an NQN.
bool usable_nqn(std::string_view id) {
  return !id.empty() && id.front() != '-' &&
         std::ranges::all_of(id, [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string id_text(const HookEvent& event) {
  return event.service && usable_nqn(event.service->id) ? event.service->id : "";
}

std::vector<std::string> environment_of(const HookEvent& event) {
  std::vector<std::string> out{std::string(kPath)};
  const auto add = [&out](std::string_view name, const std::string& value) {
    out.push_back("INOF_" + std::string(name) + "=" + value);
  };
  add("STATE", to_string(event.state));
  add("REASON", to_string(event.reason));
  add("ADDRESS", to_string(event.subject));
  add("LOCAL_ADDRESS", to_string(event.notified));
  add("PORT", event.port);
  add("SEQUENCE", std::to_string(event.sequence));
  add("ROLE", event.service ? to_string(event.service->role) : "");
  add("PROTOCOL", event.service ? to_string(event.service->protocol) : "");
  add("SERVICE_PORT", service_port(event));
  add("ID", id_text(event));
  return out;
}

// With the NQN one connection, without it all that the target's discovery service names.
std::vector<std::string> connect_argv(const std::string& nvme, const HookEvent& event) {
  const std::string nqn = id_text(event);
  std::vector<std::string> argv{nvme,
                                nqn.empty() ? "connect-all" : "connect",
                                "--transport=" + transport(event),
                                "--traddr=" + to_string(event.subject),
                                "--trsvcid=" + service_port(event),
                                "--host-traddr=" + to_string(event.notified)};
  if (!nqn.empty()) argv.push_back("--nqn=" + nqn);
  return argv;
}

// The value of `key` in "traddr=10.0.0.1,trsvcid=4420".
std::string_view field(std::string_view address, std::string_view key) {
  while (!address.empty()) {
    const std::size_t comma = address.find(',');
    const std::string_view part = address.substr(0, comma);
    if (part.size() > key.size() && part.starts_with(key) && part[key.size()] == '=')
      return part.substr(key.size() + 1);
    if (comma == std::string_view::npos) break;
    address.remove_prefix(comma + 1);
  }
  return {};
}

bool is_path_between(const NvmeController& controller, const HookEvent& event) {
  const auto local = parse_ip(field(controller.address, "host_traddr"));
  return controller.transport == transport(event) &&
         parse_ip(field(controller.address, "traddr")) == event.subject &&
         (!local || local == event.notified);
}

std::optional<std::vector<std::string>> disconnect_argv(const std::string& nvme, const HookEvent& event,
                                                        const std::vector<NvmeController>& controllers) {
  std::string devices;
  for (const NvmeController& controller : controllers)
    if (is_path_between(controller, event)) devices += (devices.empty() ? "" : ",") + controller.device;
  if (devices.empty()) return std::nullopt;
  return std::vector<std::string>{nvme, "disconnect", "--device=" + devices};
}

}  // namespace

std::string to_string(const HookResult& result) {
  std::string out;
  if (!result.started) {
    out = "not started";
  } else if (result.signal != 0) {
    out = "killed by signal " + std::to_string(result.signal);
  } else {
    out = "exit " + std::to_string(result.exit_code);
  }
  return result.words.empty() ? out : out + ": " + result.words;
}

bool nvme_applies(const HookEvent& event) {
  if (!event.service) return true;
  return event.service->role != Role::Server && event.service->protocol != Protocol::Iscsi;
}

std::optional<HookCommand> hook_command(const InofHostConfig& config, const HookEvent& event,
                                        const std::vector<NvmeController>& controllers) {
  if (config.hook == InofHook::None) return std::nullopt;
  if (config.hook == InofHook::Program)
    return HookCommand{.argv = {config.program}, .environment = environment_of(event)};
  if (!nvme_applies(event)) return std::nullopt;
  if (event.state == State::Online)
    return HookCommand{.argv = connect_argv(config.nvme, event), .environment = {std::string(kPath)}};
  auto argv = disconnect_argv(config.nvme, event, controllers);
  if (!argv) return std::nullopt;
  return HookCommand{.argv = std::move(*argv), .environment = {std::string(kPath)}};
}

}  // namespace lossless::inof
