// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/config_keys.h"

#include <algorithm>
#include <type_traits>

#include "bpf/abi.h"
#include "bpf/stages/roce_flow.h"
#include "daemon/core/address.h"
#include "daemon/core/units.h"
#include "daemon/core/utc.h"

namespace lossless {
namespace {

using pfc::PfcAlarmConfig;
using pfc::WatchdogConfig;

static_assert(kTcs == LL_TCS && kDscps == LL_DSCPS && kMaxPorts == LL_MAX_PORTS);
static_assert(kMaxInofZones + 1 == LL_ZONES);
static_assert(static_cast<int>(Trust::Port) == LL_TRUST_PORT &&
              static_cast<int>(Trust::Dot1p) == LL_TRUST_DOT1P &&
              static_cast<int>(Trust::Dscp) == LL_TRUST_DSCP &&
              static_cast<int>(Trust::Application) == LL_TRUST_APPLICATION);
static_assert(static_cast<int>(AppField::EtherType) == LL_APP_ETHERTYPE &&
              static_cast<int>(AppField::Tcp) == LL_APP_TCP &&
              static_cast<int>(AppField::Udp) == LL_APP_UDP &&
              static_cast<int>(AppField::Port) == LL_APP_PORT);

// In the order of the enumerations.
constexpr std::array<std::string_view, 4> kTrusts{"port", "dot1p", "dscp", "application"};
constexpr std::array<std::string_view, 2> kSchedules{"strict", "wrr"};
constexpr std::array<std::string_view, 2> kWeights{"relative", "percent"};
constexpr std::array<std::string_view, 3> kDcbUses{"off", "auto", "required"};
constexpr std::array<std::string_view, 4> kRewrites{"off", "dot1p", "dscp", "both"};
constexpr std::array<std::string_view, 4> kEcmpHashes{"keep", "l3", "l4", "inner"};
constexpr std::array<std::string_view, 4> kAppFields{"ethertype", "tcp", "udp", "port"};
// Powers of two, from LL_ALPHA_MIN on.
constexpr std::array<std::string_view, LL_ALPHA_MAX> kAlphas{"1/128", "1/64", "1/32", "1/16", "1/8", "1/4",
                                                             "1/2",   "1",    "2",    "4",    "8"};
static_assert(LL_ALPHA_MIN == 1 && kAlphas[LL_ALPHA_ONE - 1] == "1");
constexpr std::array<std::string_view, 2> kRoles{"switch", "host"};
constexpr std::array<std::string_view, 3> kXdpModes{"off", "auto", "native"};
constexpr std::array<std::string_view, 4> kLldpModes{"off", "tx", "rx", "both"};
constexpr std::array<std::string_view, 3> kOverlayDscps{"none", "lossless", "all"};
constexpr std::array<std::string_view, 3> kCnpPers{"qp", "ip", "port"};
constexpr std::array<std::string_view, 2> kInofDialects{"odcc", "china-mobile"};
constexpr std::array<std::string_view, 3> kInofRoles{"server", "client", "both"};
constexpr std::array<std::string_view, 3> kInofProtocols{"roce", "tcp", "iscsi"};
constexpr std::array<std::string_view, 3> kInofHooks{"none", "nvme", "program"};
constexpr std::array<std::string_view, 6> kBfdAuths{"none",           "simple",     "keyed-md5",
                                                    "meticulous-md5", "keyed-sha1", "meticulous-sha1"};
constexpr std::array<std::string_view, 3> kKeyAlgorithms{"hmac-sha-1", "aes-128-cmac", "hmac-sha-256"};
constexpr std::array<std::string_view, 2> kBgpActions{"permit", "deny"};
constexpr std::array<std::string_view, 8> kBgpRouteKinds{"any",       "prefix",       "host",      "zone",
                                                         "zone-host", "default-zone", "hard-zone", "unknown"};
constexpr std::array<std::string_view, 3> kDcbxVersions{"auto", "ieee", "cee"};
constexpr std::array<std::string_view, 3> kActions{"drop", "forward", "alert"};
constexpr std::array<std::string_view, 2> kModes{"auto", "manual"};

constexpr std::int64_t kMinRate = 1'000'000;
constexpr std::int64_t kMaxRate = 800'000'000'000;
constexpr std::int64_t kMinLimit = 3'000;
constexpr std::int64_t kMaxLimit = 1'000'000'000;

constexpr std::size_t kMaxInstance = 32;
constexpr std::size_t kMaxUser = 32;
constexpr std::size_t kMaxSocket = 107;      // sun_path of sockaddr_un, with its NUL: 108
constexpr std::size_t kMaxSystemName = 255;  // of an LLDP TLV
constexpr std::size_t kMaxNqn = 223;         // NVMe's own limit
constexpr std::size_t kMaxBfdKey = 20;       // of SHA1; the others' is 16
constexpr std::size_t kMaxPath = 4095;
constexpr std::size_t kMaxIfname = 15;  // IFNAMSIZ, with its NUL: 16
constexpr std::size_t kMaxZoneName = 31;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool valid_instance(std::string_view s) {
  const auto good = [](char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '-'; };
  return !s.empty() && s.size() <= kMaxInstance && std::ranges::all_of(s, good);
}

bool valid_socket(std::string_view s) {
  return s.size() > 1 && s.size() <= kMaxSocket && s.front() == '/' && s.back() != '/' &&
         std::ranges::none_of(s, is_control);
}

bool valid_system_name(std::string_view s) {
  return s.size() <= kMaxSystemName && std::ranges::none_of(s, is_control);
}

bool valid_nqn(std::string_view s) {
  return s.size() <= kMaxNqn && std::ranges::all_of(s, [](char c) { return c > 0x20 && c < 0x7f; });
}

bool valid_password(std::string_view s) {
  constexpr std::size_t kMaxPassword = 80;  // TCP_MD5SIG_MAXKEYLEN
  return s.size() <= kMaxPassword && std::ranges::all_of(s, [](char c) { return c >= 0x20 && c < 0x7f; });
}

bool valid_secret(std::string_view s) { return !s.empty() && valid_password(s); }

bool valid_utc(std::string_view s) { return parse_utc(s).has_value(); }

// One prefix; an address is one of full length.
bool valid_prefix(std::string_view s) {
  const auto range = parse_range(s);
  return range && prefixes_of(*range).size() == 1;
}

// As a zone is called, and with a star at the end for all that begin so.
bool valid_filter_zone(std::string_view s) {
  if (s.ends_with('*')) s.remove_suffix(1);
  const auto good = [](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
  };
  return !s.empty() && s.size() <= kMaxZoneName && std::ranges::all_of(s, good);
}

bool valid_address(std::string_view s) { return parse_ip(s).has_value(); }

bool valid_router_id(std::string_view s) {
  const auto id = parse_ip(s);
  return id && !id->v6 && !id->is_zero();
}

bool valid_range(std::string_view s) { return parse_range(s).has_value(); }

bool valid_program(std::string_view s) {
  return s.empty() || (s.size() > 1 && s.size() <= kMaxPath && s.front() == '/' && s.back() != '/' &&
                       std::ranges::none_of(s, is_control));
}

bool valid_user(std::string_view s) {
  const auto good = [](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
  };
  return !s.empty() && s.size() <= kMaxUser && s.front() != '-' && std::ranges::all_of(s, good);
}

// dev_valid_name() of the kernel: no '/', ':' or white space, not "." or "..". It lets control characters
// and '%' through, but they make no usable name.
bool valid_ifname(std::string_view s) {
  const auto bad = [](char c) { return c == '/' || c == ':' || c == ' ' || c == '%' || is_control(c); };
  return !s.empty() && s.size() <= kMaxIfname && s != "." && s != ".." && std::ranges::none_of(s, bad);
}

bool valid_bfd_key(std::string_view s) {
  return !s.empty() && s.size() <= kMaxBfdKey &&
         std::ranges::all_of(s, [](char c) { return c > 0x20 && c < 0x7f; });
}

constexpr Rule integer(std::int64_t min, std::int64_t max) { return Rule(Rule::Type::Integer, min, max); }
constexpr Rule kBool(Rule::Type::Bool);
constexpr Rule kMode(Rule::Type::Mode);
constexpr Rule kProbability(Rule::Type::Probability);
constexpr Rule kRate(Rule::Type::Rate, kMinRate, kMaxRate);
constexpr Rule kLimit(Rule::Type::Size, kMinLimit, kMaxLimit);
constexpr Rule kThreshold(Rule::Type::Size, 0, kMaxLimit);
// 0 stands for "worked out", which a file says by leaving the key out.
constexpr Rule kPfcSize(Rule::Type::Size, 1, kMaxLimit);
constexpr std::int64_t kMaxCable = 100'000;
constexpr std::int64_t kMaxReaction = 1'000'000;
constexpr Rule kProgram(valid_program, "an absolute path of a file without control characters, or empty");
constexpr std::string_view kNameForm = "1 to 32 of a-z, 0-9, '_' and '-'";
constexpr Rule kChainName(valid_instance, "the name of a [[key_chain]]");
constexpr Rule kFilterName(valid_instance, "the name of a [[bgp_filter]]");
constexpr std::string_view kPrefixForm = "an address or a prefix such as \"10.0.0.0/24\", IPv4 or IPv6";
constexpr std::string_view kFilterZoneForm =
    "the name of a zone, 1 to 31 letters, digits, '_', '-' and '.', with '*' at its end for all that begin "
    "so";
constexpr Rule kFrameRate = integer(0, 1'000'000'000);
constexpr Rule kAsn = integer(1, UINT32_MAX);
constexpr Rule kRouterId(valid_router_id, "an IPv4 address, not 0.0.0.0");
constexpr Rule kAddress(valid_address, "an IPv4 or IPv6 address");
constexpr Rule kUser(valid_user, "a name or number of 1 to 32 letters, digits, '_', '-' and '.'");

// The member may be of a base of T.
template <class T, class M, class Base>
void store(M Base::* member, T& object, const Scalar& value) {
  if constexpr (std::is_same_v<M, bool> || std::is_same_v<M, double> || std::is_same_v<M, std::string>) {
    object.*member = std::get<M>(value);
  } else {
    object.*member = static_cast<M>(std::get<std::int64_t>(value));
  }
}

template <class T, class M, class Base>
Scalar fetch(M Base::* member, const T& object) {
  if constexpr (std::is_same_v<M, bool> || std::is_same_v<M, double> || std::is_same_v<M, std::string>) {
    return object.*member;
  } else {
    return static_cast<std::int64_t>(object.*member);
  }
}

template <class T, auto Member>
constexpr Key<T> row(std::string_view name, Rule rule, bool (*used)(const T&) = nullptr) {
  return {name, rule, [](T& object, const Scalar& value) { store(Member, object, value); },
          [](const T& object) { return fetch(Member, object); }, used};
}

template <class T>
constexpr Key<T> secret(Key<T> key) {
  key.secret = true;
  return key;
}

// A choice of kAlphas; absent is 0.
template <class T>
constexpr Key<T> alpha_row() {
  return {"alpha", Rule(kAlphas),
          [](T& object, const Scalar& value) {
            object.alpha = static_cast<unsigned>(std::get<std::int64_t>(value)) + LL_ALPHA_MIN;
          },
          [](const T& object) -> Scalar { return std::int64_t{object.alpha} - LL_ALPHA_MIN; },
          [](const T& object) { return object.alpha > 0; }};
}

// One end of a lifetime, which is written as a time of the calendar. `Absent`: it has no such end.
template <net::Lifetime net::TcpKey::* Of, std::int64_t net::Lifetime::* End, std::int64_t Absent>
constexpr Key<net::TcpKey> time_row(std::string_view name) {
  return {name, Rule(valid_utc, kUtcForm),
          [](net::TcpKey& key, const Scalar& value) {
            (key.*Of).*End = parse_utc(std::get<std::string>(value)).value_or(Absent);
          },
          [](const net::TcpKey& key) -> Scalar { return utc_text((key.*Of).*End); },
          [](const net::TcpKey& key) { return (key.*Of).*End != Absent; }};
}

bool is_wrr(const QueueConfig& q) { return q.schedule == Schedule::Wrr; }

constexpr std::array kTopKeys{
    row<Config, &Config::instance>("instance", Rule(valid_instance, kNameForm)),
    row<Config, &Config::role>("role", Rule(kRoles)),
    row<Config, &Config::cell_bytes>("cell_bytes", integer(64, 4096)),
};
constexpr std::array kApiKeys{
    row<ApiConfig, &ApiConfig::socket>(
        "socket", Rule(valid_socket, "an absolute path of a file, at most 107 bytes, no control characters")),
    row<ApiConfig, &ApiConfig::owner>("owner", kUser),
    row<ApiConfig, &ApiConfig::group>("group", kUser),
    row<ApiConfig, &ApiConfig::mode>("mode", kMode),
};
constexpr std::array kBufferKeys{
    row<BufferConfig, &BufferConfig::shared_bytes>("shared", kPfcSize,
                                                   [](const BufferConfig& b) { return b.shared_bytes > 0; }),
    row<BufferConfig, &BufferConfig::headroom_bytes>(
        "headroom", kPfcSize, [](const BufferConfig& b) { return b.headroom_bytes > 0; }),
};
constexpr Rule kIfname(valid_ifname,
                       "an interface name of 1 to 15 bytes without '/', ':', '%', white space or "
                       "control characters, not \".\" or \"..\"");

constexpr std::array kLldpKeys{
    row<LldpConfig, &LldpConfig::enabled>("enabled", kBool),
    row<LldpConfig, &LldpConfig::interval_s>("interval_s", integer(1, 3600)),
    row<LldpConfig, &LldpConfig::hold>("hold", integer(2, 100)),
    row<LldpConfig, &LldpConfig::fast_start>("fast_start", integer(1, 8)),
    row<LldpConfig, &LldpConfig::max_neighbors>("max_neighbors", integer(1, 4096)),
    row<LldpConfig, &LldpConfig::system_name>(
        "system_name", Rule(valid_system_name, "at most 255 bytes without control characters")),
};
constexpr std::array kEcnOverlayKeys{
    row<EcnOverlayConfig, &EcnOverlayConfig::enabled>("enabled", kBool),
    row<EcnOverlayConfig, &EcnOverlayConfig::port>("port", integer(1, 65535)),
    row<EcnOverlayConfig, &EcnOverlayConfig::carry_dscp>("carry_dscp", Rule(kOverlayDscps)),
};
constexpr std::int64_t kDcqcnSecond = 1'000'000;  // microseconds
constexpr std::array kDcqcnKeys{
    row<DcqcnConfig, &DcqcnConfig::enabled>("enabled", kBool),
    row<DcqcnConfig, &DcqcnConfig::np>("np", kBool),
    row<DcqcnConfig, &DcqcnConfig::rp>("rp", kBool),
    row<DcqcnConfig, &DcqcnConfig::guard>("guard", kBool),
    row<DcqcnConfig, &DcqcnConfig::cnp_per>("cnp_per", Rule(kCnpPers)),
    row<DcqcnConfig, &DcqcnConfig::min_time_between_cnps_us>("min_time_between_cnps",
                                                             integer(0, kDcqcnSecond)),
    row<DcqcnConfig, &DcqcnConfig::cnp_dscp>("cnp_dscp", integer(0, kDscps - 1)),
    row<DcqcnConfig, &DcqcnConfig::cnp_802p_prio>("cnp_802p_prio", integer(0, kTcs - 1)),
    row<DcqcnConfig, &DcqcnConfig::rate_reduce_monitor_period_us>("rate_reduce_monitor_period",
                                                                  integer(0, kDcqcnSecond)),
    row<DcqcnConfig, &DcqcnConfig::dce_tcp_rtt_us>("dce_tcp_rtt", integer(1, kDcqcnSecond)),
    row<DcqcnConfig, &DcqcnConfig::dce_tcp_g>("dce_tcp_g", integer(1, 512)),
    row<DcqcnConfig, &DcqcnConfig::rpg_time_reset_us>("rpg_time_reset", integer(1, kDcqcnSecond)),
    row<DcqcnConfig, &DcqcnConfig::rpg_byte_reset>("rpg_byte_reset", kThreshold),
    row<DcqcnConfig, &DcqcnConfig::rpg_threshold>("rpg_threshold", integer(1, 31)),
    row<DcqcnConfig, &DcqcnConfig::rpg_ai_rate_bps>("rpg_ai_rate", kRate),
    row<DcqcnConfig, &DcqcnConfig::rpg_hai_rate_bps>("rpg_hai_rate", kRate),
    row<DcqcnConfig, &DcqcnConfig::rpg_min_rate_bps>("rpg_min_rate", kRate),
};
constexpr std::array kInofHostKeys{
    row<InofHostConfig, &InofHostConfig::dialect>("dialect", Rule(kInofDialects)),
    row<InofHostConfig, &InofHostConfig::role>("role", Rule(kInofRoles)),
    row<InofHostConfig, &InofHostConfig::protocol>("protocol", Rule(kInofProtocols)),
    row<InofHostConfig, &InofHostConfig::port>("port", integer(0, 65535)),
    row<InofHostConfig, &InofHostConfig::id>(
        "id", Rule(valid_nqn, "at most 223 printable ASCII characters without spaces")),
    row<InofHostConfig, &InofHostConfig::subscribe>("subscribe", kBool),
    row<InofHostConfig, &InofHostConfig::interval_s>("interval_s", integer(1, 60)),
    row<InofHostConfig, &InofHostConfig::max_members>("max_members", integer(1, 65536)),
    row<InofHostConfig, &InofHostConfig::hook>("hook", Rule(kInofHooks)),
    row<InofHostConfig, &InofHostConfig::program>("program", kProgram),
    row<InofHostConfig, &InofHostConfig::nvme>("nvme", kProgram),
    row<InofHostConfig, &InofHostConfig::hook_timeout_s>("hook_timeout_s", integer(1, 600)),
    row<InofHostConfig, &InofHostConfig::hook_retries>("hook_retries", integer(0, 100)),
    row<InofHostConfig, &InofHostConfig::hook_backoff_s>("hook_backoff_s", integer(1, 3600)),
};
constexpr std::array kBgpKeys{
    row<BgpConfig, &BgpConfig::on>("on", kBool),
    row<BgpConfig, &BgpConfig::asn>("asn", kAsn, [](const BgpConfig& b) { return b.asn > 0; }),
    row<BgpConfig, &BgpConfig::router_id>("router_id", kRouterId,
                                          [](const BgpConfig& b) { return !b.router_id.empty(); }),
    row<BgpConfig, &BgpConfig::cluster_id>("cluster_id", kRouterId,
                                           [](const BgpConfig& b) { return !b.cluster_id.empty(); }),
    row<BgpConfig, &BgpConfig::listen>("listen", kAddress,
                                       [](const BgpConfig& b) { return !b.listen.empty(); }),
    row<BgpConfig, &BgpConfig::port>("port", integer(1, 65535)),
    row<BgpConfig, &BgpConfig::hold_s>("hold_s", Rule(Rule::Type::Integer, 0, 65535)),
    row<BgpConfig, &BgpConfig::connect_retry_s>("connect_retry_s", integer(1, 3600)),
    row<BgpConfig, &BgpConfig::restart_s>("restart_s", integer(0, 4095)),
    row<BgpConfig, &BgpConfig::local_pref>("local_pref", integer(0, UINT32_MAX)),
};
constexpr std::array kBgpNeighborKeys{
    row<BgpNeighborConfig, &BgpNeighborConfig::address>("address", Rule(valid_range, kRangeForm)),
    row<BgpNeighborConfig, &BgpNeighborConfig::asn>("asn", kAsn,
                                                    [](const BgpNeighborConfig& n) { return n.asn > 0; }),
    row<BgpNeighborConfig, &BgpNeighborConfig::description>(
        "description", Rule(valid_system_name, "at most 255 bytes without control characters")),
    row<BgpNeighborConfig, &BgpNeighborConfig::client>("client", kBool),
    row<BgpNeighborConfig, &BgpNeighborConfig::passive>("passive", kBool),
    row<BgpNeighborConfig, &BgpNeighborConfig::shutdown>("shutdown", kBool),
    row<BgpNeighborConfig, &BgpNeighborConfig::inof>("inof", kBool),
    row<BgpNeighborConfig, &BgpNeighborConfig::ipv4_unicast>("ipv4_unicast", kBool),
    secret(row<BgpNeighborConfig, &BgpNeighborConfig::password>(
        "password", Rule(valid_password, "at most 80 printable ASCII characters"),
        [](const BgpNeighborConfig& n) { return !n.password.empty(); })),
    row<BgpNeighborConfig, &BgpNeighborConfig::ttl_security>("ttl_security", integer(0, 254)),
    row<BgpNeighborConfig, &BgpNeighborConfig::source>(
        "source", kAddress, [](const BgpNeighborConfig& n) { return !n.source.empty(); }),
    row<BgpNeighborConfig, &BgpNeighborConfig::bfd>("bfd", kBool),
    row<BgpNeighborConfig, &BgpNeighborConfig::max_prefixes>("max_prefixes", integer(1, 100'000'000)),
    row<BgpNeighborConfig, &BgpNeighborConfig::key_chain>(
        "key_chain", kChainName, [](const BgpNeighborConfig& n) { return !n.key_chain.empty(); }),
    row<BgpNeighborConfig, &BgpNeighborConfig::interface>(
        "interface", kIfname, [](const BgpNeighborConfig& n) { return !n.interface.empty(); }),
    row<BgpNeighborConfig, &BgpNeighborConfig::import_filter>(
        "import", kFilterName, [](const BgpNeighborConfig& n) { return !n.import_filter.empty(); }),
    row<BgpNeighborConfig, &BgpNeighborConfig::export_filter>(
        "export", kFilterName, [](const BgpNeighborConfig& n) { return !n.export_filter.empty(); }),
};
constexpr std::array kBgpFilterKeys{
    row<BgpFilterConfig, &BgpFilterConfig::name>("name", Rule(valid_instance, kNameForm)),
    row<BgpFilterConfig, &BgpFilterConfig::otherwise>("otherwise", Rule(kBgpActions)),
};
constexpr std::array kBgpFilterRuleKeys{
    row<BgpFilterRule, &BgpFilterRule::action>("action", Rule(kBgpActions)),
    row<BgpFilterRule, &BgpFilterRule::kind>("kind", Rule(kBgpRouteKinds)),
    row<BgpFilterRule, &BgpFilterRule::zone>("zone", Rule(valid_filter_zone, kFilterZoneForm),
                                             [](const BgpFilterRule& r) { return !r.zone.empty(); }),
    row<BgpFilterRule, &BgpFilterRule::prefix>("prefix", Rule(valid_prefix, kPrefixForm),
                                               [](const BgpFilterRule& r) { return !r.prefix.empty(); }),
    row<BgpFilterRule, &BgpFilterRule::ge>("ge", integer(1, 128),
                                           [](const BgpFilterRule& r) { return r.ge > 0; }),
    row<BgpFilterRule, &BgpFilterRule::le>("le", integer(1, 128),
                                           [](const BgpFilterRule& r) { return r.le > 0; }),
};
constexpr std::array kKeyChainKeys{
    row<KeyChainConfig, &KeyChainConfig::name>("name", Rule(valid_instance, kNameForm)),
};
constexpr std::array kTcpKeyKeys{
    row<net::TcpKey, &net::TcpKey::send_id>("id", integer(0, 255)),
    row<net::TcpKey, &net::TcpKey::receive_id>("receive_id", integer(0, 255)),
    row<net::TcpKey, &net::TcpKey::algorithm>("algorithm", Rule(kKeyAlgorithms)),
    secret(row<net::TcpKey, &net::TcpKey::secret>("secret",
                                                  Rule(valid_secret, "1 to 80 printable ASCII characters"))),
    time_row<&net::TcpKey::send, &net::Lifetime::from, 0>("send_from"),
    time_row<&net::TcpKey::send, &net::Lifetime::until, net::kForEver>("send_until"),
    time_row<&net::TcpKey::accept, &net::Lifetime::from, 0>("accept_from"),
    time_row<&net::TcpKey::accept, &net::Lifetime::until, net::kForEver>("accept_until"),
};
// The keys of BfdSettings, for it and for what is made of it.
template <class T>
constexpr std::array<Key<T>, 8> bfd_settings_rows() {
  std::array<Key<T>, 8> out{
      row<T, &BfdSettings::transmit_ms>("transmit_ms", integer(3, 60'000)),
      row<T, &BfdSettings::receive_ms>("receive_ms", integer(3, 60'000)),
      row<T, &BfdSettings::multiplier>("multiplier", integer(1, 255)),
      row<T, &BfdSettings::passive>("passive", kBool),
      row<T, &BfdSettings::demand>("demand", kBool),
      row<T, &BfdSettings::auth>("auth", Rule(kBfdAuths)),
      row<T, &BfdSettings::key_id>("key_id", integer(0, 255)),
      row<T, &BfdSettings::key>("key",
                                Rule(valid_bfd_key, "1 to 20 printable ASCII characters without spaces"),
                                [](const T& b) { return !b.key.empty(); }),
  };
  out.back().secret = true;
  return out;
}
constexpr std::array kBfdKeys = bfd_settings_rows<BfdSettings>();
constexpr std::array kBfdProfileKeys = [] {
  constexpr auto settings = bfd_settings_rows<BfdProfile>();
  const auto name = row<BfdProfile, &BfdProfile::name>("name", Rule(valid_instance, kNameForm));
  return std::array{name,        settings[0], settings[1], settings[2], settings[3],
                    settings[4], settings[5], settings[6], settings[7]};
}();
constexpr std::array kBfdPeerKeys{
    row<BfdPeerConfig, &BfdPeerConfig::address>("address", kAddress),
    row<BfdPeerConfig, &BfdPeerConfig::local>("local", kAddress,
                                              [](const BfdPeerConfig& p) { return !p.local.empty(); }),
    row<BfdPeerConfig, &BfdPeerConfig::interface>(
        "interface", kIfname, [](const BfdPeerConfig& p) { return !p.interface.empty(); }),
    row<BfdPeerConfig, &BfdPeerConfig::multihop>("multihop", kBool),
    row<BfdPeerConfig, &BfdPeerConfig::min_ttl>("min_ttl", integer(1, 255),
                                                [](const BfdPeerConfig& p) { return p.multihop; }),
    row<BfdPeerConfig, &BfdPeerConfig::profile>("profile", Rule(valid_instance, "the name of a BFD profile"),
                                                [](const BfdPeerConfig& p) { return !p.profile.empty(); }),
    row<BfdPeerConfig, &BfdPeerConfig::shutdown>("shutdown", kBool),
};
constexpr std::array kPortKeys{
    row<PortConfig, &PortConfig::name>("name", kIfname),
    row<PortConfig, &PortConfig::rate_bps>("rate", kRate),
    row<PortConfig, &PortConfig::trust>("trust", Rule(kTrusts)),
    row<PortConfig, &PortConfig::priority>("priority", integer(0, kTcs - 1)),
    row<PortConfig, &PortConfig::lldp>("lldp", Rule(kLldpModes)),
    row<PortConfig, &PortConfig::ecn_overlay>("ecn_overlay", kBool),
    row<PortConfig, &PortConfig::weights>("weights", Rule(kWeights)),
    row<PortConfig, &PortConfig::dcb>("dcb", Rule(kDcbUses)),
    row<PortConfig, &PortConfig::rewrite>("rewrite", Rule(kRewrites)),
    row<PortConfig, &PortConfig::xdp>("xdp", Rule(kXdpModes)),
};
constexpr std::array kDcbKeys{
    row<DcbConfig, &DcbConfig::put_back>("put_back", kBool),
    row<DcbConfig, &DcbConfig::buffers>("buffers", kBool),
};
constexpr std::array kEcmpKeys{
    row<EcmpConfig, &EcmpConfig::hash>("hash", Rule(kEcmpHashes)),
};
constexpr std::array kApplicationKeys{
    row<Application, &Application::field>("field", Rule(kAppFields)),
    row<Application, &Application::protocol>("protocol", integer(1, 65535)),
    row<Application, &Application::priority>("priority", integer(0, kTcs - 1)),
};
constexpr std::array kQueueKeys{
    row<QueueConfig, &QueueConfig::lossless>("lossless", kBool),
    row<QueueConfig, &QueueConfig::schedule>("schedule", Rule(kSchedules)),
    row<QueueConfig, &QueueConfig::group>("group", integer(1, 2), is_wrr),
    row<QueueConfig, &QueueConfig::weight>("weight", integer(1, 100), is_wrr),
    row<QueueConfig, &QueueConfig::limit_bytes>("limit", kLimit),
    row<QueueConfig, &QueueConfig::guaranteed_bytes>(
        "guaranteed", kPfcSize, [](const QueueConfig& q) { return q.guaranteed_bytes > 0; }),
    alpha_row<QueueConfig>(),
    row<QueueConfig, &QueueConfig::max_rate_bps>("max_rate", kRate,
                                                 [](const QueueConfig& q) { return q.max_rate_bps > 0; }),
};
constexpr std::array kEcnKeys{
    row<EcnConfig, &EcnConfig::kmin_bytes>("kmin", kThreshold),
    row<EcnConfig, &EcnConfig::kmax_bytes>("kmax", kThreshold),
    row<EcnConfig, &EcnConfig::pmax>("pmax", kProbability),
    row<EcnConfig, &EcnConfig::ewma_shift>("ewma", integer(0, 15)),
};
constexpr std::array kPfcKeys{
    row<PfcConfig, &PfcConfig::xoff_bytes>("xoff", kPfcSize,
                                           [](const PfcConfig& p) { return p.xoff_bytes > 0; }),
    row<PfcConfig, &PfcConfig::xon_offset_bytes>("xon_offset", kPfcSize,
                                                 [](const PfcConfig& p) { return p.xon_offset_bytes > 0; }),
    row<PfcConfig, &PfcConfig::headroom_bytes>("headroom", kPfcSize,
                                               [](const PfcConfig& p) { return p.headroom_bytes > 0; }),
    alpha_row<PfcConfig>(),
    row<PfcConfig, &PfcConfig::cable_m>("cable_m", integer(0, kMaxCable)),
    row<PfcConfig, &PfcConfig::reaction_us>("reaction_us", integer(0, kMaxReaction)),
};
constexpr std::array kIpccKeys{
    row<IpccConfig, &IpccConfig::low_bytes>("low", kPfcSize,
                                            [](const IpccConfig& i) { return i.low_bytes > 0; }),
    row<IpccConfig, &IpccConfig::high_bytes>("high", kPfcSize,
                                             [](const IpccConfig& i) { return i.high_bytes > 0; }),
    row<IpccConfig, &IpccConfig::few_bytes>("few", kPfcSize,
                                            [](const IpccConfig& i) { return i.few_bytes > 0; }),
    row<IpccConfig, &IpccConfig::many_bytes>("many", kPfcSize,
                                             [](const IpccConfig& i) { return i.many_bytes > 0; }),
    row<IpccConfig, &IpccConfig::interval_us>("interval_us", integer(1, kMaxReaction)),
};
constexpr std::array kRoceKeys{
    row<RoceConfig, &RoceConfig::flows>("flows", kBool),
    row<RoceConfig, &RoceConfig::max_flows>("max_flows", integer(LL_ROCE_FLOWS_MIN, LL_ROCE_FLOWS_MAX)),
    row<RoceConfig, &RoceConfig::age_s>("age_s", integer(1, 86'400)),
    row<RoceConfig, &RoceConfig::cnp_dscp>("cnp_dscp", integer(0, kDscps - 1)),
    row<RoceConfig, &RoceConfig::cnp_tc>("cnp_tc", integer(0, kTcs - 1)),
    row<RoceConfig, &RoceConfig::cnp_limit>("cnp_limit", integer(1000, 10'000'000)),
};
// The rule of zone names; daemon/inof/zones.h has the same for names given at run time.
bool valid_zone(std::string_view s) {
  const auto good = [](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
  };
  return !s.empty() && s.size() <= kMaxZoneName && s != "default" && std::ranges::all_of(s, good);
}
constexpr std::array<std::string_view, 3> kDialectChoices{"both", "odcc", "china-mobile"};

constexpr std::array kInofKeys{
    row<InofConfig, &InofConfig::on>("on", kBool),
    row<InofConfig, &InofConfig::dialects>("dialects", Rule(kDialectChoices)),
    row<InofConfig, &InofConfig::age_s>("age", integer(3, 3600)),
    row<InofConfig, &InofConfig::default_zone>("default_zone", kBool),
    row<InofConfig, &InofConfig::hard_zoning>("hard_zoning", kBool),
    row<InofConfig, &InofConfig::block_initiators>("block_initiators", kBool),
    row<InofConfig, &InofConfig::keep_changes>("keep_changes", kBool),
    row<InofConfig, &InofConfig::max_hosts_per_port>("max_hosts_per_port", integer(1, 8192)),
    row<InofConfig, &InofConfig::retransmit_ms>("retransmit_ms", integer(10, 60000)),
    row<InofConfig, &InofConfig::retransmit_limit>("retransmit_limit", integer(0, 20)),
};
constexpr std::array kWhitelistKeys{
    row<InofWhitelistConfig, &InofWhitelistConfig::on>("on", kBool),
};
constexpr std::array kZoneKeys{
    row<InofZoneConfig, &InofZoneConfig::name>(
        "name", Rule(valid_zone,
                     "1 to 31 letters, digits, '_', '-' and '.', not \"default\", which is always there")),
};
constexpr std::array kAllowKeys{
    row<InofAllowConfig, &InofAllowConfig::port>("port", kIfname),
};
constexpr std::array kGroupKeys{
    row<PortGroup, &PortGroup::name>("name", Rule(valid_instance, kNameForm)),
};
constexpr std::array kHookKeys{
    row<HookRule, &HookRule::group>("group", Rule(valid_instance, "the name of a port group"),
                                    [](const HookRule& r) { return !r.group.empty(); }),
    row<HookRule, &HookRule::to_dscp>("to_dscp", integer(0, kDscps - 1)),
    row<HookRule, &HookRule::dot1p>("dot1p", integer(0, kTcs - 1)),
    row<HookRule, &HookRule::tc>("tc", integer(0, kTcs - 1)),
};
constexpr std::array kWatchdogKeys{
    row<WatchdogConfig, &WatchdogConfig::on>("on", kBool),
    row<WatchdogConfig, &WatchdogConfig::detection_ms>("detection_ms", integer(100, 5000)),
    row<WatchdogConfig, &WatchdogConfig::recovery_ms>("recovery_ms", integer(100, 60'000)),
    row<WatchdogConfig, &WatchdogConfig::poll_ms>("poll_ms", integer(10, 5000)),
    row<WatchdogConfig, &WatchdogConfig::action>("action", Rule(kActions)),
    row<WatchdogConfig, &WatchdogConfig::mode>("mode", Rule(kModes)),
    row<WatchdogConfig, &WatchdogConfig::trigger_limit>("trigger_limit", integer(0, 100)),
    row<WatchdogConfig, &WatchdogConfig::window_ms>("window_ms", integer(1000, 3'600'000)),
};
constexpr std::array kDcbxKeys{
    row<DcbxConfig, &DcbxConfig::on>("on", kBool),
    row<DcbxConfig, &DcbxConfig::version>("version", Rule(kDcbxVersions)),
    row<DcbxConfig, &DcbxConfig::ets_willing>("ets_willing", kBool),
    row<DcbxConfig, &DcbxConfig::pfc_willing>("pfc_willing", kBool),
    row<DcbxConfig, &DcbxConfig::app_willing>("app_willing", kBool),
    row<DcbxConfig, &DcbxConfig::advertise_ets>("advertise_ets", kBool),
    row<DcbxConfig, &DcbxConfig::advertise_pfc>("advertise_pfc", kBool),
    row<DcbxConfig, &DcbxConfig::advertise_app>("advertise_app", kBool),
};
constexpr std::array kAlarmKeys{
    row<PfcAlarmConfig, &PfcAlarmConfig::rx_raise_fps>("rx_raise_fps", kFrameRate),
    row<PfcAlarmConfig, &PfcAlarmConfig::rx_clear_fps>("rx_clear_fps", kFrameRate),
    row<PfcAlarmConfig, &PfcAlarmConfig::tx_raise_fps>("tx_raise_fps", kFrameRate),
    row<PfcAlarmConfig, &PfcAlarmConfig::tx_clear_fps>("tx_clear_fps", kFrameRate),
    row<PfcAlarmConfig, &PfcAlarmConfig::window_ms>("window_ms", integer(100, 60'000)),
    row<PfcAlarmConfig, &PfcAlarmConfig::hold_ms>("hold_ms", integer(0, 600'000)),
};
constexpr std::array<MapKey, 5> kMapKeys{{
    {"dot1p_tc", kTcs, kTcs - 1, true, [](PriorityMaps& m) -> std::span<std::uint8_t> { return m.dot1p_tc; }},
    {"dscp_dot1p", kDscps, kTcs - 1, false,
     [](PriorityMaps& m) -> std::span<std::uint8_t> { return m.dscp_dot1p; }},
    {"dscp_dscp", kDscps, kDscps - 1, false,
     [](PriorityMaps& m) -> std::span<std::uint8_t> { return m.dscp_dscp; }},
    {"dot1p_rewrite", kTcs, kTcs - 1, true,
     [](PriorityMaps& m) -> std::span<std::uint8_t> { return m.dot1p_rewrite; }},
    {"dscp_rewrite", kTcs, kDscps - 1, true,
     [](PriorityMaps& m) -> std::span<std::uint8_t> { return m.dscp_rewrite; }},
}};

template <class T>
void list_keys(std::vector<KeyInfo>& out, const std::string& prefix) {
  for (const Key<T>& k : keys<T>()) out.push_back({prefix + std::string(k.name), allowed(k.rule)});
}

void list_maps(std::vector<KeyInfo>& out, const std::string& prefix) {
  for (const MapKey& m : map_keys()) out.push_back({prefix + std::string(m.name), allowed(m)});
}

void list_queues(std::vector<KeyInfo>& out, const std::string& prefix) {
  list_keys<QueueConfig>(out, prefix);
  list_keys<EcnConfig>(out, prefix + "ecn.");
  list_keys<PfcConfig>(out, prefix + "pfc.");
  list_keys<IpccConfig>(out, prefix + "ipcc.");
}

}  // namespace

template <>
std::span<const Key<Config>> keys() {
  return kTopKeys;
}
template <>
std::span<const Key<ApiConfig>> keys() {
  return kApiKeys;
}
template <>
std::span<const Key<BufferConfig>> keys() {
  return kBufferKeys;
}
template <>
std::span<const Key<IpccConfig>> keys() {
  return kIpccKeys;
}
template <>
std::span<const Key<RoceConfig>> keys() {
  return kRoceKeys;
}
template <>
std::span<const Key<LldpConfig>> keys() {
  return kLldpKeys;
}
template <>
std::span<const Key<EcnOverlayConfig>> keys() {
  return kEcnOverlayKeys;
}
template <>
std::span<const Key<DcqcnConfig>> keys() {
  return kDcqcnKeys;
}
template <>
std::span<const Key<InofHostConfig>> keys() {
  return kInofHostKeys;
}
template <>
std::span<const Key<DcbConfig>> keys() {
  return kDcbKeys;
}
template <>
std::span<const Key<EcmpConfig>> keys() {
  return kEcmpKeys;
}
template <>
std::span<const Key<Application>> keys() {
  return kApplicationKeys;
}
template <>
std::span<const Key<BfdSettings>> keys() {
  return kBfdKeys;
}
template <>
std::span<const Key<BfdProfile>> keys() {
  return kBfdProfileKeys;
}
template <>
std::span<const Key<BfdPeerConfig>> keys() {
  return kBfdPeerKeys;
}
template <>
std::span<const Key<BgpConfig>> keys() {
  return kBgpKeys;
}
template <>
std::span<const Key<BgpNeighborConfig>> keys() {
  return kBgpNeighborKeys;
}
template <>
std::span<const Key<BgpFilterConfig>> keys() {
  return kBgpFilterKeys;
}
template <>
std::span<const Key<BgpFilterRule>> keys() {
  return kBgpFilterRuleKeys;
}
template <>
std::span<const Key<KeyChainConfig>> keys() {
  return kKeyChainKeys;
}
template <>
std::span<const Key<net::TcpKey>> keys() {
  return kTcpKeyKeys;
}
template <>
std::span<const Key<PortConfig>> keys() {
  return kPortKeys;
}
template <>
std::span<const Key<QueueConfig>> keys() {
  return kQueueKeys;
}
template <>
std::span<const Key<EcnConfig>> keys() {
  return kEcnKeys;
}
template <>
std::span<const Key<PfcConfig>> keys() {
  return kPfcKeys;
}
template <>
std::span<const Key<WatchdogConfig>> keys() {
  return kWatchdogKeys;
}
template <>
std::span<const Key<PfcAlarmConfig>> keys() {
  return kAlarmKeys;
}

template <>
std::span<const Key<InofConfig>> keys() {
  return kInofKeys;
}
template <>
std::span<const Key<InofWhitelistConfig>> keys() {
  return kWhitelistKeys;
}
template <>
std::span<const Key<InofZoneConfig>> keys() {
  return kZoneKeys;
}
template <>
std::span<const Key<InofAllowConfig>> keys() {
  return kAllowKeys;
}

std::string allowed(const RangesKey& key) {
  return "an array of up to " + std::to_string(key.max) + " strings, each " + std::string(kRangeForm);
}
template <>
std::span<const Key<DcbxConfig>> keys() {
  return kDcbxKeys;
}
template <>
std::span<const Key<PortGroup>> keys() {
  return kGroupKeys;
}
template <>
std::span<const Key<HookRule>> keys() {
  return kHookKeys;
}

std::span<const MapKey> map_keys() { return kMapKeys; }

std::string allowed(const MapKey& key) {
  const std::string range = "0 to " + std::to_string(key.max);
  const std::string size = std::to_string(key.size);
  if (key.list) return "an array of " + size + " integers from " + range;
  return "a table of FROM = TO, with FROM from 0 to " + std::to_string(key.size - 1) +
         " and TO an integer from " + range;
}

std::vector<KeyInfo> known_keys() {
  std::vector<KeyInfo> out;
  list_keys<Config>(out, "");
  for_sections([&]<class Section>(std::string_view name, Section Config::*) {
    list_keys<Section>(out, std::string(name) + ".");
  });
  list_keys<BfdProfile>(out, "bfd_profile.");
  list_keys<BfdPeerConfig>(out, "bfd_peer.");
  list_maps(out, "maps.");
  list_queues(out, "queue.TC.");
  list_keys<WatchdogConfig>(out, "watchdog.");
  list_keys<PfcAlarmConfig>(out, "pfc_alarm.");
  list_keys<DcbxConfig>(out, "dcbx.");
  list_keys<PortConfig>(out, "port.");
  list_keys<InofConfig>(out, "inof.");
  list_keys<InofZoneConfig>(out, "inof.zone.");
  out.push_back({"inof.zone.hosts", allowed(kHostsKey)});
  list_keys<InofWhitelistConfig>(out, "inof.whitelist.");
  out.push_back({"inof.whitelist.exceptions", "an array of interface names"});
  list_keys<InofAllowConfig>(out, "inof.whitelist.allow.");
  out.push_back({"inof.whitelist.allow.hosts", allowed(kHostsKey)});
  list_keys<Application>(out, "application.");
  list_keys<BgpNeighborConfig>(out, "bgp_neighbor.");
  list_keys<BgpFilterConfig>(out, "bgp_filter.");
  list_keys<BgpFilterRule>(out, "bgp_filter.rule.");
  list_keys<KeyChainConfig>(out, "key_chain.");
  list_keys<net::TcpKey>(out, "key_chain.key.");
  list_keys<PortGroup>(out, "port_group.");
  out.push_back({"port_group." + std::string(kGroupPorts), std::string(kGroupPortsAllowed)});
  list_keys<HookRule>(out, "hook_flow.");
  out.push_back({"hook_flow." + std::string(kHookDscps), std::string(kHookDscpsAllowed)});
  return out;
}

std::string_view to_string(Trust t) { return kTrusts[static_cast<std::size_t>(t)]; }
std::string_view to_string(Schedule s) { return kSchedules[static_cast<std::size_t>(s)]; }
std::string_view to_string(AppField f) { return kAppFields[static_cast<std::size_t>(f)]; }
std::string_view to_string(EcmpHash h) { return kEcmpHashes[static_cast<std::size_t>(h)]; }
std::string_view to_string(DcbxVersion v) { return kDcbxVersions[static_cast<std::size_t>(v)]; }
std::string_view to_string(LldpMode m) { return kLldpModes[static_cast<std::size_t>(m)]; }
std::string_view to_string(OverlayDscp d) { return kOverlayDscps[static_cast<std::size_t>(d)]; }
std::string_view to_string(CnpPer per) { return kCnpPers[static_cast<std::size_t>(per)]; }
std::string_view to_string(net::KeyAlgorithm a) { return kKeyAlgorithms[static_cast<std::size_t>(a)]; }
std::string_view to_string(BgpAction a) { return kBgpActions[static_cast<std::size_t>(a)]; }
std::string_view to_string(BgpRouteKind k) { return kBgpRouteKinds[static_cast<std::size_t>(k)]; }
std::string_view to_string(InofHook h) { return kInofHooks[static_cast<std::size_t>(h)]; }

}  // namespace lossless
