// SPDX-License-Identifier: Apache-2.0
// What a host runs when another comes online or goes offline. Pure: events to argument vectors; nothing ever
// passes through a shell.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/inof/packet.h"

namespace lossless::inof {

struct HookEvent {
  State state = State::Offline;
  Reason reason = Reason::Normal;
  IpAddress subject = {};   // the host that came or went
  IpAddress notified = {};  // ours
  std::string port = {};
  std::uint32_t sequence = 0;
  std::optional<Service> service = {};  // what the subject offers, if its attached information can be read
};

// How a run ended.
struct HookResult {
  bool started = true;     // false: `words` says why not
  int exit_code = -1;      // of a program that ended by itself
  int signal = 0;          // that ended it
  std::string words = {};  // the last it printed, or the reason
  bool ok() const { return started && signal == 0 && exit_code == 0; }
};
// "exit 1: connection refused", "killed by signal 9", "not started: no such file".
std::string to_string(const HookResult& result);

struct HookCommand {
  std::vector<std::string> argv;         // argv[0]: an absolute path
  std::vector<std::string> environment;  // NAME=VALUE; nothing else is passed on
};

// A fabrics controller of this machine, as /sys/class/nvme shows it.
struct NvmeController {
  std::string device;     // nvme0
  std::string transport;  // rdma, tcp
  std::string address;    // traddr=...,trsvcid=...,host_traddr=...
};

// Whether the built-in hook has anything to do with this event: a host that offers nothing (a plain server),
// or a protocol that is not NVMe's, is no reason to connect.
bool nvme_applies(const HookEvent& event);

// The command for an event, or nothing when there is nothing to do: no hook, nvme_applies() says no, or no
// controller is connected to a host that went. Paths of other addresses to the same subsystem stay: the
// controller is named by its device, not by the NQN.
std::optional<HookCommand> hook_command(const InofHostConfig& config, const HookEvent& event,
                                        const std::vector<NvmeController>& controllers);

}  // namespace lossless::inof
