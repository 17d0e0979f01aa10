// SPDX-License-Identifier: Apache-2.0
// The command groups: each adds its commands to the parser and sets `action` when one is chosen. The
// functions that turn replies into text are here for their tests.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/context.h"
#include "cli/table.h"

// Each source includes the service that it shows; all of them in each would be most of what is compiled.
namespace lossless::v1 {
class GetDcqcnReply;
class GetEcmpReply;
class GetInofHostReply;
class GetInofStatisticsReply;
class GetInofStatusReply;
class GetInofWhitelistReply;
class ListApplicationsReply;
class ListBfdPeersReply;
class ListBgpNeighborsReply;
class ListBgpPolicyReply;
class ListBgpRoutesReply;
class ListDcbReply;
class ListEcnOverlayReply;
class ListEtsReply;
class ListFlowsReply;
class ListInofHostsReply;
class ListInofZonesReply;
class ListIpccReply;
class ListLldpLocalReply;
class ListLldpNeighborsReply;
class ListLldpStatisticsReply;
}  // namespace lossless::v1

namespace lossless::cli {

void add_show_bfd(CLI::App& show, Action& action);
void add_show_ports(CLI::App& show, Action& action);
void add_show_queues(CLI::App& show, Action& action);
void add_show_ecn(CLI::App& show, Action& action);
void add_show_dcqcn(CLI::App& show, Action& action);
void add_show_ecn_overlay(CLI::App& show, Action& action);
void add_show_pfc(CLI::App& show, Action& action);
void add_show_hook_flows(CLI::App& pfc, Action& action);
void add_show_pfc_watchdog(CLI::App& show, Action& action);
void add_show_buffer(CLI::App& show, Action& action);
void add_show_packet_drop(CLI::App& show, Action& action);
void add_show_inof(CLI::App& show, Action& action);
void add_zone(CLI::App& root, Action& action);
void add_zone_switches(CLI::App& root, Action& action);  // default-zone, hard-zoning
void add_show_inof_host(CLI::App& show, Action& action);
void add_show_dcb(CLI::App& show, Action& action);  // dcb, ets, application
void add_show_ecmp(CLI::App& show, Action& action);
void add_show_bgp(CLI::App& show, Action& action);
void add_clear_bgp(CLI::App& clear, Action& action);
void add_bgp(CLI::App& root, Action& action);
void add_show_lldp(CLI::App& show, Action& action);
void add_show_flows(CLI::App& show, Action& action);
void add_show_ipcc(CLI::App& show, Action& action);
void add_show_priority_map(CLI::App& show, Action& action);
void add_show_system(CLI::App& show, Action& action);  // capabilities, version
void add_pfc(CLI::App& root, Action& action);          // escape, recover
void add_clear(CLI::App& root, Action& action);
void add_clear_flows(CLI::App& clear, Action& action);
void add_set(CLI::App& root, Action& action);
void add_config(CLI::App& root, Action& action);
void add_reload(CLI::App& root, Action& action);
void add_detach(CLI::App& root, Action& action);
void add_completion(CLI::App& root, Action& action);

std::string bfd_peers_text(const v1::ListBfdPeersReply& reply, const Style& style);
std::string bfd_counters_text(const v1::ListBfdPeersReply& reply, const Style& style);
std::string ports_text(const v1::ListPortsReply& reply, const Style& style);
std::string port_details(const v1::Port& port, const Style& style);
std::string queues_text(const v1::ListQueuesReply& reply, const Style& style);
// Rates between two polls `seconds` apart; the first poll has no `before`.
std::string queue_rates_text(const v1::ListQueuesReply* before, const v1::ListQueuesReply& now,
                             double seconds, const Style& style);
std::string ecn_text(const v1::ListEcnReply& reply, const Style& style);
std::string dcqcn_text(const v1::GetDcqcnReply& reply, const Style& style);
std::string ecn_overlay_text(const v1::ListEcnOverlayReply& reply, const Style& style);
std::string pfc_text(const v1::ListPfcReply& reply, const Style& style);
std::string hook_flows_text(const v1::ListHookFlowsReply& reply, const Style& style);
std::string pfc_watchdogs_text(const v1::ListPfcWatchdogsReply& reply, const Style& style);
std::string buffer_text(const v1::ListBufferReply& reply, const Style& style);
std::string packet_drops_text(const v1::ListPacketDropsReply& reply, const Style& style);
// `view`: addresses, members, events, statistics; empty: an overview.
std::string inof_host_text(const v1::GetInofHostReply& reply, const std::string& view, const Style& style);
std::string inof_hosts_text(const v1::ListInofHostsReply& reply, const Style& style);
std::string inof_zones_text(const v1::ListInofZonesReply& reply, const Style& style);
std::string inof_status_text(const v1::GetInofStatusReply& reply, const Style& style);
std::string inof_statistics_text(const v1::GetInofStatisticsReply& reply, const Style& style);
std::string inof_whitelist_text(const v1::GetInofWhitelistReply& reply, const Style& style);
std::string dcb_text(const v1::ListDcbReply& reply, const Style& style);
std::string ets_text(const v1::ListEtsReply& reply, const Style& style);
std::string applications_text(const v1::ListApplicationsReply& reply, const Style& style);
std::string ecmp_text(const v1::GetEcmpReply& reply, const Style& style);
std::string bgp_summary_text(const v1::ListBgpNeighborsReply& reply, const Style& style);
std::string bgp_neighbors_text(const v1::ListBgpNeighborsReply& reply, const Style& style);
std::string bgp_policy_text(const v1::ListBgpPolicyReply& reply, const Style& style);
std::string bgp_routes_text(const v1::ListBgpRoutesReply& reply, const Style& style);
std::string lldp_neighbors_text(const v1::ListLldpNeighborsReply& reply, const Style& style);
std::string lldp_local_text(const v1::ListLldpLocalReply& reply, const Style& style);
std::string lldp_statistics_text(const v1::ListLldpStatisticsReply& reply, const Style& style);
std::string flows_text(const v1::ListFlowsReply& reply, const Style& style);
std::string ipcc_text(const v1::ListIpccReply& reply, const Style& style);
std::string priority_maps_text(const v1::ListPriorityMapsReply& reply, const Style& style);
std::string capabilities_text(const v1::GetCapabilitiesReply& reply, const Style& style);
std::string version_text(const v1::GetVersionReply& reply, const Style& style);

// Reads KEY=VALUE words of `set ecn` into a request: kmin, kmax, pmax, ewma, enabled.
std::expected<v1::SetEcnRequest, Failure> parse_ecn_settings(const std::string& port, unsigned tc,
                                                             const std::vector<std::string>& settings);

}  // namespace lossless::cli
