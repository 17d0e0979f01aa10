// SPDX-License-Identifier: Apache-2.0
// What a flow sends: message sizes from a distribution, arrivals closed-loop or Poisson. Seeded: the same
// seed gives the same sequence of messages. Pure.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "veth-topo/endpoint/types.h"

namespace lossless::endpoint {

// A point of a cumulative distribution: this share of messages is at most this large.
struct SizePoint {
  std::uint64_t bytes;
  double share;  // 0 .. 1, rising; the last point has 1
  bool operator==(const SizePoint&) const = default;
};

// Message sizes, linear between the points. One point alone is a fixed size.
class SizeDistribution {
 public:
  explicit SizeDistribution(std::vector<SizePoint> points) : points_(std::move(points)) {}
  static SizeDistribution fixed(std::uint64_t bytes) { return SizeDistribution({{bytes, 1.0}}); }

  // Size at quantile u in [0, 1): at least one byte.
  std::uint64_t at(double u) const;
  double mean_bytes() const;

 private:
  std::vector<SizePoint> points_;
};

// Flow sizes of a web-search cluster, the usual benchmark of data-centre transports (Alizadeh et al.,
// "Data Center TCP", SIGCOMM 2010, figure 4).
std::span<const SizePoint> web_search_sizes();

// The random numbers of one flow.
class FlowRandom {
 public:
  FlowRandom(std::uint64_t seed, std::uint64_t flow) : engine_(mix(seed, flow)) {}
  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
  // Time to the next event of a Poisson process; at least 1 ns.
  Nanos exponential(double mean_ns);
  std::uint32_t bits24() { return static_cast<std::uint32_t>(engine_() >> 40); }

 private:
  static std::uint64_t mix(std::uint64_t seed, std::uint64_t flow);
  std::mt19937_64 engine_;
};

}  // namespace lossless::endpoint
