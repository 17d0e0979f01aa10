// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/endpoint/workload.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lossless::endpoint {

std::uint64_t SizeDistribution::at(double u) const {
  const auto above = std::ranges::upper_bound(points_, u, {}, &SizePoint::share);
  if (above == points_.end()) return std::max<std::uint64_t>(1, points_.back().bytes);
  if (above == points_.begin()) return std::max<std::uint64_t>(1, above->bytes);
  const SizePoint& low = *(above - 1);
  const double part = (u - low.share) / (above->share - low.share);
  const double bytes = static_cast<double>(low.bytes) +
                       part * (static_cast<double>(above->bytes) - static_cast<double>(low.bytes));
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bytes));
}

double SizeDistribution::mean_bytes() const {
  double mean = static_cast<double>(points_.front().bytes) * points_.front().share;
  for (std::size_t i = 1; i < points_.size(); i++) {
    const double middle =
        (static_cast<double>(points_[i - 1].bytes) + static_cast<double>(points_[i].bytes)) / 2;
    mean += middle * (points_[i].share - points_[i - 1].share);
  }
  return std::max(1.0, mean);
}

std::span<const SizePoint> web_search_sizes() {
  static constexpr std::array<SizePoint, 12> points = {{
      {1, 0.0},
      {10'000, 0.15},
      {20'000, 0.20},
      {30'000, 0.30},
      {50'000, 0.40},
      {80'000, 0.53},
      {200'000, 0.60},
      {1'000'000, 0.70},
      {2'000'000, 0.80},
      {5'000'000, 0.90},
      {10'000'000, 0.97},
      {30'000'000, 1.0},
  }};
  return points;
}

Nanos FlowRandom::exponential(double mean_ns) {
  const double wait = -std::log1p(-uniform()) * mean_ns;
  return static_cast<Nanos>(std::clamp(wait, 1.0, 1e18));
}

std::uint64_t FlowRandom::mix(std::uint64_t seed, std::uint64_t flow) {
  // splitmix64: neighbouring seeds and flows must not give related streams.
  std::uint64_t z = seed + 0x9e3779b97f4a7c15u * (flow + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace lossless::endpoint
