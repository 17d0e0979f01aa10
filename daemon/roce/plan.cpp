// SPDX-License-Identifier: Apache-2.0
#include "daemon/roce/plan.h"

#include <algorithm>

#include "daemon/core/nanos.h"
#include "daemon/core/wire.h"
#include "daemon/pfc/plan.h"

namespace lossless::roce {
namespace {

constexpr std::uint64_t kLowNs = 32'000;  // 100 KB at 25 Gbit/s, the usual Kmin there
constexpr std::uint64_t kHighNs = 128'000;
constexpr std::uint32_t kEveryPacket = 256;  // RoCE's least path MTU
constexpr std::uint64_t kTrendNs = 10'000;

std::uint32_t capped(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, UINT32_MAX));
}

}  // namespace

ll_roce_config make_roce_config(const RoceConfig& config) {
  ll_roce_config row{};
  row.on = config.flows ? 1 : 0;
  row.cnp_tos = static_cast<__u8>(config.cnp_dscp << 2U);
  row.cnp_tc = static_cast<__u8>(config.cnp_tc);
  return row;
}

ll_ipcc make_ipcc_row(const QueueConfig& queue, const RoceConfig& roce, std::uint64_t rate_bps,
                      unsigned mtu) {
  ll_ipcc row{};
  if (!queue.ipcc) return row;
  const IpccConfig& ipcc = *queue.ipcc;
  const std::uint64_t rate = rate_bps ? rate_bps : pfc::kAssumedRate;
  const std::uint64_t frame = longest_frame(mtu);
  const auto in = [rate](std::uint64_t ns) { return rate / 8 * ns / kSecondNs; };
  const auto or_else = [](std::uint32_t given, std::uint64_t usual) { return given ? given : capped(usual); };
  row.on = 1;
  row.low = or_else(ipcc.low_bytes, std::max(8 * frame, in(kLowNs)));
  if (!ipcc.low_bytes && ipcc.high_bytes) row.low = std::min(row.low, ipcc.high_bytes / 2);
  row.high = or_else(ipcc.high_bytes, std::max({16 * frame, in(kHighNs), std::uint64_t{2} * row.low}));
  row.many = or_else(ipcc.many_bytes, ipcc.few_bytes ? std::min(ipcc.few_bytes, kEveryPacket) : kEveryPacket);
  row.few = std::max(row.many, or_else(ipcc.few_bytes, 2 * frame));
  row.flow_ns = std::uint64_t{ipcc.interval_us} * 1000;
  row.trend_ns = std::max(kTrendNs, 4 * frame * 8 * kSecondNs / rate);
  row.port_cnps = static_cast<__u32>(
      std::max<std::uint64_t>(1, std::uint64_t{roce.cnp_limit} * LL_IPCC_LIMIT_NS / kSecondNs));
  return row;
}

}  // namespace lossless::roce
