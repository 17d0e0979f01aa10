// SPDX-License-Identifier: Apache-2.0
#include "daemon/dcqcn/tables.h"

#include <bit>

#include "bpf/stages/ecn.h"

namespace lossless::dcqcn {
namespace {

constexpr std::uint64_t kNsPerUs = 1000;
constexpr int kGUnits = 10;  // dce_tcp_g counts in 2^-10

}  // namespace

static_assert(static_cast<int>(CnpPer::Qp) == LL_CNP_PER_QP &&
              static_cast<int>(CnpPer::Ip) == LL_CNP_PER_IP &&
              static_cast<int>(CnpPer::Port) == LL_CNP_PER_PORT);

bool is_on(const Config& config) { return config.role == SystemRole::Host && config.dcqcn.enabled; }

bool wants_pacing(const Config& config) { return is_on(config) && config.dcqcn.rp; }

std::uint8_t flags(const Config& config, bool paces) {
  if (!is_on(config)) return 0;
  unsigned bits = LL_HOST_ON;
  if (config.dcqcn.np) bits |= LL_HOST_NP;
  if (config.dcqcn.guard) bits |= LL_HOST_GUARD;
  if (config.dcqcn.rp && paces) bits |= LL_HOST_RP;
  return static_cast<std::uint8_t>(bits);
}

ll_dcqcn_params make_params(const DcqcnConfig& config) {
  ll_dcqcn_params params{};
  params.cnp_interval_ns = config.min_time_between_cnps_us * kNsPerUs;
  params.cut_interval_ns = config.rate_reduce_monitor_period_us * kNsPerUs;
  params.alpha_interval_ns = config.dce_tcp_rtt_us * kNsPerUs;
  params.rate_interval_ns = config.rpg_time_reset_us * kNsPerUs;
  params.byte_counter = config.rpg_byte_reset;
  params.ai_bps = config.rpg_ai_rate_bps;
  params.hai_bps = config.rpg_hai_rate_bps;
  params.min_bps = config.rpg_min_rate_bps;
  params.g_shift = static_cast<std::uint32_t>(kGUnits - std::countr_zero(config.dce_tcp_g));
  params.fast_recovery = config.rpg_threshold;
  return params;
}

// CNPs are ECT(0), as those of NICs.
ll_host make_row(const DcqcnConfig& config, const PortConfig& port) {
  ll_host row{};
  row.params = make_params(config);
  row.line_bps = port.rate_bps ? port.rate_bps : kAssumedLine;
  row.cnp_per = static_cast<__u8>(config.cnp_per);
  row.cnp_tos = static_cast<__u8>(config.cnp_dscp << 2U | LL_ECN_ECT0);
  row.cnp_tc = static_cast<__u8>(config.cnp_802p_prio);
  return row;
}

}  // namespace lossless::dcqcn
