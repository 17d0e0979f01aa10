// SPDX-License-Identifier: Apache-2.0
// losslessctl: the real surroundings for cli/app.h.
#include <grpc/support/log.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <thread>

#include "cli/app.h"

namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets variables here
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

unsigned terminal_columns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

int main(int argc, char** argv) {
  // gRPC's own log would stand between our lines; what matters comes back as a status.
  gpr_set_log_function([](gpr_log_func_args*) {});
  lossless::cli::Environment env{
      .out = std::cout,
      .err = std::cerr,
      .out_is_terminal = isatty(STDOUT_FILENO) == 1,
      .out_columns = terminal_columns(),
      .variable = variable,
      .now = std::chrono::steady_clock::now,
      .sleep = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }};
  const int code = lossless::cli::run(std::vector<std::string>(argv + 1, argv + argc), env);
  std::cout.flush();
  if (std::cout) return code;
  std::cerr << "losslessctl: cannot write the result\n";
  return code == lossless::cli::kOk ? lossless::cli::kFailed : code;
}
