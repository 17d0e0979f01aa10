// SPDX-License-Identifier: Apache-2.0
// A switch in memory for endpoint tests: one queue per host with a rate, a limit and WRED/ECN marking, and a
// fixed delay each way. Runs an Engine in virtual time, so a second of traffic takes milliseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "veth-topo/endpoint/codec.h"
#include "veth-topo/endpoint/engine.h"

namespace lossless::endpoint {

struct SimPort {
  std::uint64_t bps = 100'000'000;
  std::size_t limit_bytes = 1'000'000;
  std::size_t kmin_bytes = SIZE_MAX;  // SIZE_MAX: no marking
  std::size_t kmax_bytes = SIZE_MAX;
  double pmax = 0.2;
};

class SimNetwork {
 public:
  SimNetwork(const Config& config, const SimPort& port, Nanos delay_ns)
      : config_(config), port_(port), delay_(delay_ns), engine_(config, now_), queues_(config.hosts.size()) {}

  // May drop (false) or change a frame before it enters the switch.
  std::function<bool(std::vector<std::uint8_t>&)> tap;

  // Until the engine is done or `limit` has passed. True if it is done.
  bool run(Nanos limit = 3600 * kSecond) {
    for (;;) {
      engine_.advance(now_);
      if (engine_.phase() == Engine::Phase::Done) return true;
      send_all();
      const Nanos next = std::min(engine_.next_deadline(), events_.empty() ? kNever : events_.begin()->first);
      if (next == kNever || next > limit) return false;
      now_ = std::max(now_, next);
      deliver();
    }
  }

  Engine& engine() { return engine_; }
  Nanos now() const { return now_; }
  std::uint64_t drops = 0;
  std::uint64_t marks = 0;
  // Depth of the queues at each frame that arrives at them, once `sample_from` has passed.
  std::vector<std::size_t> depths;
  Nanos sample_from = 0;

  std::size_t depth_quantile(double q) {
    if (depths.empty()) return 0;
    std::ranges::sort(depths);
    return depths[static_cast<std::size_t>(q * static_cast<double>(depths.size() - 1))];
  }

 private:
  struct Queue {
    std::size_t bytes = 0;
    Nanos free_at = 0;
  };
  using Frame = std::vector<std::uint8_t>;

  void send_all() {
    Frame buffer(5000);
    for (std::uint32_t h = 0; h < queues_.size(); h++) {
      while (const auto meta = engine_.next_frame(h, now_, buffer)) {
        engine_.on_sent(h, *meta, now_);
        Frame frame(buffer.begin(), buffer.begin() + meta->length);
        if (tap && !tap(frame)) continue;
        at(now_ + delay_, [this, f = std::move(frame)]() mutable { enqueue(std::move(f)); });
      }
    }
  }

  std::size_t port_of(const Frame& f) const {
    for (std::size_t i = 0; i < config_.hosts.size(); i++) {
      if (std::equal(f.begin(), f.begin() + 6, config_.hosts[i].address.mac.begin())) return i;
    }
    return 0;
  }

  bool select(std::size_t depth) {
    if (depth <= port_.kmin_bytes) return false;
    if (depth > port_.kmax_bytes) return true;
    const double part = static_cast<double>(depth - port_.kmin_bytes) /
                        static_cast<double>(port_.kmax_bytes - port_.kmin_bytes);
    return std::uniform_real_distribution(0.0, 1.0)(random_) < part * port_.pmax;
  }

  // CE in an IPv4 frame, with a new header checksum.
  void mark(Frame& f) {
    const std::size_t ip = f[12] == 0x81 ? 18 : 14;
    if ((f[ip + 1] & 3) == 0) return;
    f[ip + 1] |= 3;
    ll_put16(&f[ip + 10], 0);
    ll_put16(&f[ip + 10], ~ll_ip4_sum(&f[ip]) & 0xffffu);
    marks++;
  }

  void enqueue(Frame f) {
    const std::size_t port = port_of(f);
    Queue& q = queues_[port];
    if (now_ >= sample_from) depths.push_back(q.bytes);
    if (q.bytes + f.size() > port_.limit_bytes) {
      drops++;
      return;
    }
    if (select(q.bytes)) mark(f);
    q.bytes += f.size();
    q.free_at = std::max(q.free_at, now_) + serialization_ns(f.size(), port_.bps);
    at(q.free_at, [this, port, size = f.size()] { queues_[port].bytes -= size; });
    at(q.free_at + delay_,
       [this, port, g = std::move(f)] { engine_.on_frame(static_cast<std::uint32_t>(port), g, now_); });
  }

  void at(Nanos when, std::function<void()> what) { events_.emplace(when, std::move(what)); }

  void deliver() {
    while (!events_.empty() && events_.begin()->first <= now_) {
      const auto what = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      what();
    }
  }

  Config config_;
  SimPort port_;
  Nanos delay_;
  Nanos now_ = kSecond;
  Engine engine_;
  std::vector<Queue> queues_;
  std::multimap<Nanos, std::function<void()>> events_;
  std::mt19937 random_{7};
};

// `senders` hosts h1 … and one receiver, one closed-loop flow of 1 MiB messages from each sender to it.
inline Config incast_config(std::uint32_t senders, std::uint64_t link_bps, Nanos duration_ns) {
  Config c;
  c.duration_ns = duration_ns;
  c.warmup_ns = duration_ns / 4;
  for (std::uint32_t i = 0; i <= senders; i++) {
    HostConfig h;
    h.name = "h" + std::to_string(i + 1);
    h.address.mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(i + 1)};
    h.address.ip = {10, 0, 0, static_cast<std::uint8_t>(i + 1)};
    h.link_bps = link_bps;
    c.hosts.push_back(h);
  }
  for (std::uint32_t i = 0; i < senders; i++) {
    FlowConfig f;
    f.from = i;
    f.to = senders;
    f.window_packets = 512;
    c.flows.push_back(f);
  }
  return c;
}

}  // namespace lossless::endpoint
