// SPDX-License-Identifier: Apache-2.0
#include "daemon/bfd/thread_io.h"

#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

#include "daemon/core/clock.h"
#include "daemon/core/real_time_thread_io.h"

namespace lossless::bfd {
namespace {

// SCHED_FIFO: below the PFC thread, whose deadlines are shorter.
constexpr int kPriority = 45;
// Datagrams of one port before timers are looked at again: a flood must not keep us from sending.
constexpr unsigned kMaxDrain = 1024;

std::uint64_t new_seed() {
  std::uint64_t seed = monotonic_now();
  (void)!getrandom(&seed, sizeof seed, 0);
  return seed;
}

bool has_ipv6() { return static_cast<bool>(Fd(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0))); }

void wake(const Fd& fd) {
  const std::uint64_t one = 1;
  (void)!write(fd.get(), &one, sizeof one);
}

void clear(const Fd& fd) {
  std::uint64_t count = 0;
  (void)!read(fd.get(), &count, sizeof count);
}

}  // namespace

BfdThread::BfdThread(std::uint64_t seed)
    : table_(seed, {.send = [this](const Peer& peer, std::uint32_t id,
                                   const Bytes& packet) { return senders_[id].send(peer, packet); },
                    .changed =
                        [this](const PeerKey& key, const Change& change) {
                          const std::lock_guard lock(mutex_);
                          news_.push_back({key, change});
                          wake(news_fd_);
                        }}) {}

Result<std::unique_ptr<BfdThread>> BfdThread::start() {
  std::unique_ptr<BfdThread> self(new BfdThread(new_seed()));
  if (auto opened = self->open(); !opened) return std::unexpected(opened.error());
  auto [running, error] =
      start_real_time_thread("lossless-bfd", kPriority, [thread = self.get()] { thread->run(); });
  self->thread_ = std::move(running);
  self->real_time_ = error == 0;
  if (error)
    spdlog::warn("BFD thread without real-time priority: {}; short detection times fail falsely under load",
                 errno_text(error));
  return self;
}

BfdThread::~BfdThread() {
  if (!thread_.joinable()) return;
  post(Stop{});
  thread_.join();
}

Status BfdThread::open() {
  for (const bool v6 : {false, true}) {
    if (v6 && !has_ipv6()) continue;
    for (const bool multihop : {false, true}) {
      auto receiver = Receiver::open(v6, multihop);
      if (!receiver) return std::unexpected(receiver.error());
      receivers_.push_back(std::move(*receiver));
    }
  }
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  news_fd_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !timer_ || !wake_ || !news_fd_) return fail_errno("cannot set up the BFD thread", errno);
  std::vector<int> watched{timer_.get(), wake_.get()};
  for (const Receiver& receiver : receivers_) watched.push_back(receiver.fd());
  for (const int fd : watched) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event))
      return fail_errno("cannot set up the BFD thread", errno);
  }
  return {};
}

void BfdThread::post(Order order) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
    has_orders_ = true;
  }
  wake(wake_);
}

std::vector<BfdThread::News> BfdThread::take_news() {
  clear(news_fd_);
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

BfdThread::Snapshot BfdThread::snapshot() {
  auto answer = std::make_shared<std::promise<Snapshot>>();
  post(Query{answer});
  return answer->get_future().get();
}

std::vector<SavedPeer> BfdThread::freeze() {
  auto answer = std::make_shared<std::promise<std::vector<SavedPeer>>>();
  post(Freeze{answer});
  return answer->get_future().get();
}

std::vector<SavedPeer> BfdThread::save_and_freeze() {
  std::vector<SavedPeer> out;
  for (const auto& [id, entry] : table_.entries())
    if (entry.session.state() == State::Up) out.push_back({entry.peer.key, entry.session.save()});
  table_.freeze();
  return out;
}

// What has arrived comes before what has expired: packets that waited while we could not run are no failure.
void BfdThread::run() {
  while (!stopping_) {
    std::array<epoll_event, 8> events{};
    if (epoll_wait(epoll_.get(), events.data(), events.size(), -1) < 0 && errno != EINTR) return;
    clear(timer_);
    clear(wake_);
    take_orders();
    for (Receiver& receiver : receivers_)
      receiver.drain(kMaxDrain,
                     [this](const Datagram& datagram) { table_.receive(datagram, monotonic_now()); });
    table_.advance(monotonic_now());
    set_timer();
  }
  table_.say_goodbye(monotonic_now());
}

void BfdThread::take_orders() {
  if (!has_orders_) return;
  std::vector<Order> orders;
  {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
    has_orders_ = false;
  }
  for (const Order& order : orders) obey(order);
}

void BfdThread::obey(const Order& order) {
  if (const auto* peer = std::get_if<Peer>(&order)) {
    forget_sender(*peer);
    table_.set(*peer, monotonic_now());
  } else if (const auto* gone = std::get_if<Remove>(&order)) {
    table_.remove(gone->key, monotonic_now());
    std::erase_if(senders_, [this](const auto& sender) { return !table_.entries().contains(sender.first); });
  } else if (const auto* query = std::get_if<Query>(&order)) {
    query->answer->set_value(make_snapshot());
  } else if (const auto* adopt = std::get_if<Adopt>(&order)) {
    table_.adopt(adopt->peer, adopt->session, monotonic_now());
  } else if (std::holds_alternative<Prepare>(order)) {
    table_.prepare_hand_over(monotonic_now());
  } else if (const auto* freeze = std::get_if<Freeze>(&order)) {
    freeze->answer->set_value(save_and_freeze());
  } else {
    stopping_ = true;
  }
}

// A socket belongs to the interface it was opened on, not to its name.
void BfdThread::forget_sender(const Peer& peer) {
  for (const auto& [id, entry] : table_.entries())
    if (entry.peer.key == peer.key && entry.peer.ifindex != peer.ifindex) senders_.erase(id);
}

BfdThread::Snapshot BfdThread::make_snapshot() const {
  Snapshot out{.sessions = {}, .strays = table_.strays(), .now = monotonic_now()};
  for (const auto& [id, entry] : table_.entries()) {
    const auto sender = senders_.find(id);
    const int error = sender == senders_.end() ? 0 : sender->second.error();
    out.sessions.push_back({entry, error == 0 ? "" : errno_text(error)});
  }
  return out;
}

void BfdThread::set_timer() {
  const Nanos next = table_.deadline();
  itimerspec when{};
  if (next != kNever) when.it_value = timespec_of(next);
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace lossless::bfd
