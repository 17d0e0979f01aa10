// SPDX-License-Identifier: Apache-2.0
// What the iNOF switch costs at its limits: memory, a join and a leave, a cold start. Time is simulated, the
// processor's is measured. Prints figures; fails only when something does not work.
//
//   inof_bench [--quick]
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>

#include "tests/unit/inof_sim.h"

namespace lossless::inof::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr unsigned kPorts = 64;

struct Size {
  unsigned hosts = 8000;
  unsigned zones = 16000;
  unsigned memberships = 32000;
};

double micros(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

double resident_mb() {
  std::ifstream status("/proc/self/statm");
  long pages = 0;
  status >> pages >> pages;
  return static_cast<double>(pages) * 4096 / 1e6;
}

std::string address(unsigned n) {
  return "10." + std::to_string(1 + n / 62500) + "." + std::to_string(n / 250 % 250) + "." +
         std::to_string(1 + n % 250);
}

Announcement make_host(unsigned n) {
  return host(n % kPorts, address(n), n % 2 ? Dialect::ChinaMobile : Dialect::Odcc,
              n % 8 ? Role::Server : Role::Client);
}

// Two members in each zone, so that each host has four zones on average.
InofConfig make_config(const Size& size) {
  InofConfig config;
  config.on = true;
  config.max_hosts_per_port = 8192;
  std::mt19937 random(1);
  for (unsigned z = 0; z < size.zones; ++z) {
    InofZoneConfig zone{"z" + std::to_string(z), {}};
    for (unsigned i = 0; i < size.memberships / size.zones; ++i)
      zone.hosts.push_back(AddressRange::of(ip(address(static_cast<unsigned>(random() % size.hosts)))));
    std::ranges::sort(zone.hosts);
    const auto [first, last] = std::ranges::unique(zone.hosts);
    zone.hosts.erase(first, last);
    config.zones.push_back(std::move(zone));
  }
  return config;
}

struct Costs {
  double join_us = 0;
  double leave_us = 0;
  double mates = 0;
};

// Half of the hosts' median each: one host leaves and joins again while all others are there.
Costs measure_changes(Sim& sim, unsigned hosts, unsigned rounds) {
  std::vector<double> joins;
  std::vector<double> leaves;
  const std::size_t before = sim.sw.notifier().total().sent;
  for (unsigned i = 0; i < rounds; ++i) {
    const Announcement a = make_host(i * 7919 % hosts);
    sim.pass(milliseconds(20));
    auto start = Clock::now();
    sim.sw.goodbye(a.port, a.chassis, a.port_id, Reason::Normal, sim.now);
    auto actions = sim.sw.take(sim.now);
    leaves.push_back(micros(Clock::now() - start));
    for (const OutFrame& frame : actions.frames) sim.deliver(frame);
    start = Clock::now();
    sim.sw.announced(a, sim.now);
    actions = sim.sw.take(sim.now);
    joins.push_back(micros(Clock::now() - start));
    for (const OutFrame& frame : actions.frames) sim.deliver(frame);
    sim.settle();
    sim.seen.clear();
  }
  const auto median = [](std::vector<double>& v) {
    std::ranges::nth_element(v, v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2));
    return v[v.size() / 2];
  };
  const auto sent = static_cast<double>(sim.sw.notifier().total().sent - before);
  return {median(joins), median(leaves), sent / rounds / 3};
}

void print_changes(const Size& size, unsigned rounds) {
  Sim sim(make_config(size), kPorts);
  for (unsigned n = 0; n < size.hosts; ++n) sim.sw.announced(make_host(n), sim.now);
  sim.settle();
  sim.pass(seconds(10));
  sim.seen.clear();
  const Costs costs = measure_changes(sim, size.hosts, rounds);
  std::printf("  %5u hosts, %5u zones, %5u memberships: join %6.1f us, leave %6.1f us, %4.1f mates\n",
              size.hosts, size.zones, size.memberships, costs.join_us, costs.leave_us, costs.mates);
}

// All hosts join within a second; each acknowledges after a millisecond. How long until nothing is left to
// say?
void cold_start(const Size& size) {
  malloc_trim(0);
  const double before = resident_mb();
  Sim sim(make_config(size), kPorts);
  std::vector<std::pair<Micros, OutFrame>> on_the_way;
  std::map<PortId, std::vector<Micros>> sent;
  const Micros begin = sim.now;
  const auto cpu = Clock::now();
  unsigned joined = 0;
  std::size_t messages = 0;
  const auto act = [&] {
    for (OutFrame& frame : sim.sw.take(sim.now).frames) {
      sent[frame.port].push_back(sim.now);
      messages += frame.messages.size();
      on_the_way.emplace_back(sim.now + milliseconds(1), std::move(frame));
    }
  };
  double peak = 0;
  for (; joined < size.hosts || !sim.sw.notifier().idle(); sim.now += milliseconds(1)) {
    if (sim.now - begin > seconds(60)) throw std::runtime_error("it does not settle");
    const auto wanted = std::min<unsigned>(
        size.hosts, static_cast<unsigned>((sim.now - begin).count() * size.hosts / 1'000'000) + 1);
    for (; joined < wanted; ++joined) {
      sim.sw.announced(make_host(joined), sim.now);
      act();
    }
    std::size_t arrived = 0;
    for (; arrived < on_the_way.size() && on_the_way[arrived].first <= sim.now; ++arrived) {
      StatusFrame answer{.dialect = Dialect::Odcc, .source = {}, .messages = {}};
      for (const Message& m : on_the_way[arrived].second.messages) {
        const auto& notify = std::get<Notify>(m);
        answer.messages.emplace_back(Ack{notify.subject, notify.notified, notify.sequence});
      }
      sim.sw.frame(on_the_way[arrived].second.port, answer, sim.now);
    }
    on_the_way.erase(on_the_way.begin(), on_the_way.begin() + static_cast<std::ptrdiff_t>(arrived));
    sim.sw.advance(sim.now);
    act();
    if ((sim.now - begin).count() % 100'000 == 0) peak = std::max(peak, resident_mb() - before);
  }
  std::size_t most = 0;
  for (const auto& [port, times] : sent) {
    for (std::size_t first = 0, last = 0; last < times.size(); ++last) {
      while (times[last] - times[first] >= milliseconds(500)) ++first;
      most = std::max(most, last - first + 1);
    }
  }
  std::printf("cold start, %u hosts on %u ports in 1 s\n", size.hosts, kPorts);
  std::printf("  settled after      %6.2f s of simulated time   target 5 s\n",
              static_cast<double>((sim.now - begin).count()) / 1e6);
  std::printf("  processor time     %6.2f s\n", micros(Clock::now() - cpu) / 1e6);
  std::printf("  most frames in any 500 ms on a port %zu   target below 500\n", most);
  std::printf("  notifications      %zu, repeated %lu, expired %lu\n", messages,
              sim.sw.notifier().total().retransmitted, sim.sw.notifier().total().expired);
  std::printf("  memory, hosts and zones and all on its way: %.1f MB   target 60 MB\n",
              std::max(peak, resident_mb() - before));
}

void run(bool quick) {
  const unsigned rounds = quick ? 200 : 2000;
  std::printf("one host leaves and joins while all others are there (medians of %u)\n", rounds);
  print_changes({.hosts = 500, .zones = 1000, .memberships = 2000}, rounds);
  print_changes({.hosts = 2000, .zones = 4000, .memberships = 8000}, rounds);
  print_changes({}, rounds);
  cold_start({});
  if (!quick) {
    std::printf("the same without zones: all are in the default zone\n");
    cold_start({.hosts = 1000, .zones = 1, .memberships = 0});
  }
}

}  // namespace
}  // namespace lossless::inof::test

int main(int argc, char** argv) {
  lossless::inof::test::run(argc > 1 && std::strcmp(argv[1], "--quick") == 0);
  return 0;
}
