// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/plan.h"

#include <algorithm>
#include <cmath>

#include "bpf/stages/pfc.h"
#include "daemon/core/units.h"
#include "daemon/pfc/headroom.h"

namespace lossless::pfc {
namespace {

// An eighth of xoff between off and on, but no less than two frames, keeps a peer from being told twice a
// frame.
constexpr unsigned kXonShare = 8;

std::string headroom_error(std::uint64_t headroom, const PfcConfig& config, std::uint64_t needed,
                           std::uint64_t rate_bps, unsigned mtu) {
  return "headroom " + format_size(headroom) + " is below the " + format_size(needed) +
         " that may still arrive at " + format_rate(rate_bps) + ", MTU " + std::to_string(mtu) + ", " +
         std::to_string(config.cable_m) + " m of cable and " + std::to_string(config.reaction_us) +
         " us until the peer has stopped; a lossless queue would lose packets";
}

std::string share_error(const QueueConfig& queue, const Plan& plan, unsigned others) {
  return "limit " + format_size(queue.limit_bytes) + " does not hold what " + std::to_string(others) +
         " other ports may send before they stop: each xoff " + format_size(plan.xoff_bytes) +
         " and headroom " + format_size(plan.headroom_bytes) + ", " +
         format_size(others * (plan.xoff_bytes + plan.headroom_bytes)) +
         " in all; a lossless queue would lose packets";
}

std::expected<void, std::string> set_static(const QueueConfig& queue, unsigned others, Plan& plan) {
  const std::uint64_t share = queue.limit_bytes / others;
  plan.xoff_bytes = queue.pfc->xoff_bytes;
  if (plan.xoff_bytes == 0) plan.xoff_bytes = share > plan.headroom_bytes ? share - plan.headroom_bytes : 0;
  if (plan.xoff_bytes + plan.headroom_bytes > share || plan.xoff_bytes == 0)
    return std::unexpected(share_error(queue, plan, others));
  return {};
}

// A port alone comes to rest where it holds alpha times what is free, alpha / (1 + alpha) of the pool; the
// next one at the same part of what it left. No row is let in above its threshold, so no more than the sum of
// these is ever in use.
std::expected<void, std::string> set_dynamic(const QueueConfig& queue, const BufferConfig& buffer,
                                             unsigned others, Plan& plan) {
  const double alpha = std::ldexp(1.0, static_cast<int>(plan.alpha) - static_cast<int>(LL_ALPHA_ONE));
  const auto of_pool = [&](double part) { return static_cast<std::uint64_t>(part * buffer.shared_bytes); };
  plan.xoff_bytes = plan.guaranteed_bytes + of_pool(alpha / (1 + alpha));
  const std::uint64_t held = others * (plan.guaranteed_bytes + plan.headroom_bytes) +
                             of_pool(1 - std::pow(1 + alpha, -static_cast<double>(others)));
  if (held <= queue.limit_bytes) return {};
  return std::unexpected(
      "limit " + format_size(queue.limit_bytes) + " does not hold what " + std::to_string(others) +
      " other ports may send before they stop: " + format_size(held) + ", their shares of the pool of " +
      format_size(buffer.shared_bytes) + ", guarantees, and headroom " + format_size(plan.headroom_bytes) +
      " each; a lossless queue would lose packets");
}

}  // namespace

std::uint64_t needed_headroom(const PfcConfig& config, std::uint64_t rate_bps, unsigned mtu) {
  const auto headroom = compute_headroom({.rate_bps = rate_bps,
                                          .mtu_bytes = longest_frame(mtu),
                                          .cable_m = config.cable_m,
                                          .reaction_ns = std::uint64_t{config.reaction_us} * 1000,
                                          .mac_phy_bytes = 0});
  // Beside what the link holds, a frame leaves a queue at the moment it is closed. The configuration's ranges
  // are inside those of the formula.
  return longest_frame(mtu) + (headroom ? headroom->total_bytes() : UINT64_MAX / 2);
}

std::expected<Plan, std::string> plan_pfc(const QueueConfig& queue, const PortFacts& facts) {
  const PfcConfig& config = *queue.pfc;
  const std::uint64_t rate = facts.rate_bps ? facts.rate_bps : kAssumedRate;
  const unsigned others = std::max(facts.ports, 2U) - 1;
  const std::uint64_t frame = longest_frame(facts.mtu);
  Plan plan;
  plan.needed_bytes = needed_headroom(config, rate, facts.mtu);
  plan.headroom_bytes = config.headroom_bytes ? config.headroom_bytes : plan.needed_bytes;
  if (plan.headroom_bytes < plan.needed_bytes)
    return std::unexpected(headroom_error(plan.headroom_bytes, config, plan.needed_bytes, rate, facts.mtu));

  plan.guaranteed_bytes = queue.guaranteed_bytes;
  plan.alpha = static_cast<std::uint8_t>(config.alpha);
  if (facts.buffer.headroom_bytes && plan.headroom_bytes > facts.buffer.headroom_bytes)
    return std::unexpected("headroom " + format_size(plan.headroom_bytes) +
                           " of one queue is more than the " + format_size(facts.buffer.headroom_bytes) +
                           " of [buffer] headroom, which all share");
  if (auto set =
          plan.alpha ? set_dynamic(queue, facts.buffer, others, plan) : set_static(queue, others, plan);
      !set)
    return std::unexpected(set.error());
  const std::uint64_t offset =
      config.xon_offset_bytes ? config.xon_offset_bytes : std::max(plan.xoff_bytes / kXonShare, 2 * frame);
  if (offset >= plan.xoff_bytes)
    return std::unexpected("xoff " + format_size(plan.xoff_bytes) + " is not above xon_offset " +
                           format_size(offset) +
                           "; the peer would never be let go on. A larger limit gives a larger xoff");
  if (queue.ecn && queue.ecn->kmax_bytes >= plan.xoff_bytes)
    return std::unexpected("kmax " + format_size(queue.ecn->kmax_bytes) + " is not below xoff " +
                           format_size(plan.xoff_bytes) +
                           "; PFC would stop the peers before ECN has slowed the flows down");
  plan.xon_bytes = plan.xoff_bytes - offset;
  plan.quanta = ll_pfc_quanta(kPauseNs, rate);
  plan.pause_ns = ll_pfc_time_ns(plan.quanta, rate);
  return plan;
}

BufferTerms buffer_terms(const QueueConfig& queue) {
  return {.guaranteed_bytes = queue.guaranteed_bytes, .lossless = queue.lossless};
}

ll_pfc make_pfc_row(const BufferTerms& terms, const Plan* plan, const Mac& mac, std::uint64_t rate_bps) {
  ll_pfc row{};
  row.lossless = terms.lossless ? 1 : 0;
  row.guaranteed = terms.guaranteed_bytes;
  row.quantum_ps = ll_pfc_quantum_ps(rate_bps);
  if (!plan) return row;
  row.xoff = plan->xoff_bytes;
  row.xon_offset = plan->xoff_bytes - plan->xon_bytes;
  row.headroom = plan->headroom_bytes;
  row.alpha = plan->alpha;
  // The daemon refreshes at half the time; the datapath only when that did not happen.
  row.refresh_ns = plan->pause_ns * 3 / 4;
  row.quanta = plan->quanta;
  row.on = 1;
  std::ranges::copy(mac, row.mac);
  return row;
}

}  // namespace lossless::pfc
