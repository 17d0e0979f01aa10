// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/thread_io.h"

#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <linux/if_packet.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "bpf/stages/pfc.h"
#include "daemon/core/clock.h"
#include "daemon/net/qdisc_io.h"

namespace lossless::pfc {
namespace {

constexpr int kPriority = 50;  // SCHED_FIFO: above ordinary work, below the kernel's own threads
constexpr Nanos kSecondNs = 1'000'000'000;

}  // namespace

PauseThread::PauseThread(const SharedArray<ll_mmu>& mmu, const SharedArray<ll_pause>& pause,
                         net::Netlink netlink)
    : mmu_(mmu),
      pause_(pause),
      netlink_(std::move(netlink)),
      table_({.is_off = [this](std::uint32_t row) { return mmu_.get(row, &ll_mmu::xoff) != 0; },
              .asked_until = [this](std::uint32_t row) { return pause_.get(row, &ll_pause::until_ns); }}),
      ring_(nullptr, ring_buffer__free) {}

Result<std::unique_ptr<PauseThread>> PauseThread::start(int pfc_events, const SharedArray<ll_mmu>& mmu,
                                                        const SharedArray<ll_pause>& pause) {
  auto netlink = net::Netlink::open();
  if (!netlink) return std::unexpected(netlink.error());
  std::unique_ptr<PauseThread> self(new PauseThread(mmu, pause, std::move(*netlink)));
  if (auto opened = self->open(pfc_events); !opened) return std::unexpected(opened.error());
  // Signals are for the event loop.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  self->thread_ = std::thread([thread = self.get()] { thread->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(self->thread_.native_handle(), "lossless-pfc");
  const sched_param priority{.sched_priority = kPriority};
  const int error = pthread_setschedparam(self->thread_.native_handle(), SCHED_FIFO, &priority);
  self->real_time_ = error == 0;
  if (error)
    spdlog::warn("PFC thread without real-time priority: {}; reactions take milliseconds under load",
                 errno_text(error));
  return self;
}

PauseThread::~PauseThread() {
  if (!thread_.joinable()) return;
  post(Stop{});
  thread_.join();
}

Status PauseThread::open(int pfc_events) {
  ring_.reset(ring_buffer__new(pfc_events, on_record, this, nullptr));
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  raw_ = Fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));  // protocol 0: sends only
  if (!ring_ || !epoll_ || !timer_ || !wake_ || !raw_)
    return fail_errno("cannot set up the PFC thread", errno);
  for (const int fd : {ring_buffer__epoll_fd(ring_.get()), timer_.get(), wake_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event))
      return fail_errno("cannot set up the PFC thread", errno);
  }
  return {};
}

void PauseThread::post(const Order& order) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(order);
  }
  const std::uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

void PauseThread::run() {
  for (;;) {
    epoll_event events[3];
    if (epoll_wait(epoll_.get(), events, 3, -1) < 0 && errno != EINTR) return;
    std::uint64_t count = 0;
    (void)!read(timer_.get(), &count, sizeof count);
    if (!take_orders()) return;
    ring_buffer__consume(ring_.get());
    table_.on_timer(monotonic_now(), actions_);
    carry_out();
    set_timer();
  }
}

// false: the thread is to end.
bool PauseThread::take_orders() {
  std::uint64_t count = 0;
  if (read(wake_.get(), &count, sizeof count) < 0) return true;
  std::vector<Order> orders;
  {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
  }
  for (const Order& order : orders) {
    if (std::holds_alternative<Stop>(order)) return false;
    if (const auto* port = std::get_if<PortInfo>(&order)) {
      std::array<Gate, kTcs> gates{};
      for (unsigned tc = 0; tc < kTcs; ++tc) {
        const std::uint32_t row = LL_ROW(port->slot, tc);
        gates[tc] = {.since_ns = pause_.get(row, &ll_pause::since_ns),
                     .paused_ns = pause_.get(row, &ll_pause::paused_ns),
                     .transitions = pause_.get(row, &ll_pause::transitions)};
      }
      table_.set_port(*port, gates, monotonic_now(), actions_);
      carry_out();
    } else if (const auto* removed = std::get_if<RemovePort>(&order)) {
      table_.remove_port(removed->slot, monotonic_now(), actions_);
      carry_out();
      table_.forget(removed->slot);
    }
  }
  return true;
}

int PauseThread::on_record(void* self, void* data, std::size_t size) {
  if (size < sizeof(ll_pfc_event)) return 0;
  auto* thread = static_cast<PauseThread*>(self);
  const auto& event = *static_cast<const ll_pfc_event*>(data);
  thread->closing_since_ = event.kind == LL_EVENT_RX ? event.ns : 0;
  thread->table_.on_event(event, monotonic_now(), thread->actions_);
  thread->carry_out();
  thread->closing_since_ = 0;
  return 0;
}

void PauseThread::carry_out() {
  for (const Action& action : actions_) carry_out(action);
  actions_.clear();
}

// A row says closed before the gate is, and open after it: whoever takes over from us opens what may be
// closed.
void PauseThread::carry_out(const Action& action) {
  const PortInfo* port = table_.port(action.slot);
  if (!port) return;
  switch (action.kind) {
    case Action::Kind::Close: {
      publish(action.slot, action.tc);
      const Status closed =
          net::close_gate(netlink_, port->ifindex, action.tc, port->limits[action.tc], port->frame_bytes);
      if (!closed) failures_++;
      if (closed && closing_since_) {
        const Nanos us = (monotonic_now() - closing_since_) / 1000;
        closing_[std::min<Nanos>(us, LL_LATENCY_BINS - 1)]++;
      }
      return;
    }
    case Action::Kind::Open:
      if (!net::open_gate(netlink_, port->ifindex, action.tc, port->limits[action.tc])) failures_++;
      publish(action.slot, action.tc);
      return;
    case Action::Kind::Send:
      send_frame(*port, action);
      return;
  }
}

void PauseThread::send_frame(const PortInfo& port, const Action& action) {
  std::array<std::uint8_t, LL_PFC_FRAME_LEN> frame;
  ll_pfc_build(frame.data(), port.mac.data(), action.classes, action.quanta);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(LL_ETH_MAC_CONTROL);
  to.sll_ifindex = port.ifindex;
  const Nanos now = monotonic_now();
  if (sendto(raw_.get(), frame.data(), frame.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&to),
             sizeof to) < 0) {
    failures_++;
    return;
  }
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    if (!(action.classes & (1U << tc))) continue;
    const std::uint32_t row = LL_ROW(action.slot, tc);
    mmu_.at(row, action.quanta ? &ll_mmu::tx_xoff : &ll_mmu::tx_xon).fetch_add(1, std::memory_order_relaxed);
    // The datapath repeats the frame only when this one gets old.
    if (action.quanta) mmu_.at(row, &ll_mmu::xoff_ns).store(now, std::memory_order_relaxed);
  }
}

void PauseThread::publish(std::uint32_t slot, unsigned tc) {
  const std::uint32_t row = LL_ROW(slot, tc);
  const Gate& gate = table_.gate(slot, tc);
  pause_.at(row, &ll_pause::since_ns).store(gate.since_ns, std::memory_order_relaxed);
  pause_.at(row, &ll_pause::paused_ns).store(gate.paused_ns, std::memory_order_relaxed);
  pause_.at(row, &ll_pause::transitions).store(gate.transitions, std::memory_order_relaxed);
}

void PauseThread::set_timer() {
  const Nanos next = table_.next_deadline();
  itimerspec when{};
  if (next != kNever) {
    when.it_value.tv_sec = static_cast<time_t>(next / kSecondNs);
    when.it_value.tv_nsec = static_cast<long>(next % kSecondNs);
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace lossless::pfc
