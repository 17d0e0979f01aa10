// SPDX-License-Identifier: Apache-2.0
// lab-sampler: writes the depth and counters of queue leaves to a CSV file at a fixed interval, until
// SIGTERM or SIGINT. Independent of the daemon and its programs, so that a lab can check them.
#include <sched.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <poll.h>
#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>

#include "veth-topo/sampler/sampler_io.h"

namespace {

using lossless::lab::QueueId;
using lossless::lab::QueueReader;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

struct Options {
  std::string netns;
  std::vector<std::string> queues;
  std::string out;
  std::int64_t interval_us = 1000;  // 100 us to 1 s
  int cpu = -1;                     // -1: not pinned
};

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * kNsPerSecond + t.tv_nsec;
}

// An absolute timer: a late wake-up does not shift the ones after it.
int start_timer(std::int64_t interval_ns) {
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (fd < 0) return -1;
  const std::int64_t first = now_ns() + interval_ns;
  itimerspec spec{};
  spec.it_value = {.tv_sec = first / kNsPerSecond, .tv_nsec = first % kNsPerSecond};
  spec.it_interval = {.tv_sec = interval_ns / kNsPerSecond, .tv_nsec = interval_ns % kNsPerSecond};
  return timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, nullptr) == 0 ? fd : -1;
}

int stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC);
}

// Real-time priority keeps the samples evenly spaced while packets load the CPU: a sample that is only
// taken when there is air would miss the deep queues. Not allowed is no error, only less even.
void make_punctual(int cpu) {
  if (cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) std::perror("lab-sampler: pinning");
  }
  const sched_param priority{.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) std::perror("lab-sampler: real-time priority");
}

void write_samples(std::FILE* out, QueueReader& reader, const std::vector<QueueId>& queues) {
  for (const auto& queue : queues) {
    const std::int64_t at = now_ns();
    const auto s = reader.read(queue);
    if (!s) continue;
    std::fprintf(out, "%lld,%s,%u,%llu,%llu,%llu,%llu,%llu\n", static_cast<long long>(at), queue.port.c_str(),
                 queue.tc, static_cast<unsigned long long>(s->backlog_bytes),
                 static_cast<unsigned long long>(s->backlog_packets),
                 static_cast<unsigned long long>(s->dropped_packets),
                 static_cast<unsigned long long>(s->sent_bytes),
                 static_cast<unsigned long long>(s->sent_packets));
  }
}

// Returns the number of ticks that were missed because the process woke too late; -1 on an error.
std::int64_t sample_until_stopped(std::FILE* out, QueueReader& reader, const std::vector<QueueId>& queues,
                                  int timer, int stop) {
  std::int64_t missed = 0;
  std::array<pollfd, 2> waits{
      {{.fd = timer, .events = POLLIN, .revents = 0}, {.fd = stop, .events = POLLIN, .revents = 0}}};
  while (true) {
    if (poll(waits.data(), waits.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    if (waits[1].revents != 0) {
      write_samples(out, reader, queues);  // the state at the end
      return missed;
    }
    std::uint64_t ticks = 0;
    if (read(timer, &ticks, sizeof ticks) != sizeof ticks) return -1;
    missed += static_cast<std::int64_t>(ticks) - 1;
    write_samples(out, reader, queues);
  }
}

int fail(const std::string& message) {
  std::fprintf(stderr, "lab-sampler: %s\n", message.c_str());
  return 1;
}

int run(const Options& options) {
  const int stop = stop_signals();  // first: from here on SIGTERM ends the run in order
  std::vector<QueueId> queues;
  for (const auto& text : options.queues) {
    auto id = lossless::lab::parse_queue_id(text);
    if (!id) return fail(id.error());
    queues.push_back(*std::move(id));
  }
  const File out(std::fopen(options.out.c_str(), "we"), &std::fclose);
  if (!out) return fail(options.out + ": cannot be written");
  if (const auto entered = lossless::lab::enter_netns(options.netns); !entered) return fail(entered.error());
  auto reader = QueueReader::open();
  if (!reader) return fail(reader.error());
  const int timer = start_timer(options.interval_us * 1000);
  if (stop < 0 || timer < 0) return fail("no timer or signal descriptor");
  make_punctual(options.cpu);
  std::fputs("t_ns,port,tc,backlog_bytes,backlog_packets,dropped_packets,sent_bytes,sent_packets\n",
             out.get());
  const std::int64_t missed = sample_until_stopped(out.get(), *reader, queues, timer, stop);
  if (missed < 0 || std::fflush(out.get()) != 0) return fail("sampling or writing failed");
  std::printf("missed %lld\n", static_cast<long long>(missed));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Samples the depth and counters of queue leaves into a CSV file until SIGTERM"};
  app.add_option("--netns", options.netns, "name of the network namespace")->required();
  app.add_option("--queue", options.queues, "queue to watch, PORT:TC; may be repeated")->required();
  app.add_option("--out", options.out, "CSV file")->required();
  app.add_option("--interval-us", options.interval_us, "time between samples")
      ->check(CLI::Range(100, 1'000'000));
  app.add_option("--cpu", options.cpu, "CPU to run on");
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
