// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/thread_io.h"

#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <linux/if_packet.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <utility>

#include "bpf/stages/latency.h"
#include "bpf/stages/mmu.h"
#include "bpf/stages/pfc.h"
#include "daemon/core/clock.h"
#include "daemon/core/real_time_thread_io.h"
#include "daemon/pfc/gates_io.h"

namespace lossless::pfc {
namespace {

constexpr int kPriority = 50;  // SCHED_FIFO: above ordinary work, below the kernel's own threads

}  // namespace

PauseThread::PauseThread(const SharedArray<ll_mmu>& mmu, const SharedArray<ll_pool>& pools,
                         const SharedArray<ll_pause>& pause, net::GateSocket gates)
    : mmu_(mmu),
      pools_(pools),
      pause_(pause),
      gates_(std::move(gates)),
      table_({.is_off = [this](std::uint32_t row) { return mmu_.get(row, &ll_mmu::xoff) != 0; },
              .asked_until = [this](std::uint32_t row) { return pause_.get(row, &ll_pause::until_ns); },
              .let_go_on = [this](std::uint32_t row, const Plan& plan) { return let_go_on(row, plan); }}),
      ring_(nullptr, ring_buffer__free) {}

Result<std::unique_ptr<PauseThread>> PauseThread::start(int pfc_events, const SharedArray<ll_mmu>& mmu,
                                                        const SharedArray<ll_pool>& pools,
                                                        const SharedArray<ll_pause>& pause) {
  auto gates = net::GateSocket::open();
  if (!gates) return std::unexpected(gates.error());
  std::unique_ptr<PauseThread> self(new PauseThread(mmu, pools, pause, std::move(*gates)));
  if (auto opened = self->open(pfc_events); !opened) return std::unexpected(opened.error());
  auto [running, error] =
      start_real_time_thread("lossless-pfc", kPriority, [thread = self.get()] { thread->run(); });
  self->thread_ = std::move(running);
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
  // The ring's own descriptor: libbpf's would be a second epoll to wake through.
  for (const int fd : {pfc_events, timer_.get(), wake_.get()}) {
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
    has_orders_ = true;
  }
  const std::uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

void PauseThread::run() {
  while (!stopping_) {
    epoll_event events[3];
    if (epoll_wait(epoll_.get(), events, 3, -1) < 0 && errno != EINTR) return;
    ring_buffer__consume(ring_.get());  // first: frames that came in are what is urgent
    for (const int fd : {timer_.get(), wake_.get()}) {
      std::uint64_t count = 0;
      (void)!read(fd, &count, sizeof count);
    }
    take_orders();
    table_.on_timer(monotonic_now(), actions_);
    carry_out();
    set_timer();
    follow_.move_if_due();
  }
}

// A dynamic threshold may have risen above a level at which nothing moves. The datapath, which looks when a
// packet leaves, does not see that.
bool PauseThread::let_go_on(std::uint32_t row, const Plan& plan) {
  if (plan.alpha == 0) return false;
  ll_pfc thresholds{};
  thresholds.alpha = plan.alpha;
  thresholds.guaranteed = plan.guaranteed_bytes;
  thresholds.xon_offset = plan.xoff_bytes - plan.xon_bytes;
  const std::uint64_t level = mmu_.get(row, &ll_mmu::bytes) + mmu_.get(row, &ll_mmu::headroom);
  if (level > ll_xon_level(&thresholds, pools_.get(LL_POOL_SHARED, &ll_pool::size),
                           pools_.get(LL_POOL_SHARED, &ll_pool::used)))
    return false;
  __u64 off = 1;
  return mmu_.at(row, &ll_mmu::xoff).compare_exchange_strong(off, 0);
}

void PauseThread::take_orders() {
  if (!has_orders_) return;
  std::vector<Order> orders;
  {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
    has_orders_ = false;
  }
  for (const Order& order : orders) {
    if (std::holds_alternative<Stop>(order)) {
      stopping_ = true;
    } else if (const auto* port = std::get_if<PortInfo>(&order)) {
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
}

int PauseThread::on_record(void* self, void* data, std::size_t size) {
  if (size < sizeof(ll_pfc_event)) return 0;
  auto* thread = static_cast<PauseThread*>(self);
  const auto& event = *static_cast<const ll_pfc_event*>(data);
  thread->take_orders();  // a port is made known before the datapath tells of it
  thread->closing_since_ = event.kind == LL_EVENT_RX ? event.ns : 0;
  thread->table_.on_event(event, monotonic_now(), thread->actions_);
  thread->carry_out();
  thread->closing_since_ = 0;
  thread->follow_.saw_event(event.cpu);
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
      const bool closed = gates_.set(port->ifindex, action.tc,
                                     net::closed_gate_spec(port->limits[action.tc], port->frame_bytes)) == 0;
      if (!closed) failures_++;
      if (closed && closing_since_) {
        closing_[ll_latency_bin((monotonic_now() - closing_since_) / 1000)]++;
      }
      return;
    }
    case Action::Kind::Open:
      if (gates_.set(port->ifindex, action.tc, net::open_gate_spec(port->limits[action.tc])) != 0)
        failures_++;
      publish(action.slot, action.tc);
      return;
    case Action::Kind::Send:
      send_frame(*port, action);
      return;
  }
}

void PauseThread::send_frame(const PortInfo& port, const Action& action) {
  const Nanos now = monotonic_now();
  if (send_pfc_frame(raw_.get(), port.ifindex, port.mac, action.classes, action.quanta) != 0) {
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
  if (next != kNever) when.it_value = timespec_of(next);
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace lossless::pfc
