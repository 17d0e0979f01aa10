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
  return ll_roce_is_ip4(words) ? IpAddress::v4_of(ByteView(bytes).subspan(12)) : IpAddress::v6_of(bytes);
}

}  // namespace

IpAddress source_of(const ll_roce_key& key) { return address_of(key.src); }
IpAddress destination_of(const ll_roce_key& key) { return address_of(key.dst); }

std::uint64_t rate_of(const ll_roce_flow& flow, std::uint64_t now_ns) {
  return now_ns > flow.last_ns + kSecondNs ? 0 : flow.rate_bps;
}

bool FlowFilter::matches(const Flow& flow) const {
  if (source && source_of(flow.key) != *source) return false;
  if (destination && destination_of(flow.key) != *destination) return false;
  if (qp && flow.key.qp != *qp && (flow.seen.how == LL_PAIR_NONE || flow.seen.peer_qpn != *qp)) return false;
  return !ifindex || flow.seen.in_ifindex == *ifindex || flow.seen.out_ifindex == *ifindex;
}

std::optional<FlowOrder> parse_order(std::string_view name) {
  const auto at = std::ranges::find(kOrders, name);
  if (at == kOrders.end()) return std::nullopt;
  return static_cast<FlowOrder>(at - kOrders.begin());
}

std::uint64_t TopFlows::value_of(const Flow& flow) const {
  switch (order_) {
    case FlowOrder::Bytes:
      return flow.seen.bytes;
    case FlowOrder::Packets:
      return flow.seen.packets;
    case FlowOrder::Ce:
      return std::uint64_t{flow.seen.ce} + flow.seen.marked;
    case FlowOrder::Cnp:
      return std::uint64_t{flow.seen.cnps} + flow.seen.cnps_seen;
    case FlowOrder::Rate:
      return rate_of(flow.seen, now_ns_);
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
