// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/endpoint/loop_io.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "veth-topo/endpoint/clock_io.h"
#include "veth-topo/endpoint/codec.h"
#include "veth-topo/endpoint/engine.h"
#include "veth-topo/endpoint/socket_io.h"

namespace lossless::endpoint {
namespace {

// Waits shorter than this are spun: going to sleep and waking up takes longer.
constexpr Nanos kSpinNs = 10 * kMicrosecond;
constexpr std::uint32_t kSignal = ~0u;

std::string reason() { return std::generic_category().message(errno); }

std::size_t longest_frame(const Config& c) {
  std::size_t longest = frame_length(true, true, kDethLen, LL_MAD_LEN);
  for (const FlowConfig& f : c.flows)
    longest = std::max(longest,
                       frame_length(c.hosts[f.from].address.v6, f.pcp.has_value(), sizeof(ll_reth), f.mtu));
  return longest;
}

std::expected<void, std::string> pin(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    return std::unexpected("cpu: cannot run on CPU " + std::to_string(cpu) + ": " + reason());
  return {};
}

// Lab hosts share their CPUs with whatever else runs; a wake-up that comes late is a gap on the wire.
std::expected<void, std::string> set_realtime(int priority) {
  sched_param param{};
  param.sched_priority = priority;
  if (sched_setscheduler(0, SCHED_FIFO, &param) != 0)
    return std::unexpected("rt_priority: cannot be " + std::to_string(priority) + ": " + reason());
  return {};
}

class Loop {
 public:
  Loop(const Config& config, const LoopOptions& options) : config_(config), options_(options) {}

  std::expected<void, std::string> open() {
    if (config_.cpu) {
      if (auto pinned = pin(*config_.cpu); !pinned) return pinned;
    }
    if (config_.rt_priority > 0) {
      if (auto set = set_realtime(config_.rt_priority); !set) return set;
    }
    prctl(PR_SET_TIMERSLACK, 1);
    epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_) return std::unexpected("epoll: " + reason());
    for (std::uint32_t i = 0; i < config_.hosts.size(); i++) {
      auto opened = HostSocket::open(config_.hosts[i], longest_frame(config_));
      if (!opened) return std::unexpected(opened.error());
      sockets_.push_back(std::move(*opened));
      if (!watch(sockets_[i].fd(), i)) return std::unexpected("epoll: " + reason());
    }
    return open_signals();
  }

  Results run() {
    Engine engine(config_, monotonic_now());
    while (engine.phase() != Engine::Phase::Done) {
      const Nanos now = monotonic_now();
      engine.advance(now);
      for (std::uint32_t i = 0; i < sockets_.size(); i++) sockets_[i].send(engine, i, now);
      report_progress(engine);
      wait_and_receive(engine);
    }
    for (std::uint32_t i = 0; i < sockets_.size(); i++)
      engine.host_stats(i).socket_drops = sockets_[i].take_drops();
    return engine.results();
  }

 private:
  bool watch(int fd, std::uint32_t tag) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = tag;
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  std::expected<void, std::string> open_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return std::unexpected("signals: " + reason());
    signals_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_ || !watch(signals_.get(), kSignal)) return std::unexpected("signalfd: " + reason());
    return {};
  }

  // No wait while a frame is due within the time it takes to sleep; at most one second.
  static timespec timeout(Nanos deadline, Nanos now) {
    if (deadline <= now + kSpinNs) return {0, 0};
    const Nanos wait = std::min(deadline - now, kSecond);
    return {static_cast<time_t>(wait / kSecond), static_cast<long>(wait % kSecond)};
  }

  void wait_and_receive(Engine& engine) {
    Nanos deadline = engine.next_deadline();
    for (const HostSocket& s : sockets_) deadline = std::min(deadline, s.retry_at());
    const timespec wait = timeout(deadline, monotonic_now());
    std::array<epoll_event, 64> events;
    const int n = epoll_pwait2(epoll_.get(), events.data(), events.size(), &wait, nullptr);
    for (int i = 0; i < n; i++) {
      const std::uint32_t tag = events[static_cast<std::size_t>(i)].data.u32;
      if (tag == kSignal) {
        on_signal(engine);
      } else {
        sockets_[tag].receive(engine, tag);
      }
    }
  }

  void on_signal(Engine& engine) {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) engine.interrupt(monotonic_now());
  }

  // The series has a point every 50 ms; every second one makes a line.
  void report_progress(const Engine& engine) {
    if (!options_.progress) return;
    const auto& series = engine.series();
    for (; reported_ + 1 < series.size(); reported_ += 2) {
      SeriesPoint both = series[reported_ + 1];
      both.goodput_mbps = (both.goodput_mbps + series[reported_].goodput_mbps) / 2;
      both.cnp += series[reported_].cnp;
      both.retransmitted += series[reported_].retransmitted;
      options_.progress(both);
    }
  }

  const Config& config_;
  const LoopOptions& options_;
  Fd epoll_;
  Fd signals_;
  std::vector<HostSocket> sockets_;
  std::size_t reported_ = 0;
};

}  // namespace

std::expected<Results, std::string> run_loop(const Config& config, const LoopOptions& options) {
  Loop loop(config, options);
  if (auto opened = loop.open(); !opened) return std::unexpected(opened.error());
  return loop.run();
}

}  // namespace lossless::endpoint
