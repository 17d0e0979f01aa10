// SPDX-License-Identifier: Apache-2.0
#include "daemon/roce/ipcc_view.h"

#include "daemon/core/nanos.h"

namespace lossless::roce {
namespace {

const char* case_text(std::uint8_t found) {
  switch (found) {
    case LL_IPCC_RISING_LOW:
      return "rising-low";
    case LL_IPCC_RISING_HIGH:
      return "rising-high";
    case LL_IPCC_FALLING_LOW:
      return "falling-low";
    case LL_IPCC_FALLING_HIGH:
      return "falling-high";
    default:
      return "idle";
  }
}

void fill_settings(const ll_ipcc& row, v1::Ipcc& out) {
  out.set_low_bytes(row.low);
  out.set_high_bytes(row.high);
  out.set_few_bytes(row.few);
  out.set_many_bytes(row.many);
  out.set_interval_us(row.flow_ns / 1000);
  out.set_cnp_limit(static_cast<std::uint32_t>(row.port_cnps * (kSecondNs / LL_IPCC_LIMIT_NS)));
}

void fill_counters(const ll_ipcc_stats& s, v1::Ipcc& out) {
  out.set_packets_rising_low(s.packets[LL_IPCC_RISING_LOW]);
  out.set_packets_rising_high(s.packets[LL_IPCC_RISING_HIGH]);
  out.set_packets_falling_low(s.packets[LL_IPCC_FALLING_LOW]);
  out.set_packets_falling_high(s.packets[LL_IPCC_FALLING_HIGH]);
  out.set_sent_few(s.sent[LL_IPCC_RISING_LOW] + s.sent[LL_IPCC_FALLING_HIGH]);
  out.set_sent_many(s.sent[LL_IPCC_RISING_HIGH]);
  out.set_unpaired(s.unpaired);
  out.set_flow_limit(s.flow_limit);
  out.set_port_limit(s.port_limit);
  out.set_not_roce(s.not_roce);
  out.set_failed(s.failed);
}

}  // namespace

void list_ipcc(const port::Port& port, const Maps& maps, v1::ListIpccReply& reply) {
  for (std::uint32_t tc = 0; tc < LL_TCS; ++tc) {
    if (!port.config.queues[tc].ipcc) continue;
    const std::uint32_t row = LL_ROW(port.slot, tc);
    v1::Ipcc& out = *reply.add_queues();
    out.set_port(port.config.name);
    out.set_tc(tc);
    fill_settings(maps.ipcc.get(row).value_or(ll_ipcc{}), out);
    out.set_now(case_text(maps.ipcc_state.get(row).value_or(ll_ipcc_state{}).last));
    fill_counters(maps.ipcc_stats.sum(row), out);
  }
}

}  // namespace lossless::roce
