// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/best_path.h"

#include <algorithm>
#include <vector>

namespace lossless::bgp {
namespace {

using Left = std::vector<std::size_t>;  // indexes of the paths still in

// Keeps those with the lowest value.
template <class Value>
void keep_lowest(std::span<const Candidate> all, Left& left, const Value& value) {
  auto lowest = value(all[left.front()]);
  for (const std::size_t i : left) lowest = std::min(lowest, value(all[i]));
  std::erase_if(left, [&](std::size_t i) { return lowest < value(all[i]); });
}

std::uint32_t neighbour_as(const Candidate& c) {
  const auto& path = c.attributes->as_path;
  for (const AsSegment& segment : path ? *path : AsPath{})
    if (segment.kind == AsSegment::Sequence && !segment.as.empty()) return segment.as.front();
  return 0;
}

std::uint32_t med(const Candidate& c) { return c.attributes->med.value_or(0); }

void keep_lowest_med(std::span<const Candidate> all, Left& left) {
  const Left before = left;
  std::erase_if(left, [&](std::size_t i) {
    return std::ranges::any_of(before, [&](std::size_t j) {
      return neighbour_as(all[i]) == neighbour_as(all[j]) && med(all[j]) < med(all[i]);
    });
  });
}

void apply(Step step, std::span<const Candidate> all, Left& left) {
  switch (step) {
    case Step::Only:
      return;
    case Step::LocalPref:
      return keep_lowest(all, left, [](const Candidate& c) {
        return UINT32_MAX - c.attributes->local_pref.value_or(kDefaultLocalPref);
      });
    case Step::Local:
      return keep_lowest(all, left, [](const Candidate& c) { return !c.local; });
    case Step::PathLength:
      return keep_lowest(all, left, [](const Candidate& c) {
        return c.attributes->as_path ? path_length(*c.attributes->as_path) : 0;
      });
    case Step::Origin:
      return keep_lowest(
          all, left, [](const Candidate& c) { return c.attributes->origin.value_or(Origin::Incomplete); });
    case Step::Med:
      return keep_lowest_med(all, left);
    case Step::External:
      return keep_lowest(all, left, [](const Candidate& c) { return !c.external; });
    case Step::Router:
      return keep_lowest(all, left,
                         [](const Candidate& c) { return c.attributes->originator.value_or(c.router); });
    case Step::ClusterList:
      return keep_lowest(all, left, [](const Candidate& c) { return c.attributes->clusters.size(); });
    case Step::Address:
      return keep_lowest(all, left, [](const Candidate& c) { return c.address; });
  }
}

}  // namespace

Choice choose(std::span<const Candidate> candidates) {
  Left left(candidates.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  Step last = Step::Only;
  for (unsigned n = 1; left.size() > 1 && n <= static_cast<unsigned>(Step::Address); ++n) {
    last = static_cast<Step>(n);
    apply(last, candidates, left);
  }
  return {left.front(), last};
}

std::string_view to_string(Step step) {
  static constexpr std::array<std::string_view, 10> kNames{
      "only path", "local preference", "own route", "AS path length",      "origin",
      "MED",       "external",         "router ID", "cluster list length", "neighbour address"};
  return kNames[static_cast<std::size_t>(step)];
}

}  // namespace lossless::bgp
