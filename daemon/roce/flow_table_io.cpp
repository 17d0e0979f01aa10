// SPDX-License-Identifier: Apache-2.0
#include "daemon/roce/flow_table_io.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>

namespace lossless::roce {
namespace {

constexpr std::size_t kRows = 4096;
constexpr std::size_t kMaxRows = 1U << 20U;  // of one bucket; never reached

}  // namespace

Result<std::span<const Flow>> FlowWalk::next() {
  flows_.clear();
  if (keys_.empty()) keys_.resize(kRows);
  while (!over_ && flows_.empty()) {
    values_.resize(keys_.size());
    auto count = static_cast<__u32>(keys_.size());
    std::uint32_t after = 0;
    const int failed = bpf_map_lookup_batch(fd_, begun_ ? &cursor_ : nullptr, &after, keys_.data(),
                                            values_.data(), &count, nullptr);
    const int error = failed ? errno : 0;
    if (error == ENOSPC && keys_.size() < kMaxRows) {  // a bucket with more rows than we have room for
      keys_.resize(keys_.size() * 2);
      continue;
    }
    if (error && error != ENOENT) return fail_errno("cannot read the flow table", error);
    over_ = error == ENOENT;
    begun_ = true;
    cursor_ = after;
    flows_.reserve(count);
    for (__u32 i = 0; i < count; ++i) flows_.push_back({keys_[i], values_[i]});
  }
  return std::span<const Flow>(flows_);
}

namespace {

// Deletes rows, some of which may be gone already; returns how many it deleted. A call for each would take
// most of the time.
Result<std::uint64_t> erase(int fd, std::span<ll_roce_key> keys) {
  std::uint64_t erased = 0;
  while (!keys.empty()) {
    auto count = static_cast<__u32>(keys.size());
    const int error = bpf_map_delete_batch(fd, keys.data(), &count, nullptr) ? errno : 0;
    if (error && error != ENOENT) return fail_errno("cannot clear the flow table", error);
    erased += count;
    // It stops at one that is gone.
    keys = keys.subspan(std::min<std::size_t>(keys.size(), error ? count + std::size_t{1} : count));
  }
  return erased;
}

}  // namespace

Result<std::uint64_t> clear_flows(int fd, const FlowFilter& filter) {
  std::uint64_t cleared = 0;
  std::vector<ll_roce_key> keys;
  for (FlowWalk walk(fd); !walk.is_over();) {
    const auto flows = walk.next();
    if (!flows) return std::unexpected(flows.error());
    keys.clear();
    keys.reserve(flows->size());
    for (const Flow& flow : *flows)
      if (filter.matches(flow)) keys.push_back(flow.key);
    const auto erased = erase(fd, keys);
    if (!erased) return erased;
    cleared += *erased;
  }
  return cleared;
}

}  // namespace lossless::roce
