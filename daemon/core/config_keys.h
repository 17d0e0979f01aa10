// SPDX-License-Identifier: Apache-2.0
// Every key of the configuration, one row each. Reader, writer, difference, suggestions and the check of
// the manual page all go by these rows; nothing else knows a key or its range.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/core/config_rule.h"

namespace lossless {

inline constexpr std::int64_t kMaxPorts = 256;  // LL_MAX_PORTS of bpf/abi.h

template <class T>
struct Key {
  std::string_view name;
  Rule rule;
  void (*set)(T&, const Scalar&);
  Scalar (*get)(const T&);
  bool (*used)(const T&) = nullptr;  // whether the key has a meaning now; nullptr: always
  bool secret = false;               // its value is in no difference
};

// The rows of Config (its plain keys) and of the tables below it.
template <class T>
std::span<const Key<T>> keys();
template <>
std::span<const Key<Config>> keys();
template <>
std::span<const Key<ApiConfig>> keys();
template <>
std::span<const Key<BufferConfig>> keys();
template <>
std::span<const Key<LldpConfig>> keys();
template <>
std::span<const Key<EcnOverlayConfig>> keys();
template <>
std::span<const Key<DcqcnConfig>> keys();
template <>
std::span<const Key<InofHostConfig>> keys();
template <>
std::span<const Key<DcbConfig>> keys();
template <>
std::span<const Key<EcmpConfig>> keys();
template <>
std::span<const Key<Application>> keys();
template <>
std::span<const Key<BfdSettings>> keys();
template <>
std::span<const Key<BfdProfile>> keys();
template <>
std::span<const Key<BfdPeerConfig>> keys();
std::span<const Key<BgpConfig>> keys();
template <>
std::span<const Key<BgpNeighborConfig>> keys();
template <>
std::span<const Key<BgpFilterConfig>> keys();
template <>
std::span<const Key<BgpFilterRule>> keys();
template <>
std::span<const Key<KeyChainConfig>> keys();
template <>
std::span<const Key<net::TcpKey>> keys();
template <>
std::span<const Key<PortConfig>> keys();
template <>
std::span<const Key<QueueConfig>> keys();
template <>
std::span<const Key<EcnConfig>> keys();
template <>
std::span<const Key<PfcConfig>> keys();
template <>
std::span<const Key<IpccConfig>> keys();
template <>
std::span<const Key<RoceConfig>> keys();
template <>
std::span<const Key<InofConfig>> keys();
template <>
std::span<const Key<InofWhitelistConfig>> keys();
template <>
std::span<const Key<InofZoneConfig>> keys();
template <>
std::span<const Key<InofAllowConfig>> keys();
template <>
std::span<const Key<pfc::WatchdogConfig>> keys();
template <>
std::span<const Key<pfc::PfcAlarmConfig>> keys();
template <>
std::span<const Key<DcbxConfig>> keys();
template <>
std::span<const Key<PortGroup>> keys();
template <>
std::span<const Key<HookRule>> keys();

// The keys of PortGroup and HookRule that hold arrays.
inline constexpr std::string_view kGroupPorts = "ports";
inline constexpr std::string_view kHookDscps = "dscp";
inline constexpr std::string_view kGroupPortsAllowed = "an array of one or more names of ports, each once";
inline constexpr std::string_view kHookDscpsAllowed = "an array of one or more DSCPs, integers from 0 to 63";

// One table of PriorityMaps: `size` entries of 0 to `max`. A list is written in full, the others as
// { FROM = TO } with only what differs from the default.
struct MapKey {
  std::string_view name;
  unsigned size;
  unsigned max;
  bool list;
  std::span<std::uint8_t> (*entries)(PriorityMaps&);
  std::span<const std::uint8_t> values(const PriorityMaps& m) const {
    return entries(const_cast<PriorityMaps&>(m));  // only read through the const span
  }
};
std::span<const MapKey> map_keys();
std::string allowed(const MapKey& key);

// A list of addresses and ranges, written as strings.
struct RangesKey {
  std::string_view name;
  std::size_t max;  // elements
};
inline constexpr RangesKey kHostsKey{"hosts", 32768};
inline constexpr std::string_view kExceptionsKey = "exceptions";  // of the white list: a list of port names
inline constexpr std::size_t kMaxInofZones = 16383;  // LL_ZONES of bpf/abi.h, less the default zone
std::string allowed(const RangesKey& key);

// Top-level tables of nothing but plain keys: calls `visit` with the name of each and its member of Config.
template <class Visit>
void for_sections(Visit visit) {
  visit(std::string_view("api"), &Config::api);
  visit(std::string_view("buffer"), &Config::buffer);
  visit(std::string_view("lldp"), &Config::lldp);
  visit(std::string_view("ecn_overlay"), &Config::ecn_overlay);
  visit(std::string_view("dcqcn"), &Config::dcqcn);
  visit(std::string_view("inof_host"), &Config::inof_host);
  visit(std::string_view("dcb"), &Config::dcb);
  visit(std::string_view("ecmp"), &Config::ecmp);
  visit(std::string_view("bfd"), &Config::bfd);
  visit(std::string_view("bgp"), &Config::bgp);
  visit(std::string_view("roce"), &Config::roce);
}

// Tables below a table, beside its plain keys.
inline constexpr auto kTopTables = std::to_array<std::string_view>({
    "api",          "application", "bfd",       "bfd_peer",  "bfd_profile", "bgp",  "bgp_filter",
    "bgp_neighbor", "buffer",      "dcb",       "dcbx",      "dcqcn",       "ecmp", "ecn_overlay",
    "hook_flow",    "inof",        "inof_host", "key_chain", "lldp",        "maps", "pfc_alarm",
    "port",         "port_group",  "queue",     "roce",      "watchdog",
});
inline constexpr std::array<std::string_view, 1> kKeyChainTables{"key"};
inline constexpr std::array<std::string_view, 1> kBgpFilterTables{"rule"};
inline constexpr std::array<std::string_view, 2> kInofTables{"whitelist", "zone"};
inline constexpr std::array<std::string_view, 2> kWhitelistTables{"exceptions", "allow"};
inline constexpr std::array<std::string_view, 1> kHostsTables{"hosts"};
inline constexpr std::array<std::string_view, 5> kPortTables{"maps", "queue", "watchdog", "pfc_alarm",
                                                             "dcbx"};
inline constexpr std::array<std::string_view, 3> kQueueTables{"ecn", "pfc", "ipcc"};

// A key for documentation: queue.TC.ecn.kmin, and what it may hold.
struct KeyInfo {
  std::string path;
  std::string allowed;
};
std::vector<KeyInfo> known_keys();

// A fault in thresholds: the key it shows in first, the one it stands against (empty: none), and the message.
struct ThresholdFault {
  std::string_view key;
  std::string_view against;
  std::string message;
};
std::optional<ThresholdFault> find_ecn_fault(const EcnConfig& ecn, std::uint32_t limit_bytes);
std::optional<ThresholdFault> find_pfc_fault(const QueueConfig& queue, const BufferConfig& buffer);
std::optional<ThresholdFault> find_ipcc_fault(const QueueConfig& queue);
// `alpha` of the queue itself.
std::optional<ThresholdFault> find_alpha_fault(const QueueConfig& queue, const BufferConfig& buffer);
std::optional<ThresholdFault> find_fault(const pfc::WatchdogConfig& watchdog);
std::optional<ThresholdFault> find_fault(const pfc::PfcAlarmConfig& alarm);
std::optional<ThresholdFault> find_fault(const InofHostConfig& host);
// Weights in percent that do not add to 100, as the rest of a sentence that begins with the port's key.
std::optional<std::string> find_weights_fault(const PortConfig& port);
// dcb = "required" with what DCB cannot say, the same way.
std::optional<std::string> find_dcb_fault(const PortConfig& port);
// TCs of the port share WRR group 1, and others group 2: ETS has one.
bool has_two_groups(const PortConfig& port);
std::optional<ThresholdFault> find_fault(const DcbxConfig& dcbx);
std::optional<ThresholdFault> find_fault(const BfdSettings& bfd);
std::optional<ThresholdFault> find_fault(const BfdPeerConfig& peer);
std::optional<ThresholdFault> find_fault(const DcqcnConfig& dcqcn);
std::optional<ThresholdFault> find_fault(const BgpConfig& bgp);
std::optional<ThresholdFault> find_fault(const BgpNeighborConfig& neighbor);
std::optional<ThresholdFault> find_fault(const BgpFilterRule& rule);

// A fault in port groups or hook rules that shows only beside the rest of the configuration.
struct HookFault {
  bool in_rule = false;   // else in a port group
  std::size_t index = 0;  // which one, from 0
  std::string_view key;   // its key
  std::string message;    // the rest of the sentence: what is wrong, and what is allowed
};
std::vector<HookFault> find_hook_faults(const Config& config);

}  // namespace lossless
