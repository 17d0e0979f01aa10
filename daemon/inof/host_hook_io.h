// SPDX-License-Identifier: Apache-2.0
// Runs hooks as processes of their own, without a shell, and reports their end on the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "daemon/inof/host_hook.h"

namespace lossless::inof {

// Controllers of /sys/class/nvme; empty where there are none.
std::vector<NvmeController> list_controllers();

class HookProcesses {
 public:
  using Ended = std::function<void(std::uint64_t run, const HookResult& result)>;

  // `ended` is called on the loop once for each start(), never from within start() or kill().
  HookProcesses(asio::io_context& loop, Ended ended);
  // Kills what still runs.
  ~HookProcesses();
  HookProcesses(const HookProcesses&) = delete;
  HookProcesses& operator=(const HookProcesses&) = delete;

  // In a process group of its own, with an empty standard input. What it prints is kept up to a line's
  // length.
  void start(std::uint64_t run, const HookCommand& command);
  // The whole process group, at once.
  void kill(std::uint64_t run);
  // For an event that needs no process.
  void report(std::uint64_t run, HookResult result);

 private:
  struct Process;
  void wait_for_output(const std::shared_ptr<Process>& process);
  void wait_for_end(const std::shared_ptr<Process>& process);
  void read_output(Process& process);
  void finish(Process& process);

  asio::io_context& loop_;
  Ended ended_;
  std::map<std::uint64_t, std::shared_ptr<Process>> processes_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lossless::inof
