// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/host_hook_io.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "loader/fd.h"
#include "loader/result.h"

namespace lossless::inof {
namespace {

constexpr std::size_t kMaxOutput = 4096;
constexpr std::size_t kMaxWords = 160;
constexpr int kFirstInherited = 3;

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The last line that says something, printable.
std::string last_words(std::string_view output) {
  while (!output.empty() && (output.back() == '\n' || output.back() == ' ')) output.remove_suffix(1);
  const std::size_t start = output.rfind('\n');
  if (start != std::string_view::npos) output.remove_prefix(start + 1);
  std::string out(output.substr(0, kMaxWords));
  std::ranges::replace_if(out, [](char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return out;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const std::string& text : strings) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Attributes of the child: own group, no signal blocked or ignored, nothing open but its output.
class SpawnSetup {
 public:
  explicit SpawnSetup(int output) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, kFirstInherited);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

struct Started {
  pid_t pid = 0;
  Fd pidfd;
  Fd output;
};

Result<Started> spawn(const HookCommand& command) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC | O_NONBLOCK)) return fail_errno("pipe", errno);
  Started out;
  out.output = Fd(pipe_ends[0]);
  const Fd child_end(pipe_ends[1]);
  fcntl(child_end.get(), F_SETFL, 0);  // a program may not expect that its output is non-blocking
  const SpawnSetup setup(child_end.get());
  const auto argv = pointers(command.argv);
  const auto environment = pointers(command.environment);
  const int error =
      posix_spawn(&out.pid, argv[0], &setup.actions, &setup.attributes, argv.data(), environment.data());
  if (error) return fail_errno(command.argv.front(), error);
  out.pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, out.pid, 0)));
  if (!out.pidfd) {
    const int reason = errno;
    ::kill(-out.pid, SIGKILL);
    waitpid(out.pid, nullptr, 0);
    return fail_errno("pidfd_open", reason);
  }
  return out;
}

}  // namespace

std::vector<NvmeController> list_controllers() {
  std::vector<NvmeController> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/sys/class/nvme", error), end; !error && at != end;
       at.increment(error)) {
    out.push_back({.device = at->path().filename().string(),
                   .transport = first_line(at->path() / "transport"),
                   .address = first_line(at->path() / "address")});
  }
  std::ranges::sort(out, {}, &NvmeController::device);
  return out;
}

struct HookProcesses::Process {
  Process(asio::io_context& loop, std::uint64_t number, Started started)
      : run(number),
        pid(started.pid),
        pidfd(loop, started.pidfd.release()),
        output(loop, started.output.release()) {}

  std::uint64_t run;
  pid_t pid;
  asio::posix::stream_descriptor pidfd;
  asio::posix::stream_descriptor output;
  std::string text;
};

HookProcesses::HookProcesses(asio::io_context& loop, Ended ended) : loop_(loop), ended_(std::move(ended)) {}

HookProcesses::~HookProcesses() {
  *alive_ = false;
  for (const auto& [run, process] : processes_) {
    ::kill(-process->pid, SIGKILL);
    waitpid(process->pid, nullptr, 0);
  }
}

void HookProcesses::report(std::uint64_t run, HookResult result) {
  asio::post(loop_, [this, alive = alive_, run, result = std::move(result)] {
    if (*alive) ended_(run, result);
  });
}

void HookProcesses::start(std::uint64_t run, const HookCommand& command) {
  auto started = spawn(command);
  if (!started) return report(run, {.started = false, .words = started.error()});
  auto process = std::make_shared<Process>(loop_, run, std::move(*started));
  processes_[run] = process;
  wait_for_output(process);
  wait_for_end(process);
}

void HookProcesses::kill(std::uint64_t run) {
  const auto at = processes_.find(run);
  if (at != processes_.end()) ::kill(-at->second->pid, SIGKILL);
}

void HookProcesses::wait_for_output(const std::shared_ptr<Process>& process) {
  process->output.async_wait(asio::posix::stream_descriptor::wait_read,
                             [this, alive = alive_, process](const asio::error_code& error) {
                               if (error || !*alive) return;
                               read_output(*process);
                               if (process->output.is_open()) wait_for_output(process);
                             });
}

// The end of what it prints counts; a program that prints without end must not take our memory.
void HookProcesses::read_output(Process& process) {
  std::array<char, kMaxOutput> buffer;
  const ssize_t got = read(process.output.native_handle(), buffer.data(), buffer.size());
  if (got > 0) {
    process.text.append(buffer.data(), static_cast<std::size_t>(got));
    if (process.text.size() > kMaxOutput) process.text.erase(0, process.text.size() - kMaxOutput);
  } else if (got == 0 || errno != EAGAIN) {
    asio::error_code ignored;
    (void)process.output.close(ignored);
  }
}

void HookProcesses::wait_for_end(const std::shared_ptr<Process>& process) {
  process->pidfd.async_wait(asio::posix::stream_descriptor::wait_read,
                            [this, alive = alive_, process](const asio::error_code& error) {
                              if (!error && *alive) finish(*process);
                            });
}

// Children it left behind may hold the pipe open; they end with it.
void HookProcesses::finish(Process& process) {
  if (process.output.is_open()) read_output(process);
  siginfo_t info{};
  ::kill(-process.pid, SIGKILL);
  waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED);
  HookResult result{.words = last_words(process.text)};
  if (info.si_code == CLD_EXITED) {
    result.exit_code = info.si_status;
  } else {
    result.signal = info.si_status;
  }
  asio::error_code ignored;
  (void)process.output.close(ignored);
  const std::uint64_t run = process.run;
  processes_.erase(run);
  ended_(run, result);
}

}  // namespace lossless::inof
