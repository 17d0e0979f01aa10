// SPDX-License-Identifier: Apache-2.0
// What the RoCEv2 flow stage costs: ns a packet with many flows in random order, and a flood of flows that
// are never seen again. Test runs that go through batches of different packets, as a port that receives does;
// a system call for each packet would measure the caches that it empties. Prints figures; fails only when
// something does not work.
//
//   flows_bench [--quick] [FLOWS]      needs root; FLOWS: with this many alone, and no flood
#include <bpf/libbpf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

#include "bpf/stages/roce_table.h"
#include "loader/result.h"
#include "tests/bench/flows_bench.h"
// Needs the types above.
#include <flows_bench.skel.h>

#include "tests/bpf/golden.h"
#include "tests/bpf/scratch_io.h"

namespace lossless::test {
namespace {

constexpr std::uint32_t kFlood = 10'000'000;

// The least of several values is nearest to what the code takes; the middle one is what this machine gives.
struct Cost {
  double least;
  double middle;
};

Cost cost_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {.least = values.front(), .middle = values[values.size() / 2]};
}

// The maps of an instance with a program of its own, which makes packets as it goes.
class Flows {
 public:
  explicit Flows(std::uint32_t rows) : rows_(rows), bpf_(flows_bench_bpf__open(), flows_bench_bpf__destroy) {
    if (!bpf_) throw std::runtime_error("cannot open the BPF object");
    const std::uint32_t sets = LL_ROCE_SETS_FOR(rows);
    bpf_->rodata->ll_roce_sets = sets;
    bpf_map__set_max_entries(bpf_->maps.roce_sets, sets);
    bpf_map__set_max_entries(bpf_->maps.roce_flows, sets * LL_ROCE_WAYS);
    bpf_map__set_max_entries(bpf_->maps.roce_pairs, rows);
    if (const int error = flows_bench_bpf__load(bpf_.get()))
      throw std::runtime_error("cannot load the BPF object: " + errno_text(-error));
    packet_ = from_hex(read_golden("ecn.tsv")[6][1]);
    packet_[14 + 20 + 8] = LL_OP_WRITE_MIDDLE;
    packet_[14 + 20 + 8 + 8] = 0;  // as most packets, it asks for no ACK
  }

  // ns a packet, over at least `packets` of them.
  double run(bool on, std::uint32_t flows, std::uint32_t packets, bool in_order = false) {
    ll_roce_config config{};
    config.on = on ? 1 : 0;
    const std::uint32_t zero = 0;
    if (bpf_map_update_elem(bpf_map__fd(bpf_->maps.roce_config), &zero, &config, BPF_ANY))
      throw std::runtime_error("cannot switch the stage");
    bpf_->bss->bench.flows = flows;
    bpf_->bss->bench.in_order = in_order ? 1 : 0;
    const auto result =
        run_program(bpf_program__fd(bpf_->progs.flows_batch), packet_,
                    {.ifindex = 1, .repeat = (packets + LL_FLOWS_BATCH - 1) / LL_FLOWS_BATCH});
    if (!result) throw std::runtime_error("the program did not run");
    return static_cast<double>(result->ns_per_run) / LL_FLOWS_BATCH;
  }

  ll_roce_stats stats() const { return CounterMap<ll_roce_stats>(bpf_map__fd(bpf_->maps.roce_stats)).sum(0); }
  // Bytes of kernel memory for a flow; pairs have a map of their own.
  double flow_bytes() const {
    return (memory_of(bpf_map__fd(bpf_->maps.roce_flows)) + memory_of(bpf_map__fd(bpf_->maps.roce_sets))) /
           rows_;
  }
  double pair_bytes() const { return memory_of(bpf_map__fd(bpf_->maps.roce_pairs)) / rows_; }

 private:
  static double memory_of(int fd) {
    std::ifstream file("/proc/self/fdinfo/" + std::to_string(fd));
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("memlock:")) return std::stod(line.substr(8));
    return 0;
  }

  std::uint32_t rows_;
  std::unique_ptr<flows_bench_bpf, void (*)(flows_bench_bpf*)> bpf_;
  Bytes packet_;
};

void measure(std::uint32_t flows, double target, unsigned rounds, std::uint32_t packets) {
  Flows table(std::max(LL_ROCE_FLOWS_DEFAULT, flows));
  table.run(true, flows, flows, true);  // makes the flows
  std::vector<double> stage;
  for (unsigned i = 0; i < rounds; ++i) {
    const double off = table.run(false, flows, packets);
    stage.push_back(table.run(true, flows, packets) - off);
  }
  const Cost cost = cost_of(stage);
  std::printf("  %9u flows: %5.0f, the least %5.0f   target %.0f; %.0f bytes a flow, %.0f its pair\n", flows,
              cost.middle, cost.least, target, table.flow_bytes(), table.pair_bytes());
}

// Each packet is of a new flow; then some of the old ones again.
void flood(std::uint32_t flows, std::uint32_t rows) {
  Flows table(rows);
  std::printf("%u flows that are never seen again, %u rows, ns a packet by tenths of the flood:\n  ", flows,
              rows);
  double total = 0;
  for (unsigned tenth = 0; tenth < 10; ++tenth) {
    const double ns = table.run(true, flows, flows / 10, true);
    total += ns * (flows / 10.0);
    std::printf(" %4.0f", ns);
  }
  const ll_roce_stats stats = table.stats();
  const std::uint64_t kept = stats.flows - stats.evicted;
  std::printf("\n  %.1f s of one CPU; %llu flows kept, %llu packets without a row\n", total / 1e9,
              static_cast<unsigned long long>(kept), static_cast<unsigned long long>(stats.no_room));
  if (kept > LL_ROCE_SETS_FOR(rows) * LL_ROCE_WAYS)
    throw std::runtime_error("more flows than there is room for");
  if (stats.flows < flows - flows / 100) throw std::runtime_error("flows were not taken up");
}

}  // namespace
}  // namespace lossless::test

int main(int argc, char** argv) {
  using namespace lossless::test;
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const unsigned rounds = quick ? 5 : 15;
  const std::uint32_t packets = quick ? 400'000 : 2'000'000;
  const auto only =
      static_cast<std::uint32_t>(argc > (quick ? 2 : 1) ? std::strtoul(argv[argc - 1], nullptr, 10) : 0);
  try {
    std::printf(
        "RoCEv2 flow stage, ns a packet in random order, %d packets a run, %u rounds with and without\n",
        LL_FLOWS_BATCH, rounds);
    for (const std::uint32_t flows : {1000U, 100'000U, 1'000'000U})
      if (!only) measure(flows, flows == 1000 ? 140 : 350, rounds, packets);
    if (only) {
      measure(only, only <= 1000 ? 140 : 350, rounds, packets);
      return 0;
    }
    flood(kFlood, LL_ROCE_FLOWS_DEFAULT);
    flood(kFlood, LL_ROCE_FLOWS_MAX);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flows_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
