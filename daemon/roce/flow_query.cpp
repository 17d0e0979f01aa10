// SPDX-License-Identifier: Apache-2.0
#include "daemon/roce/flow_query.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "daemon/core/nanos.h"

namespace lossless::roce {
namespace {

constexpr std::array<std::string_view, 5> kOrders{"bytes", "packets", "ce", "cnp", "rate"};

IpAddress address_of(const __u32* words) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), words, bytes.size());
  return IpAddress::of_mapped(bytes);
}

void put_address(const IpAddress& address, __u32* words) {
  const auto bytes = address.mapped();
  std::memcpy(words, bytes.data(), bytes.size());
}

}  // namespace

IpAddress source_of(const ll_roce_key& key) { return address_of(key.src); }
IpAddress destination_of(const ll_roce_key& key) { return address_of(key.dst); }

std::uint64_t rate_of(const ll_roce_flow& flow, std::uint64_t now_ns) {
  return now_ns > flow.last_ns + kSecondNs ? 0 : flow.rate_bps;
}

ll_roce_which FlowFilter::which() const {
  ll_roce_which row{};
  if (source) put_address(*source, row.src);
  if (destination) put_address(*destination, row.dst);
  row.by_src = source ? 1 : 0;
  row.by_dst = destination ? 1 : 0;
  row.by_qp = qp ? 1 : 0;
  row.qp = qp.value_or(0);
  row.ifindex = ifindex.value_or(0);
  return row;
}

std::optional<FlowOrder> parse_order(std::string_view name) {
  const auto at = std::ranges::find(kOrders, name);
  if (at == kOrders.end()) return std::nullopt;
  return static_cast<FlowOrder>(at - kOrders.begin());
}

std::uint64_t TopFlows::value_of(const Flow& flow) const {
  switch (order_) {
    case FlowOrder::Bytes:
      return flow.bytes;
    case FlowOrder::Packets:
      return flow.packets;
    case FlowOrder::Ce:
      return std::uint64_t{flow.ce} + flow.marked;
    case FlowOrder::Cnp:
      return std::uint64_t{flow.cnps} + flow.cnps_seen;
    case FlowOrder::Rate:
      return rate_of(flow, now_ns_);
  }
  return 0;
}

void TopFlows::add(const Flow& flow) {
  const std::uint64_t value = value_of(flow);
  if (count_ == 0 || (heap_.size() == count_ && value <= heap_.front().value)) return;
  if (heap_.size() == count_) {
    std::ranges::pop_heap(heap_, std::ranges::greater{}, &Ranked::value);
    heap_.pop_back();
  }
  heap_.push_back({value, flow});
  std::ranges::push_heap(heap_, std::ranges::greater{}, &Ranked::value);
}

std::vector<Flow> TopFlows::take() {
  std::ranges::sort(heap_, [](const Ranked& a, const Ranked& b) {
    if (a.value != b.value) return a.value > b.value;
    return std::memcmp(&a.flow.key, &b.flow.key, sizeof a.flow.key) < 0;
  });
  std::vector<Flow> out;
  out.reserve(heap_.size());
  for (const Ranked& ranked : heap_) out.push_back(ranked.flow);
  heap_.clear();
  return out;
}

}  // namespace lossless::roce
