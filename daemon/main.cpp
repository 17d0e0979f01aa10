// SPDX-License-Identifier: Apache-2.0
// losslessd: command line, network namespace, configuration; then daemon.cpp.
#include <fcntl.h>
#include <sched.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "daemon/daemon.h"
#include "daemon/guard_io.h"
#include "daemon/pfc/gates_io.h"
#include "daemon/restart/fd_store_io.h"
#include "daemon/restart/hand_over_io.h"
#include "loader/fd.h"

namespace {

enum ExitCode { kOk = 0, kCannotRun = 1, kUsage = 2 };

struct Options {
  std::string config_file;
  std::string netns;
  std::string log_level = "info";
  bool check = false;
  bool open_gates = false;
  bool take_over = false;
};

// Only the network namespace changes: a new mount namespace would hide the pins.
lossless::Status enter_netns(const std::string& name) {
  const std::string path = name.find('/') == std::string::npos ? "/run/netns/" + name : name;
  const lossless::Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return lossless::fail_errno("cannot open network namespace " + path, errno);
  if (setns(fd.get(), CLONE_NEWNET))
    return lossless::fail_errno("cannot enter network namespace " + path, errno);
  return {};
}

int refuse(const std::string& why) {
  std::fprintf(stderr, "losslessd: %s\n", why.c_str());
  return kCannotRun;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--config", options.config_file, "configuration file, see lossless.toml(5)")->required();
  app.add_option("--netns", options.netns, "run in this network namespace (name, or path)");
  app.add_option("--log-level", options.log_level, "error, warn, info or debug")
      ->check(CLI::IsMember({"error", "warn", "info", "debug"}))
      ->capture_default_str();
  app.add_flag("--check", options.check, "read the configuration, say what is wrong with it, and end");
  app.add_flag("--open-gates", options.open_gates,
               "open what a daemon that ended left stopped, when its pauses are over, and end");
  app.add_flag("--take-over", options.take_over,
               "if a daemon runs the instance, take its sessions over and its place");
  app.set_version_flag("--version", "losslessd " LL_VERSION);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs the lossless datapath on the ports of a configuration.", "losslessd");
  Options options;
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  // gRPC's own lines mean little to an operator; what fails is said by us. Before any thread is there.
  setenv("GRPC_VERBOSITY", "NONE", 0);  // NOLINT(concurrency-mt-unsafe)
  spdlog::set_default_logger(spdlog::stderr_color_mt("losslessd"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  spdlog::set_level(spdlog::level::from_str(options.log_level));

  auto config = lossless::load_config(options.config_file);
  if (!config) {
    for (const auto& error : config.error()) std::fprintf(stderr, "%s\n", error.text().c_str());
    return kCannotRun;
  }
  if (options.check) {
    std::printf("%s: ok, %zu ports\n", options.config_file.c_str(), config->ports.size());
    return kOk;
  }
  if (geteuid() != 0)
    return refuse("must run as root (or with CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON under systemd)");
  if (!options.netns.empty())
    if (auto entered = enter_netns(options.netns); !entered) return refuse(entered.error());
  if (options.open_gates) {
    const auto opened = lossless::pfc::open_abandoned_gates(config->instance);
    return opened ? kOk : refuse(opened.error());
  }
  // Before any thread is there. Without it a gate that is closed when we die stays closed until the next
  // start.
  const auto guard = lossless::start_guard(config->instance);
  if (!guard) spdlog::warn("{}; goes on without", guard.error());
  // After the guard is there, which must hold nothing open.
  lossless::restart::NamedFds inherited = lossless::restart::FdStore::take();
  if (options.take_over) {
    auto taken = lossless::restart::take_over(config->instance);
    if (!taken) return refuse(taken.error());
    if (!taken->empty()) inherited = std::move(*taken);
  }
  if (auto ran = lossless::run_daemon(std::move(*config), options.config_file, std::move(inherited)); !ran)
    return refuse(ran.error());
  return kOk;
}
