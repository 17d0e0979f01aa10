// SPDX-License-Identifier: Apache-2.0
// The configuration: what the TOML file says, with every default filled in. Plain values, no I/O.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/address_range.h"
#include "daemon/dcbx/config.h"
#include "daemon/net/key_chain.h"
#include "daemon/pfc/alarm_config.h"
#include "daemon/pfc/watchdog_config.h"

namespace lossless {

inline constexpr unsigned kTcs = 8;
inline constexpr unsigned kDscps = 64;

enum class Trust : std::uint8_t { Port, Dot1p, Dscp, Application };
enum class Schedule : std::uint8_t { Strict, Wrr };
enum class Weights : std::uint8_t { Relative, Percent };
enum class DcbUse : std::uint8_t { Off, Auto, Required };  // of a driver's DCB
enum class EcmpHash : std::uint8_t { Keep, L3, L4, Inner };
enum class Rewrite : std::uint8_t { Off, Dot1p, Dscp, Both };      // by a driver, of what leaves
enum class AppField : std::uint8_t { EtherType, Tcp, Udp, Port };  // in the order of their selectors
enum class SystemRole : std::uint8_t { Switch, Host };
enum class LldpMode : std::uint8_t { Off, Tx, Rx, Both };
enum class XdpMode : std::uint8_t { Off, Auto, Native };  // beside the hooks in tcx
// Which DSCPs of tunnelled packets are carried into the outer header.
enum class OverlayDscp : std::uint8_t { None, Lossless, All };
enum class CnpPer : std::uint8_t { Qp, Ip, Port };
enum class InofDialect : std::uint8_t { Odcc, ChinaMobile };
enum class InofRole : std::uint8_t { Server, Client, Both };  // initiator, target
enum class InofProtocol : std::uint8_t { Roce, Tcp, Iscsi };
enum class BfdAuth : std::uint8_t { None, Simple, KeyedMd5, MeticulousMd5, KeyedSha1, MeticulousSha1 };
enum class InofHook : std::uint8_t { None, Nvme, Program };

// WRED/ECN thresholds of one TC (RFC 3168 marking). kmin < kmax < limit of the queue.
struct EcnConfig {
  std::uint32_t kmin_bytes = 0;
  std::uint32_t kmax_bytes = 0;
  double pmax = 0;          // 0 < pmax <= 1: probability at kmax
  unsigned ewma_shift = 0;  // 0: instantaneous depth; 1-15: average with weight 2^-n
  bool operator==(const EcnConfig&) const = default;
};

// Priority flow control of one TC (IEEE 802.1Qbb). A 0 means: worked out from the port (see plan_pfc in
// daemon/pfc/plan.h).
struct PfcConfig {
  std::uint32_t xoff_bytes = 0;        // held of one ingress port: above, its peer is stopped
  std::uint32_t xon_offset_bytes = 0;  // it goes on at xoff - xon_offset
  std::uint32_t headroom_bytes = 0;    // room for what is under way when a peer is stopped
  unsigned cable_m = 5;                // length of the cable to the peer
  unsigned reaction_us = 100;          // from our frame's arrival until the peer sends nothing more
  unsigned alpha = 0;                  // xoff is 2^(alpha - 8) x free shared pool (LL_ALPHA_*); 0: static
  bool operator==(const PfcConfig&) const = default;
};

// IPCC of one queue: CNPs by its depth and trend (docs/ipcc.md). A 0 means: worked out from the port (see
// plan_ipcc in daemon/roce/plan.h).
struct IpccConfig {
  std::uint32_t low_bytes = 0;   // at or below: no CNPs
  std::uint32_t high_bytes = 0;  // above: many instead of few, few instead of none
  std::uint32_t few_bytes = 0;   // that join the queue for each CNP
  std::uint32_t many_bytes = 0;
  unsigned interval_us = 50;  // a flow gets no second CNP within this time
  bool operator==(const IpccConfig&) const = default;
};

struct QueueConfig {
  Schedule schedule = Schedule::Strict;
  unsigned group = 0;   // WRR group 1 or 2; 0 for strict
  unsigned weight = 0;  // WRR weight 1-100 inside the group; 0 for strict
  std::uint32_t limit_bytes = 0;
  bool lossless = false;
  std::optional<EcnConfig> ecn;
  std::optional<PfcConfig> pfc = std::nullopt;  // only of a lossless queue
  std::optional<IpccConfig> ipcc = std::nullopt;
  std::uint32_t guaranteed_bytes = 0;  // of each ingress port, beside the shared pool
  unsigned alpha =
      0;  // of a lossy queue: depth at most this share of the free shared pool; 0: the limit alone
  std::uint64_t max_rate_bps = 0;  // the TC sends at most this; 0: whatever the port has
  bool operator==(const QueueConfig&) const = default;
};

// dscp -> dscp is applied first, then dscp -> dot1p, then dot1p -> TC.
struct PriorityMaps {
  std::array<std::uint8_t, kTcs> dot1p_tc{};
  std::array<std::uint8_t, kDscps> dscp_dot1p{};
  std::array<std::uint8_t, kDscps> dscp_dscp{};
  // What a driver writes into packets of each priority, where `rewrite` says so.
  std::array<std::uint8_t, kTcs> dot1p_rewrite{};
  std::array<std::uint8_t, kTcs> dscp_rewrite{};
  bool operator==(const PriorityMaps&) const = default;
};

// An entry of the application table: frames of a protocol have a priority. Ports that trust "application"
// go by it, and it is written into drivers that have such a table.
struct Application {
  AppField field = AppField::Udp;
  unsigned protocol = 0;  // EtherType, or destination port
  unsigned priority = 0;  // 0-7
  bool operator==(const Application&) const = default;
};
inline constexpr std::size_t kMaxApplications = 128;
// The selector of IEEE 802.1Q (D.2.11.3): 1 to 4.
constexpr std::uint8_t selector_of(AppField field) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(field) + 1);
}
std::vector<Application> default_applications();  // RoCEv2, UDP 4791: priority 3

struct PortConfig {
  std::string name;            // interface name, 1-15 characters
  std::uint64_t rate_bps = 0;  // bits per second of whole Ethernet frames without FCS; 0 = not limited
  Trust trust = Trust::Dscp;
  unsigned priority = 0;                // dot1p of packets that carry nothing to trust
  LldpMode lldp = LldpMode::Both;       // while [lldp] is on
  bool ecn_overlay = true;              // while [ecn_overlay] is on
  Weights weights = Weights::Relative;  // percent: those of each WRR group add to 100
  DcbUse dcb = DcbUse::Auto;
  Rewrite rewrite = Rewrite::Off;
  XdpMode xdp = XdpMode::Auto;
  PriorityMaps maps;
  std::array<QueueConfig, kTcs> queues;
  pfc::WatchdogConfig watchdog;  // of each TC with PFC
  pfc::PfcAlarmConfig pfc_alarm;
  DcbxConfig dcbx;
  // In no file: what DCBX agreed on instead of the application table of all ports.
  std::optional<std::vector<Application>> applications = std::nullopt;
  bool operator==(const PortConfig&) const = default;
};

struct ApiConfig {
  std::string socket;  // absolute path, at most 107 bytes
  std::string owner = "root";
  std::string group = "root";
  unsigned mode = 0660;
  bool operator==(const ApiConfig&) const = default;
};

// Pools that all ports share, by ingress. 0: not limited.
struct BufferConfig {
  std::uint32_t shared_bytes = 0;
  std::uint32_t headroom_bytes = 0;
  bool operator==(const BufferConfig&) const = default;
};

// Which dialects of iNOF are heard; each host is answered in its own.
enum class InofDialects : std::uint8_t { Both, Odcc, ChinaMobile };

struct InofZoneConfig {
  std::string name;                 // 1-31 letters, digits, '_', '-', '.'; not "default"
  std::vector<AddressRange> hosts;  // ascending, each once
  bool operator==(const InofZoneConfig&) const = default;
};

// Hosts that may join on one port.
struct InofAllowConfig {
  std::string port;
  std::vector<AddressRange> hosts;
  bool operator==(const InofAllowConfig&) const = default;
};

// Off: any host may join anywhere. On: what neither list has is denied.
struct InofWhitelistConfig {
  bool on = false;
  std::vector<std::string> exceptions;  // ports on which any host may join
  std::vector<InofAllowConfig> allow;
  bool operator==(const InofWhitelistConfig&) const = default;
};

// iNOF switch (intelligent lossless NVMe over Fabrics); see docs/inof.md.
struct InofConfig {
  bool on = false;
  InofDialects dialects = InofDialects::Both;
  unsigned age_s = 120;           // a host that is silent for longer has left
  bool default_zone = true;       // hosts in no other zone join the default zone
  bool hard_zoning = false;       // storage traffic between hosts without a zone in common is dropped
  bool block_initiators = false;  // and between two initiators, whatever their zones
  bool keep_changes = true;       // zones and switches set at run time outlast a restart
  unsigned max_hosts_per_port = 512;
  unsigned retransmit_ms = 1000;  // until a notification is repeated first; doubles each time, up to 8 s
  unsigned retransmit_limit = 5;  // repetitions
  InofWhitelistConfig whitelist;
  std::vector<InofZoneConfig> zones;  // by name
  bool operator==(const InofConfig&) const = default;
};

// The LLDP agent (IEEE 802.1AB).
struct LldpConfig {
  bool enabled = false;
  unsigned interval_s = 30;
  unsigned hold = 4;             // TTL in intervals
  unsigned fast_start = 4;       // frames at one a second when a neighbour or a link appears
  unsigned max_neighbors = 256;  // per port
  std::string system_name = {};  // empty: the host's name
  bool operator==(const LldpConfig&) const = default;
};

// How BFD sessions (RFC 5880) are kept.
struct BfdSettings {
  unsigned transmit_ms = 300;  // we would like to send so often
  unsigned receive_ms = 300;   // we can receive so often
  unsigned multiplier = 3;     // so many of our packets missing are a failure
  bool passive = false;        // waits for the neighbour to speak
  bool demand = false;         // the neighbour need not send while all is well
  BfdAuth auth = BfdAuth::None;
  unsigned key_id = 1;
  std::string key = {};
  bool operator==(const BfdSettings&) const = default;
};
struct BfdProfile : BfdSettings {
  std::string name;
  bool operator==(const BfdProfile&) const = default;
};
struct BfdPeerConfig {
  std::string address;
  std::string local = {};      // our address; empty: the kernel's choice
  std::string interface = {};  // empty: any
  bool multihop = false;
  unsigned min_ttl = 1;      // over several hops
  std::string profile = {};  // empty: [bfd]
  bool shutdown = false;     // the session is kept in AdminDown
  bool operator==(const BfdPeerConfig&) const = default;
};
inline constexpr std::size_t kMaxBfdPeers = 1000;
inline constexpr std::size_t kMaxBfdProfiles = 100;
// RoCEv2 flows (docs/roce-flows.md) and what IPCC has in common on all ports.
struct RoceConfig {
  bool flows = true;
  unsigned max_flows = 65536;  // rows of the table
  unsigned age_s = 300;        // a flow that is silent for longer is forgotten
  unsigned cnp_dscp = 48;      // of CNPs that this switch makes
  unsigned cnp_tc = 6;         // queue they leave in
  unsigned cnp_limit = 20000;  // CNPs a second for what waits in one port's queues
  bool operator==(const RoceConfig&) const = default;
};

// ECN across VXLAN tunnels that begin and end on this machine; see docs/ecn-overlay.md.
struct EcnOverlayConfig {
  bool enabled = false;
  unsigned port = 4789;  // UDP destination port of VXLAN
  OverlayDscp carry_dscp = OverlayDscp::Lossless;
  bool operator==(const EcnOverlayConfig&) const = default;
};

// DCQCN of a host, in force with SystemRole::Host; the keys have the names that NICs give them. See
// docs/dcqcn.md.
struct DcqcnConfig {
  bool enabled = false;
  bool np = true;     // notification point: CNPs for what comes in marked
  bool rp = true;     // reaction point: CNPs that come in slow the QP down
  bool guard = true;  // RoCEv2 that is malformed or has an unknown opcode is dropped
  CnpPer cnp_per = CnpPer::Qp;
  unsigned min_time_between_cnps_us = 50;
  unsigned cnp_dscp = 48;
  unsigned cnp_802p_prio = 6;                   // TC that CNPs leave by
  unsigned rate_reduce_monitor_period_us = 50;  // at most one cut in this time
  unsigned dce_tcp_rtt_us = 55;                 // alpha decays once in each without a CNP
  unsigned dce_tcp_g = 4;                       // g in 1/1024, a power of two
  unsigned rpg_time_reset_us = 300;             // rate increase timer
  std::uint32_t rpg_byte_reset = 10'000'000;    // rate increase byte counter; 0: none
  unsigned rpg_threshold = 5;                   // increases before the target rate grows: F
  std::uint64_t rpg_ai_rate_bps = 40'000'000;
  std::uint64_t rpg_hai_rate_bps = 200'000'000;
  std::uint64_t rpg_min_rate_bps = 10'000'000;
  bool operator==(const DcqcnConfig&) const = default;
};

// The iNOF host agent; in force with SystemRole::Host.
struct InofHostConfig {
  InofDialect dialect = InofDialect::Odcc;
  InofRole role = InofRole::Server;
  InofProtocol protocol = InofProtocol::Roce;
  unsigned port = 0;    // of the service offered; 0: NVMe's, 4420
  std::string id = {};  // NQN; may be empty
  bool subscribe = true;
  unsigned interval_s = 30;
  unsigned max_members = 4096;
  InofHook hook = InofHook::Nvme;
  std::string program = {};             // absolute path; for InofHook::Program
  std::string nvme = "/usr/sbin/nvme";  // nvme-cli
  unsigned hook_timeout_s = 30;         // then the hook is killed
  unsigned hook_retries = 5;
  unsigned hook_backoff_s = 1;  // before the first retry; twice as long before each further one
  bool operator==(const InofHostConfig&) const = default;
};

// Keys of TCP-AO, by which neighbours refer to them.
struct KeyChainConfig {
  std::string name;  // 1-32 of a-z, 0-9, '_' and '-'
  net::KeyChain keys = {};
  bool operator==(const KeyChainConfig&) const = default;
};
inline constexpr std::size_t kMaxKeyChains = 256;
inline constexpr std::size_t kMaxKeys = 64;  // of one chain

// The BGP speaker; see docs/bgp.md.
struct BgpConfig {
  bool on = false;
  std::uint32_t asn = 0;
  std::string router_id = {};   // an IPv4 address
  std::string cluster_id = {};  // the same; empty: the router ID
  std::string listen = {};      // local address; empty: all
  unsigned port = 179;          // to listen on and to connect to
  unsigned hold_s = 90;         // 0: for ever
  unsigned connect_retry_s = 5;
  unsigned restart_s = 120;  // graceful restart: how long peers keep our routes; 0: off
  std::uint32_t local_pref =
      100;  // of our own routes; the configuration of whoever has the highest overrides
  bool operator==(const BgpConfig&) const = default;
};

struct BgpNeighborConfig {
  std::string address;    // one address, or a range of those that may connect to us
  std::uint32_t asn = 0;  // 0: our own
  std::string description = {};
  bool client = false;   // of this route reflector
  bool passive = false;  // it connects to us
  bool shutdown = false;
  bool inof = true;  // families
  bool ipv4_unicast = false;
  std::string password = {};   // TCP-MD5 (RFC 2385), 1-80 bytes
  std::string key_chain = {};  // TCP-AO (RFC 5925); not beside a password
  unsigned ttl_security = 0;   // hops away at most (RFC 5082); 0: off
  std::string source = {};     // our address; empty: as routed
  bool bfd = false;            // a BFD session watches it, with the settings of [bfd]
  unsigned max_prefixes = 1'000'000;
  std::string interface = {};      // of a link-local address
  std::string import_filter = {};  // filter of routes that come in; empty: all are taken
  std::string export_filter = {};  // filter of routes that go out
  bool operator==(const BgpNeighborConfig&) const = default;
};
inline constexpr std::size_t kMaxBgpNeighbors = 1024;

enum class BgpAction : std::uint8_t { Permit, Deny };
// IPv4 unicast, the kinds of iNOF, and those of iNOF that we do not have.
enum class BgpRouteKind : std::uint8_t { Any, Prefix, Host, Zone, ZoneHost, DefaultZone, HardZone, Unknown };

// What all that is given says must hold of a route; see daemon/bgp/filter.h.
struct BgpFilterRule {
  BgpAction action = BgpAction::Permit;
  BgpRouteKind kind = BgpRouteKind::Any;
  std::string zone = {};    // of zones and their members
  std::string prefix = {};  // that prefixes, hosts and members lie in
  unsigned ge = 0;          // bits of a prefix, at least; 0: not given
  unsigned le = 0;          // at most
  bool operator==(const BgpFilterRule&) const = default;
};
struct BgpFilterConfig {
  std::string name;  // 1-32 of a-z, 0-9, '_' and '-'
  BgpAction otherwise = BgpAction::Deny;
  std::vector<BgpFilterRule> rules = {};
  bool operator==(const BgpFilterConfig&) const = default;
};
inline constexpr std::size_t kMaxBgpFilters = 256;
inline constexpr std::size_t kMaxBgpFilterRules = 1000;

// Ports whose hook flows are looked for: packets that come in by one of them and go out by another, or the
// same one. A port is in one group at most.
struct PortGroup {
  std::string name;  // 1-32 of a-z, 0-9, '_' and '-'
  std::vector<std::string> ports;
  bool operator==(const PortGroup&) const = default;
};

// What becomes of hook flows with these DSCPs.
struct HookRule {
  std::string group;               // empty: every group
  std::vector<std::uint8_t> dscp;  // as the packets have it at the egress, 0-63
  unsigned to_dscp = 0;            // 0-63; must have no rule itself, or the next switch would move them again
  unsigned dot1p = 0;              // written into the outermost tag, where there is one
  unsigned tc = 0;                 // of the queue they go into
  bool is_for(const PortGroup& g) const { return group.empty() || group == g.name; }
  bool operator==(const HookRule&) const = default;
};
inline constexpr std::size_t kMaxHookRules = 1000;
inline constexpr std::size_t kMaxPortGroups = 255;  // LL_HOOK_MAX_GROUP of bpf/stages/hook_flow.h

// Ports whose driver has DCB.
struct DcbConfig {
  bool put_back = true;  // what another program changes
  bool buffers = false;  // the driver's receive buffers follow the headroom of lossless TCs
  bool operator==(const DcbConfig&) const = default;
};

// How routes with several next hops are shared out.
struct EcmpConfig {
  EcmpHash hash = EcmpHash::Keep;  // keep: the kernel's setting is left alone
  bool operator==(const EcmpConfig&) const = default;
};

struct Config {
  std::string instance = "default";
  SystemRole role = SystemRole::Switch;
  unsigned cell_bytes = 208;  // buffer unit that `show buffer` counts in, 64-4096
  ApiConfig api;
  BufferConfig buffer;
  InofConfig inof;
  LldpConfig lldp;
  EcnOverlayConfig ecn_overlay;
  DcqcnConfig dcqcn;
  InofHostConfig inof_host;
  DcbConfig dcb;
  EcmpConfig ecmp;
  std::vector<Application> applications = default_applications();
  BfdSettings bfd;
  RoceConfig roce;
  BgpConfig bgp;
  std::vector<BgpNeighborConfig> bgp_neighbors;
  std::vector<BgpFilterConfig> bgp_filters;
  std::vector<KeyChainConfig> key_chains;
  std::vector<PortConfig> ports;
  std::vector<PortGroup> port_groups;
  std::vector<HookRule> hook_rules;
  std::vector<BfdProfile> bfd_profiles;
  std::vector<BfdPeerConfig> bfd_peers;
  bool operator==(const Config&) const = default;
};

// What holds where a file says nothing.
inline constexpr std::uint32_t kDefaultLimitBytes = 1'000'000;
inline constexpr unsigned kFirstStrictTc = 6;  // TC 6 and 7 are strict, 0 to 5 share WRR group 1 evenly
inline constexpr unsigned kDefaultGroup = 1;
inline constexpr unsigned kDefaultWeight = 10;
QueueConfig default_queue(unsigned tc);
PriorityMaps default_maps();  // identity; dscp -> dot1p: dscp / 8; priority -> dscp: 8 x priority
std::string default_socket(std::string_view instance);

// What is wrong with a configuration: "FILE:LINE:COLUMN: message". Line and column count from 1; 0 when
// the whole file is meant (e.g. it cannot be read).
struct ConfigError {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string message;  // names the key, the value, and what is allowed
  std::string text() const;
  auto operator<=>(const ConfigError&) const = default;  // file order
};

// All errors of the file at once, in file order; at least one. A file with more than 1000 has those and a
// last one that says how many more there are.
using ConfigErrors = std::vector<ConfigError>;

// Reads a configuration from TOML text; `file` is only for messages.
std::expected<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file);
// The same from a regular file of at most 4 MiB.
inline constexpr std::size_t kMaxConfigBytes = 4U << 20U;
std::expected<Config, ConfigErrors> load_config(const std::string& path);

// A complete file, defaults included: parse_config(to_toml(c)) == c for every c that parse_config can return.
std::string to_toml(const Config& config);

// The tables under [inof] alone, the same both ways: what losslessd keeps of changes at run time.
std::string to_toml(const InofConfig& config);
std::expected<InofConfig, ConfigErrors> parse_inof(std::string_view text, const std::string& file);

// Checks the order kmin < kmax < limit and the ranges. Returns the message of the first fault.
std::optional<std::string> check_ecn(const EcnConfig& ecn, std::uint32_t limit_bytes);

// Checks what can be told without the port: guaranteed < xoff, xon_offset < xoff < limit, kmax < xoff,
// lossless, and whether there is a pool for alpha. Returns the message of the first fault.
std::optional<std::string> check_pfc(const QueueConfig& queue, const BufferConfig& buffer);

// Checks low < high < xoff and limit, many <= few. Returns the message of the first fault.
std::optional<std::string> check_ipcc(const QueueConfig& queue);

// One difference between two configurations: a dotted path (port.eth0.queue.3.ecn.kmin,
// port.eth0.maps.dscp_dot1p.26) and both values as the file would write them ("100KB" with its quotes); an
// absent side is empty. Ports are matched by name, their order means nothing; a port that one side lacks is
// one entry, port.NAME, with the port's own keys as its value.
struct ConfigChange {
  std::string path;
  std::string from;
  std::string to;
  bool operator==(const ConfigChange&) const = default;
};
std::vector<ConfigChange> diff_config(const Config& from, const Config& to);

std::string_view to_string(Trust t);
std::string_view to_string(Schedule s);
std::string_view to_string(LldpMode m);
std::string_view to_string(AppField f);
std::string_view to_string(EcmpHash h);
std::string_view to_string(OverlayDscp d);
std::string_view to_string(CnpPer per);
std::string_view to_string(InofHook h);
std::string_view to_string(net::KeyAlgorithm a);
std::string_view to_string(BgpAction a);
std::string_view to_string(BgpRouteKind k);

}  // namespace lossless
