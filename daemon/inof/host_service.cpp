// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/host_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "daemon/inof/host_addresses.h"

namespace lossless::inof {
namespace {

using std::chrono::steady_clock;

std::string words(const HookEvent& event) {
  return to_string(event.subject) + " " + to_string(event.state) + " (" + to_string(event.reason) +
         "), told to " + to_string(event.notified) + " on port " + event.port;
}

std::vector<net::PortRef> attached(const std::vector<port::Port>& ports) {
  std::vector<net::PortRef> out;
  for (const port::Port& port : ports)
    if (port.state == port::PortState::Attached) out.push_back(net::ref_of(port.link));
  return out;
}

}  // namespace

HostService::HostService(asio::io_context& loop, net::Netlink& netlink)
    : netlink_(netlink),
      timer_(loop),
      frames_(loop, [this](const net::PortRef& port, ByteView frame) { on_frame(port, frame); }),
      agent_({}, {.send =
                      [this](const net::PortRef& port, ByteView frame) {
                        const auto sent = frames_.send(port.ifindex, frame);
                        if (!sent) spdlog::debug("iNOF: {}", sent.error());
                        return sent.has_value();
                      },
                  .start = [this](std::uint64_t run, const HookEvent& event) { start_hook(run, event); },
                  .kill = [this](std::uint64_t run) { hooks_.kill(run); }}),
      hooks_(loop, [this](std::uint64_t run, const HookResult& result) { on_hook_end(run, result); }) {}

void HostService::apply(const Config& config, const std::vector<port::Port>& ports) {
  const bool host = config.role == SystemRole::Host;
  if (!host && !enabled_) return;
  enabled_ = host;
  const auto now = steady_clock::now();
  agent_.set_config(config.inof_host, now);
  if (host) {
    const auto wanted = attached(ports);
    for (const net::PortRef& port : wanted)
      if (auto opened = frames_.open(port); !opened) spdlog::error("iNOF: {}", opened.error());
    find_addresses(ports);
    (void)frames_.open_only(wanted);  // ports that went: only now, after their addresses were withdrawn
  } else {
    agent_.set_addresses({}, now);
    (void)frames_.open_only({});
  }
  schedule();
}

void HostService::find_addresses(const std::vector<port::Port>& ports) {
  const auto links = net::list_links(netlink_);
  const auto addresses = net::list_addresses(netlink_);
  if (!links || !addresses) {
    spdlog::error("iNOF: {}", links ? addresses.error() : links.error());
    return;
  }
  std::vector<std::string> names;
  for (const net::PortRef& port : attached(ports)) names.push_back(port.name);
  std::vector<HostAddress> old;
  for (const auto& entry : agent_.addresses()) old.push_back(entry.address);
  agent_.set_addresses(plan_addresses(*links, names, *addresses, old), steady_clock::now());
}

void HostService::start_hook(std::uint64_t run, const HookEvent& event) {
  const bool disconnects = agent_.config().hook == InofHook::Nvme && event.state == State::Offline;
  const auto controllers = disconnects ? list_controllers() : std::vector<NvmeController>{};
  const auto command = hook_command(agent_.config(), event, controllers);
  spdlog::info("iNOF: {}{}", words(event), command ? ": running " + command->argv.front() : "");
  if (command) return hooks_.start(run, *command);
  hooks_.report(run, {.exit_code = 0, .words = "nothing to do"});
}

void HostService::on_frame(const net::PortRef& port, ByteView frame) {
  agent_.receive(port.ifindex, frame, steady_clock::now());
  schedule();
}

void HostService::on_hook_end(std::uint64_t run, const HookResult& result) {
  if (!result.ok()) spdlog::warn("iNOF: hook {}: {}", run, to_string(result));
  agent_.hook_ended(run, result, steady_clock::now());
  schedule();
}

void HostService::schedule() {
  timer_.set(agent_.next_deadline(), [this] {
    agent_.advance(steady_clock::now());
    schedule();
  });
}

}  // namespace lossless::inof
