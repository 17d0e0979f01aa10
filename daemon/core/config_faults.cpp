// SPDX-License-Identifier: Apache-2.0
// Values that are allowed each for itself and do not fit together.
#include <algorithm>
#include <bit>

#include "daemon/core/config_keys.h"
#include "daemon/core/units.h"

namespace lossless {
namespace {

ThresholdFault no_pool(std::string_view key) {
  return {
      key, {}, "alpha is a share of the shared pool, which has no size; allowed: with shared in [buffer]"};
}

}  // namespace

std::optional<ThresholdFault> find_ecn_fault(const EcnConfig& ecn, std::uint32_t limit_bytes) {
  const auto range = [](std::string_view key, const Rule& rule,
                        const Scalar& value) -> std::optional<ThresholdFault> {
    const auto good = apply_rule(rule, value);
    if (good) return std::nullopt;
    return ThresholdFault{
        key,
        {},
        std::string(key) + " " + as_toml(rule, value) + " " + good.error() + "; allowed: " + allowed(rule)};
  };
  for (const Key<EcnConfig>& k : keys<EcnConfig>()) {
    if (auto fault = range(k.name, k.rule, k.get(ecn))) return fault;
  }
  const std::string kmin = format_size(ecn.kmin_bytes);
  const std::string kmax = format_size(ecn.kmax_bytes);
  if (ecn.kmin_bytes >= ecn.kmax_bytes) {
    return ThresholdFault{"kmin", "kmax",
                          "kmin " + kmin + " is not below kmax " + kmax +
                              "; marking must begin at kmin and rise until it takes every packet at kmax"};
  }
  if (ecn.kmax_bytes >= limit_bytes) {
    return ThresholdFault{"kmax", "limit",
                          "kmax " + kmax + " is not below limit " + format_size(limit_bytes) +
                              "; a queue that is full before kmax drops packets instead of marking them"};
  }
  return std::nullopt;
}

std::optional<ThresholdFault> find_alpha_fault(const QueueConfig& queue, const BufferConfig& buffer) {
  if (queue.alpha == 0) return std::nullopt;
  if (queue.lossless)
    return ThresholdFault{
        "alpha",
        {},
        "a lossless queue drops nothing, so no share of the pool limits it; allowed: pfc.alpha, "
        "which stops the peers"};
  if (buffer.shared_bytes == 0) return no_pool("alpha");
  return std::nullopt;
}

std::optional<ThresholdFault> find_pfc_fault(const QueueConfig& queue, const BufferConfig& buffer) {
  if (!queue.pfc) return std::nullopt;
  const PfcConfig& pfc = *queue.pfc;
  const std::string xoff = format_size(pfc.xoff_bytes);
  const std::string limit = format_size(queue.limit_bytes);
  if (!queue.lossless) {
    return ThresholdFault{
        "", "", "PFC is for lossless queues, and this one is lossy; allowed: lossless = true beside it"};
  }
  if (pfc.alpha && buffer.shared_bytes == 0) return no_pool("alpha");
  if (pfc.alpha && pfc.xoff_bytes)
    return ThresholdFault{
        "alpha", "xoff",
        "alpha makes xoff dynamic, and xoff " + xoff + " is given too; allowed: one of them"};
  if (buffer.headroom_bytes && pfc.headroom_bytes > buffer.headroom_bytes)
    return ThresholdFault{"headroom",
                          {},
                          "headroom " + format_size(pfc.headroom_bytes) + " is more than the " +
                              format_size(buffer.headroom_bytes) + " of [buffer] headroom, which all share"};
  if (pfc.xoff_bytes == 0) return std::nullopt;
  if (queue.guaranteed_bytes >= pfc.xoff_bytes)
    return ThresholdFault{"guaranteed", "xoff",
                          "guaranteed " + format_size(queue.guaranteed_bytes) + " is not below xoff " + xoff +
                              "; the peer would be stopped inside its own guarantee"};
  if (buffer.shared_bytes && pfc.xoff_bytes > std::uint64_t{queue.guaranteed_bytes} + buffer.shared_bytes)
    return ThresholdFault{"xoff",
                          {},
                          "xoff " + xoff + " is more than guaranteed " + format_size(queue.guaranteed_bytes) +
                              " and [buffer] shared " + format_size(buffer.shared_bytes) +
                              " together; the pool would be used up before the peer is stopped"};
  if (pfc.xon_offset_bytes >= pfc.xoff_bytes) {
    return ThresholdFault{
        "xon_offset", "xoff",
        "xon_offset " + format_size(pfc.xon_offset_bytes) + " is not below xoff " + xoff +
            "; the peer goes on at xoff - xon_offset, and no queue holds less than nothing"};
  }
  if (queue.ecn && queue.ecn->kmax_bytes >= pfc.xoff_bytes) {
    return ThresholdFault{"kmax", "xoff",
                          "kmax " + format_size(queue.ecn->kmax_bytes) + " is not below xoff " + xoff +
                              "; PFC would stop the peers before ECN has slowed the flows down"};
  }
  if (pfc.xoff_bytes >= queue.limit_bytes ||
      std::uint64_t{pfc.xoff_bytes} + pfc.headroom_bytes > queue.limit_bytes) {
    return ThresholdFault{"xoff", "limit",
                          "xoff " + xoff + " with headroom " + format_size(pfc.headroom_bytes) +
                              " is not below limit " + limit +
                              "; the queue would drop before it stops the peer"};
  }
  return std::nullopt;
}

std::optional<ThresholdFault> find_fault(const InofHostConfig& host) {
  if (host.hook == InofHook::Program && host.program.empty())
    return ThresholdFault{"hook", {}, "hook \"program\" needs 'program', the file to run"};
  if (host.hook == InofHook::Nvme && host.nvme.empty())
    return ThresholdFault{"nvme", {}, "hook \"nvme\" needs 'nvme', the path of nvme-cli"};
  return std::nullopt;
}

std::optional<std::string> find_weights_fault(const PortConfig& port) {
  if (port.weights != Weights::Percent) return std::nullopt;
  for (const unsigned group : {1U, 2U}) {
    unsigned sum = 0;
    for (const QueueConfig& queue : port.queues)
      if (queue.schedule == Schedule::Wrr && queue.group == group) sum += queue.weight;
    if (sum != 0 && sum != 100)
      return "the weights of WRR group " + std::to_string(group) + " add to " + std::to_string(sum) +
             " percent; allowed: 100 together, or weights = \"relative\"";
  }
  return std::nullopt;
}

bool has_two_groups(const PortConfig& port) {
  const auto any = [&](unsigned group) {
    return std::ranges::any_of(port.queues, [group](const QueueConfig& q) {
      return q.schedule == Schedule::Wrr && q.group == group;
    });
  };
  return any(1) && any(2);
}

std::optional<std::string> find_dcb_fault(const PortConfig& port) {
  if (port.dcb != DcbUse::Required || !has_two_groups(port)) return std::nullopt;
  return "\"required\" needs ETS in the driver, which has one WRR group, and the port's queues are in two; "
         "allowed: one group, or dcb = \"auto\", which shares out in software";
}

// Who is willing has to say so.
std::optional<ThresholdFault> find_fault(const DcbxConfig& dcbx) {
  const auto check = [](bool willing, bool advertised, std::string_view key,
                        std::string_view other) -> std::optional<ThresholdFault> {
    if (!willing || advertised) return std::nullopt;
    return ThresholdFault{key, other,
                          std::string(key) + " needs the neighbour to be told; allowed: with " +
                              std::string(other) + " = true"};
  };
  if (auto fault = check(dcbx.ets_willing, dcbx.advertise_ets, "ets_willing", "advertise_ets")) return fault;
  if (auto fault = check(dcbx.pfc_willing, dcbx.advertise_pfc, "pfc_willing", "advertise_pfc")) return fault;
  return check(dcbx.app_willing, dcbx.advertise_app, "app_willing", "advertise_app");
}

std::optional<ThresholdFault> find_fault(const DcqcnConfig& dcqcn) {
  if (std::has_single_bit(dcqcn.dce_tcp_g) && dcqcn.rpg_min_rate_bps > 0) return std::nullopt;
  if (dcqcn.rpg_min_rate_bps == 0)
    return ThresholdFault{
        "rpg_min_rate", {}, "rpg_min_rate 0 would stop a QP for ever; allowed: a rate above 0"};
  return ThresholdFault{
      "dce_tcp_g",
      {},
      "dce_tcp_g " + std::to_string(dcqcn.dce_tcp_g) +
          " is no power of two; allowed: 1, 2, 4, 8, 16, 32, 64, 128, 256 or 512, in 1/1024"};
}

std::optional<ThresholdFault> find_fault(const BgpConfig& bgp) {
  if (bgp.on && bgp.asn == 0) return ThresholdFault{"on", {}, "true needs 'asn', the number of our AS"};
  if (bgp.on && bgp.router_id.empty())
    return ThresholdFault{"on", {}, "true needs 'router_id', by which other switches know this one"};
  if (bgp.hold_s == 1 || bgp.hold_s == 2)
    return ThresholdFault{
        "hold_s", {}, std::to_string(bgp.hold_s) + " is too short; allowed: 0 (for ever), or 3 to 65535"};
  return std::nullopt;
}

std::optional<ThresholdFault> find_fault(const BgpNeighborConfig& neighbor) {
  if (!neighbor.password.empty() && !neighbor.key_chain.empty())
    return ThresholdFault{"key_chain", "password",
                          "TCP-AO does not go with TCP-MD5; allowed: key_chain or password"};
  const auto range = parse_range(neighbor.address);
  const bool link_local = range && range->first.is_link_local();
  if (link_local && !range->single())
    return ThresholdFault{
        "address", {}, "is a range of link-local addresses; allowed: one, with interface beside it"};
  if (link_local && neighbor.interface.empty())
    return ThresholdFault{"address", {}, "is a link-local address; allowed: with interface beside it"};
  if (range && !link_local && !neighbor.interface.empty())
    return ThresholdFault{"interface", "address",
                          "is for link-local addresses; allowed: with an address of fe80::/10"};
  return std::nullopt;
}

std::optional<ThresholdFault> find_fault(const BgpFilterRule& rule) {
  using enum BgpRouteKind;
  const auto one_of = [&](std::initializer_list<BgpRouteKind> kinds) {
    return std::ranges::find(kinds, rule.kind) != kinds.end();
  };
  if (!rule.zone.empty() && !one_of({Any, Zone, ZoneHost}))
    return ThresholdFault{"zone", "kind", "is of no use here; allowed: with kind zone or zone-host"};
  if (!rule.prefix.empty() && !one_of({Any, Prefix, Host, ZoneHost}))
    return ThresholdFault{"prefix", "kind",
                          "is of no use here; allowed: with kind prefix, host or zone-host"};
  if (!rule.zone.empty() && !rule.prefix.empty() && rule.kind != ZoneHost)
    return ThresholdFault{"prefix", "zone",
                          "and zone are both there for members of zones alone; allowed: with kind zone-host"};
  if (rule.ge == 0 && rule.le == 0) return std::nullopt;
  const std::string_view key = rule.ge > 0 ? "ge" : "le";
  if (rule.prefix.empty() || !one_of({Any, Prefix}))
    return ThresholdFault{key, {}, "is of prefixes; allowed: with prefix, and kind prefix"};
  const AddressPrefix prefix = prefixes_of(*parse_range(rule.prefix)).front();
  const unsigned bits = prefix.address.v6 ? 128 : 32;
  const unsigned ge = rule.ge > 0 ? rule.ge : prefix.length;
  const unsigned le = rule.le > 0 ? rule.le : bits;
  if (ge < prefix.length || le < ge || le > bits)
    return ThresholdFault{key, "prefix",
                          "bounds from " + std::to_string(ge) + " to " + std::to_string(le) +
                              " bits; allowed: " + std::to_string(prefix.length) +
                              " <= ge <= le <= " + std::to_string(bits)};
  return std::nullopt;
}

std::optional<ThresholdFault> find_fault(const pfc::WatchdogConfig& watchdog) {
  auto message = pfc::check_watchdog(watchdog);
  if (!message) return std::nullopt;
  return ThresholdFault{"poll_ms", "detection_ms", std::move(*message)};
}

std::optional<ThresholdFault> find_fault(const pfc::PfcAlarmConfig& alarm) {
  using pfc::PfcDirection;
  if (auto rx = pfc::check_rate_alarm(alarm.of(PfcDirection::Rx)))
    return ThresholdFault{"rx_clear_fps", "rx_raise_fps", std::move(*rx)};
  if (auto tx = pfc::check_rate_alarm(alarm.of(PfcDirection::Tx)))
    return ThresholdFault{"tx_clear_fps", "tx_raise_fps", std::move(*tx)};
  return std::nullopt;
}

// Of thresholds that are left to the port to work out, nothing can be said yet.
std::optional<ThresholdFault> find_ipcc_fault(const QueueConfig& queue) {
  if (!queue.ipcc) return std::nullopt;
  const IpccConfig& ipcc = *queue.ipcc;
  const std::string high = format_size(ipcc.high_bytes);
  if (ipcc.low_bytes && ipcc.high_bytes && ipcc.low_bytes >= ipcc.high_bytes)
    return ThresholdFault{
        "low", "high",
        "low " + format_size(ipcc.low_bytes) + " is not below high " + high + "; few CNPs come before many"};
  if (ipcc.few_bytes && ipcc.many_bytes && ipcc.many_bytes > ipcc.few_bytes)
    return ThresholdFault{"many", "few",
                          "many " + format_size(ipcc.many_bytes) + " is above few " +
                              format_size(ipcc.few_bytes) +
                              "; both are bytes for each CNP, so fewer bytes make more of them"};
  const std::string_view key = ipcc.high_bytes ? "high" : "low";
  const std::uint32_t top = std::max(ipcc.low_bytes, ipcc.high_bytes);
  if (queue.pfc && queue.pfc->xoff_bytes && top >= queue.pfc->xoff_bytes)
    return ThresholdFault{key, "xoff",
                          std::string(key) + " " + format_size(top) + " is not below xoff " +
                              format_size(queue.pfc->xoff_bytes) +
                              "; PFC would stop the peers before IPCC has slowed the flows down"};
  if (top >= queue.limit_bytes)
    return ThresholdFault{key, "limit",
                          std::string(key) + " " + format_size(top) + " is not below limit " +
                              format_size(queue.limit_bytes) + "; the queue never gets that deep"};
  return std::nullopt;
}

std::optional<std::string> check_ipcc(const QueueConfig& queue) {
  auto fault = find_ipcc_fault(queue);
  if (!fault) return std::nullopt;
  return std::move(fault->message);
}

std::optional<std::string> check_pfc(const QueueConfig& queue, const BufferConfig& buffer) {
  auto fault = find_pfc_fault(queue, buffer);
  if (!fault) return std::nullopt;
  return std::move(fault->message);
}

std::optional<std::string> check_ecn(const EcnConfig& ecn, std::uint32_t limit_bytes) {
  auto fault = find_ecn_fault(ecn, limit_bytes);
  if (!fault) return std::nullopt;
  return std::move(fault->message);
}

}  // namespace lossless
