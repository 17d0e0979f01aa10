// SPDX-License-Identifier: Apache-2.0
#include "daemon/roce/flow_table_io.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>

namespace lossless::roce {
namespace {

constexpr std::size_t kRows = 4096;
constexpr std::uint32_t kSets = 1024;

}  // namespace

Result<std::span<const Flow>> FlowWalk::next() {
  flows_.clear();
  rows_.resize(kRows);
  while (!over_ && flows_.empty()) {
    flows_.resize(kRows);
    auto count = static_cast<__u32>(kRows);
    std::uint32_t after = 0;
    const int failed = bpf_map_lookup_batch(fd_, begun_ ? &cursor_ : nullptr, &after, rows_.data(),
                                            flows_.data(), &count, nullptr);
    const int error = failed ? errno : 0;
    if (error && error != ENOENT) return fail_errno("cannot read the flow table", error);
    over_ = error == ENOENT;
    begun_ = true;
    cursor_ = after;
    flows_.resize(count);
    std::erase_if(flows_, [](const Flow& flow) { return !flow.live; });
  }
  return std::span<const Flow>(flows_);
}

Status FlowForgetting::next() {
  call_.count = std::min(kSets, sets_ - call_.first);
  bpf_test_run_opts options{};
  options.sz = sizeof options;
  options.ctx_in = &call_;  // which the kernel writes back, too
  options.ctx_size_in = sizeof call_;
  if (bpf_prog_test_run_opts(program_, &options)) return fail_errno("cannot clear the flow table", errno);
  call_.first += call_.count;
  return {};
}

}  // namespace lossless::roce
