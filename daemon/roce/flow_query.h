// SPDX-License-Identifier: Apache-2.0
// Choosing among RoCEv2 flows: filters, and the first N by some order without keeping the others. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bpf/stages/roce_table.h"
#include "daemon/core/address.h"

namespace lossless::roce {

using Flow = ll_roce_flow;

IpAddress source_of(const ll_roce_key& key);
IpAddress destination_of(const ll_roce_key& key);

// Bits a second now; 0 when the flow has been silent for a second. `now_ns` is CLOCK_MONOTONIC.
std::uint64_t rate_of(const ll_roce_flow& flow, std::uint64_t now_ns);

// What is not given holds for every flow.
struct FlowFilter {
  std::optional<IpAddress> source = std::nullopt;
  std::optional<IpAddress> destination = std::nullopt;
  std::optional<std::uint32_t> qp = std::nullopt;       // that the flow goes to, or its sender's
  std::optional<std::uint32_t> ifindex = std::nullopt;  // that it comes in or leaves by
  ll_roce_which which() const;                          // as the datapath has it; ll_roce_matches() tells
};

enum class FlowOrder : std::uint8_t { Bytes, Packets, Ce, Cnp, Rate };
std::optional<FlowOrder> parse_order(std::string_view name);  // "bytes", "packets", "ce", "cnp", "rate"

// The first `count` flows, most first.
class TopFlows {
 public:
  TopFlows(FlowOrder order, std::size_t count, std::uint64_t now_ns)
      : order_(order), count_(count), now_ns_(now_ns) {}
  void add(const Flow& flow);
  std::vector<Flow> take();

 private:
  struct Ranked {
    std::uint64_t value;
    Flow flow;
  };
  std::uint64_t value_of(const Flow& flow) const;

  FlowOrder order_;
  std::size_t count_;
  std::uint64_t now_ns_;
  std::vector<Ranked> heap_;  // the least on top
};

}  // namespace lossless::roce
