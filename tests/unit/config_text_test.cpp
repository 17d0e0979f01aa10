// SPDX-License-Identifier: Apache-2.0
// The way back from values to text: differences, and the complete file.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/core/config_keys.h"
#include "daemon/core/units.h"

namespace lossless {

// For messages of failed tests.
void PrintTo(const ConfigChange& c, std::ostream* out) {
  *out << c.path << ": '" << c.from << "' -> '" << c.to << "'";
}
void showValue(const Config& config, std::ostream& out) { out << to_toml(config); }

namespace {

using Changes = std::vector<ConfigChange>;

Config parse(const std::string& text) {
  const auto config = parse_config(text, "c.toml");
  if (!config) {
    for (const ConfigError& e : config.error()) ADD_FAILURE() << e.text();
    return {};
  }
  return *config;
}

constexpr const char* kBase = R"(
[[port]]
name = "eth0"
rate = "100mbit"
queue.3.ecn = { kmin = "50KB", kmax = "400KB", pmax = 0.2 }
[[port]]
name = "eth1"
)";

Changes diff(const std::string& from, const std::string& to) { return diff_config(parse(from), parse(to)); }

TEST(ConfigDiff, NothingChanged) { EXPECT_EQ(diff(kBase, kBase), Changes{}); }

TEST(ConfigDiff, ValuesAsTheFileWritesThem) {
  const Changes changes = diff(kBase, R"(
instance = "two"
api.socket = "/run/x\"y"
api.mode = "0600"
[[port]]
name = "eth0"
rate = "2.5gbit"
trust = "port"
priority = 4
maps.dscp_dot1p.26 = 4
maps.dot1p_tc = [0, 1, 2, 2, 4, 5, 6, 7]
maps.dscp_dscp.63 = 0
queue.3 = { lossless = true, limit = "3072B", ecn = { kmin = 0, kmax = 1024, pmax = 1.0, ewma = 3 } }
[[port]]
name = "eth1"
)");
  const Changes expected{
      {"instance", "\"default\"", "\"two\""},
      {"api.socket", "\"/run/lossless/default/api.sock\"", "\"/run/x\\\"y\""},
      {"api.mode", "\"0660\"", "\"0600\""},
      {"port.eth0.rate", "\"100mbit\"", "\"2500mbit\""},
      {"port.eth0.trust", "\"dscp\"", "\"port\""},
      {"port.eth0.priority", "0", "4"},
      {"port.eth0.maps.dot1p_tc.3", "3", "2"},
      {"port.eth0.maps.dscp_dot1p.26", "3", "4"},
      {"port.eth0.maps.dscp_dscp.63", "63", "0"},
      {"port.eth0.queue.3.lossless", "false", "true"},
      {"port.eth0.queue.3.limit", "\"1MB\"", "\"3KiB\""},
      {"port.eth0.queue.3.ecn.kmin", "\"50KB\"", "\"0B\""},
      {"port.eth0.queue.3.ecn.kmax", "\"400KB\"", "\"1KiB\""},
      {"port.eth0.queue.3.ecn.pmax", "0.2", "1.0"},
      {"port.eth0.queue.3.ecn.ewma", "0", "3"},
  };
  EXPECT_EQ(changes, expected);
}

TEST(ConfigDiff, AnAbsentSideIsEmpty) {
  const Changes changes = diff(kBase, R"(
[[port]]
name = "eth0"
queue.2.schedule = "strict"
[[port]]
name = "eth1"
)");
  const Changes expected{
      {"port.eth0.rate", "\"100mbit\"", "0"},         {"port.eth0.queue.2.schedule", "\"wrr\"", "\"strict\""},
      {"port.eth0.queue.2.group", "1", ""},           {"port.eth0.queue.2.weight", "10", ""},
      {"port.eth0.queue.3.ecn.kmin", "\"50KB\"", ""}, {"port.eth0.queue.3.ecn.kmax", "\"400KB\"", ""},
      {"port.eth0.queue.3.ecn.pmax", "0.2", ""},      {"port.eth0.queue.3.ecn.ewma", "0", ""},
  };
  EXPECT_EQ(changes, expected);
}

TEST(ConfigDiff, PortsAreMatchedByName) {
  const Changes changes = diff(kBase, R"(
[[port]]
name = "eth2"
[[port]]
name = "eth1"
priority = 1
)");
  const Changes expected{
      {"port.eth0",
       "{ rate = \"100mbit\", trust = \"dscp\", priority = 0, lldp = \"both\", ecn_overlay = true, weights = "
       "\"relative\", dcb = "
       "\"auto\", rewrite = \"off\", xdp = \"auto\" }",
       ""},
      {"port.eth1.priority", "0", "1"},
      {"port.eth2", "",
       "{ rate = 0, trust = \"dscp\", priority = 0, lldp = \"both\", ecn_overlay = true, weights = "
       "\"relative\", dcb = \"auto\", rewrite = \"off\", xdp = \"auto\" "
       "}"},
  };
  EXPECT_EQ(changes, expected);
}

TEST(ToToml, IsReadable) {
  const std::string text = to_toml(parse(kBase));
  EXPECT_TRUE(text.starts_with("instance = \"default\"\n")) << text;
  EXPECT_TRUE(text.contains(R"(
cell_bytes = 208

[api]
socket = "/run/lossless/default/api.sock"
owner = "root"
group = "root"
mode = "0660"

[buffer]

[lldp]
enabled = false
interval_s = 30
)")) << text;
  EXPECT_TRUE(text.contains(R"(
[[port]]
name = "eth0"
rate = "100mbit"
trust = "dscp"
priority = 0
lldp = "both"
ecn_overlay = true
weights = "relative"
dcb = "auto"
rewrite = "off"
xdp = "auto"
watchdog = { on = false, detection_ms = 200, recovery_ms = 400, poll_ms = 100, action = "drop", mode = "auto", trigger_limit = 10, window_ms = 60000 }
pfc_alarm = { rx_raise_fps = 0, rx_clear_fps = 0, tx_raise_fps = 0, tx_clear_fps = 0, window_ms = 1000, hold_ms = 2000 }
dcbx = { on = false, version = "auto", ets_willing = false, pfc_willing = false, app_willing = false, advertise_ets = true, advertise_pfc = true, advertise_app = true }
  [port.maps]
  dot1p_tc = [0, 1, 2, 3, 4, 5, 6, 7]
  dscp_dot1p = {}
  dscp_dscp = {}
  dot1p_rewrite = [0, 1, 2, 3, 4, 5, 6, 7]
  dscp_rewrite = [0, 8, 16, 24, 32, 40, 48, 56]
  [port.queue.0]
  lossless = false
  schedule = "wrr"
  group = 1
  weight = 10
  limit = "1MB"
  ecn = false
  pfc = false
  ipcc = false
)")) << text;
  EXPECT_NE(text.find("  ecn = { kmin = \"50KB\", kmax = \"400KB\", pmax = 0.2, ewma = 0 }\n"),
            std::string::npos)
      << text;
}

// --- any configuration at all

std::string word(std::string_view alphabet, std::size_t min, std::size_t max) {
  const auto size = *rc::gen::inRange<std::size_t>(min, max + 1);
  return *rc::gen::container<std::string>(size, rc::gen::elementOf(std::string(alphabet)));
}

std::string socket_path() {
  static const std::vector<std::string> kPieces{"a", "/", " ", "\"", "\\", "'", "é", "#", "\\u0041", "."};
  std::string path = "/";
  const auto pieces = *rc::gen::inRange<std::size_t>(0, 17);
  for (std::size_t i = 0; i < pieces; ++i) path += *rc::gen::elementOf(kPieces);
  return path + "s";
}

std::optional<EcnConfig> ecn_below(std::uint32_t limit) {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  EcnConfig ecn;
  ecn.kmax_bytes = *rc::gen::inRange<std::uint32_t>(1, limit);
  ecn.kmin_bytes = *rc::gen::inRange<std::uint32_t>(0, ecn.kmax_bytes);
  const auto dice = *rc::gen::inRange<std::uint64_t>(1, 1ULL << 53U);
  ecn.pmax = static_cast<double>(dice) / static_cast<double>(1ULL << 53U);
  if (*rc::gen::arbitrary<bool>())
    ecn.pmax = *rc::gen::elementOf(std::vector<double>{1.0, 5e-324, 1e-7, 0.1});
  ecn.ewma_shift = *rc::gen::inRange<unsigned>(0, 16);
  return ecn;
}

QueueConfig some_queue() {
  QueueConfig queue;
  queue.schedule = *rc::gen::element(Schedule::Strict, Schedule::Wrr);
  if (queue.schedule == Schedule::Wrr) {
    queue.group = *rc::gen::inRange<unsigned>(1, 3);
    queue.weight = *rc::gen::inRange<unsigned>(1, 101);
  }
  queue.limit_bytes = *rc::gen::inRange<std::uint32_t>(3000, 1'000'000'001);
  queue.lossless = *rc::gen::arbitrary<bool>();
  queue.ecn = ecn_below(queue.limit_bytes);
  if (*rc::gen::arbitrary<bool>())
    queue.max_rate_bps = *rc::gen::inRange<std::uint64_t>(1'000'000, 800'000'000'001);
  if (*rc::gen::arbitrary<bool>()) {
    queue.ipcc.emplace();
    queue.ipcc->high_bytes = *rc::gen::inRange<std::uint32_t>(0, queue.limit_bytes);
    queue.ipcc->few_bytes = *rc::gen::inRange<std::uint32_t>(0, 1'000'000);
    queue.ipcc->interval_us = *rc::gen::inRange<unsigned>(1, 1'000'001);
  }
  return queue;
}

// Mostly the default with a few entries changed, as files are.
template <std::size_t N>
void change_some(std::array<std::uint8_t, N>& map, unsigned below) {
  const auto changes = *rc::gen::inRange<int>(0, 5);
  for (int i = 0; i < changes; ++i)
    map[*rc::gen::inRange<std::size_t>(0, N)] = *rc::gen::inRange<std::uint8_t>(0, below);
}

PortConfig some_port(const std::string& name) {
  PortConfig port;
  port.name = name;
  const auto limited = *rc::gen::inRange<std::uint64_t>(1'000'000, 800'000'000'001);
  port.rate_bps = *rc::gen::element<std::uint64_t>(0, limited);
  port.trust = *rc::gen::element(Trust::Port, Trust::Dot1p, Trust::Dscp, Trust::Application);
  port.priority = *rc::gen::inRange<unsigned>(0, 8);
  port.lldp = *rc::gen::element(LldpMode::Off, LldpMode::Tx, LldpMode::Rx, LldpMode::Both);
  port.dcb = *rc::gen::element(DcbUse::Off, DcbUse::Auto, DcbUse::Required);
  port.xdp = *rc::gen::element(XdpMode::Off, XdpMode::Auto, XdpMode::Native);
  port.ecn_overlay = *rc::gen::arbitrary<bool>();
  port.maps = default_maps();
  change_some(port.maps.dot1p_tc, 8);
  change_some(port.maps.dscp_dot1p, 8);
  change_some(port.maps.dscp_dscp, 64);
  change_some(port.maps.dot1p_rewrite, 8);
  change_some(port.maps.dscp_rewrite, 64);
  port.rewrite = *rc::gen::element(Rewrite::Off, Rewrite::Dot1p, Rewrite::Dscp, Rewrite::Both);
  for (QueueConfig& queue : port.queues) queue = some_queue();
  if (find_dcb_fault(port)) port.dcb = DcbUse::Auto;
  return port;
}

LldpConfig some_lldp() {
  LldpConfig lldp;
  lldp.enabled = *rc::gen::arbitrary<bool>();
  lldp.interval_s = *rc::gen::inRange<unsigned>(1, 3601);
  lldp.max_neighbors = *rc::gen::inRange<unsigned>(1, 4097);
  lldp.system_name = word("ab \"\\.", 0, 20);
  return lldp;
}

InofHostConfig some_inof_host() {
  InofHostConfig host;
  host.dialect = *rc::gen::element(InofDialect::Odcc, InofDialect::ChinaMobile);
  host.role = *rc::gen::element(InofRole::Server, InofRole::Client, InofRole::Both);
  host.protocol = *rc::gen::element(InofProtocol::Roce, InofProtocol::Tcp, InofProtocol::Iscsi);
  host.port = *rc::gen::inRange<unsigned>(0, 65536);
  host.id = word("nq.:-019", 0, 223);
  host.program = "/" + word("abc/", 1, 10) + "x";
  host.hook = *rc::gen::element(InofHook::None, InofHook::Nvme, InofHook::Program);
  host.hook_retries = *rc::gen::inRange<unsigned>(0, 101);
  return host;
}

RoceConfig some_roce() {
  RoceConfig roce;
  roce.max_flows = *rc::gen::inRange<unsigned>(1024, 1'000'001);
  roce.age_s = *rc::gen::inRange<unsigned>(1, 86'401);
  roce.cnp_dscp = *rc::gen::inRange<unsigned>(0, 64);
  roce.cnp_tc = *rc::gen::inRange<unsigned>(0, 8);
  roce.cnp_limit = *rc::gen::inRange<unsigned>(1000, 10'000'001);
  return roce;
}

std::vector<AddressRange> some_hosts() {
  std::set<AddressRange> hosts;
  const auto count = *rc::gen::inRange<std::size_t>(0, 4);
  while (hosts.size() < count) {
    const std::string octet = std::to_string(*rc::gen::inRange(1, 200));
    const std::string text = *rc::gen::element("10.0.0." + octet, "10." + octet + ".0.0/16", "fd00::" + octet,
                                               "fd00:" + octet + "::/32", "10.1.1." + octet + "-10.1.1.230");
    hosts.insert(*parse_range(text));
  }
  return {hosts.begin(), hosts.end()};
}

InofConfig some_inof() {
  InofConfig inof;
  inof.dialects = *rc::gen::element(InofDialects::Both, InofDialects::Odcc, InofDialects::ChinaMobile);
  inof.age_s = *rc::gen::inRange<unsigned>(3, 3601);
  inof.default_zone = *rc::gen::arbitrary<bool>();
  inof.hard_zoning = *rc::gen::arbitrary<bool>();
  inof.block_initiators = *rc::gen::arbitrary<bool>();
  inof.keep_changes = *rc::gen::arbitrary<bool>();
  inof.whitelist.on = *rc::gen::arbitrary<bool>();
  std::set<std::string> names;
  const auto zones = *rc::gen::inRange<std::size_t>(0, 4);
  while (names.size() < zones) names.insert(word("abcAB019_-.", 1, 31));
  for (const std::string& name : names) inof.zones.push_back({name, some_hosts()});
  return inof;
}

// The white list names ports that need not be managed.
void allow_some(InofWhitelistConfig& list) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 3);
  for (std::size_t i = 0; i < count; ++i) {
    list.exceptions.push_back(word("abcde019", 3, 15));
    list.allow.push_back({word("abcde019", 3, 15), some_hosts()});
  }
}

// None is not the same as the default ones.
std::vector<Application> some_applications() {
  std::map<std::pair<AppField, unsigned>, unsigned> entries;
  const auto count = *rc::gen::inRange<std::size_t>(0, 4);
  while (entries.size() < count) {
    const auto field = *rc::gen::element(AppField::EtherType, AppField::Tcp, AppField::Udp, AppField::Port);
    entries[{field, *rc::gen::inRange<unsigned>(1, 65536)}] = *rc::gen::inRange<unsigned>(0, 8);
  }
  std::vector<Application> out;
  out.reserve(entries.size());
  for (const auto& [key, priority] : entries) out.push_back({key.first, key.second, priority});
  return out;
}

EcnOverlayConfig some_ecn_overlay() {
  return {.enabled = *rc::gen::arbitrary<bool>(),
          .port = *rc::gen::inRange<unsigned>(1, 65536),
          .carry_dscp = *rc::gen::element(OverlayDscp::None, OverlayDscp::Lossless, OverlayDscp::All)};
}

DcqcnConfig some_dcqcn() {
  DcqcnConfig dcqcn;
  dcqcn.enabled = *rc::gen::arbitrary<bool>();
  dcqcn.rp = *rc::gen::arbitrary<bool>();
  dcqcn.cnp_per = *rc::gen::element(CnpPer::Qp, CnpPer::Ip, CnpPer::Port);
  dcqcn.min_time_between_cnps_us = *rc::gen::inRange<unsigned>(0, 1'000'001);
  dcqcn.dce_tcp_g = 1U << *rc::gen::inRange<unsigned>(0, 10);
  dcqcn.rpg_byte_reset = *rc::gen::inRange<std::uint32_t>(0, 1'000'000'001);
  dcqcn.rpg_min_rate_bps = *rc::gen::inRange<std::uint64_t>(1'000'000, 1'000'000'000);
  return dcqcn;
}

BgpConfig some_bgp() {
  BgpConfig bgp;
  bgp.asn = *rc::gen::inRange<std::uint32_t>(1, UINT32_MAX);
  bgp.router_id = "10.0.0.1";
  bgp.on = *rc::gen::arbitrary<bool>();
  bgp.cluster_id = *rc::gen::element<std::string>("", "10.0.0.2");
  bgp.hold_s = *rc::gen::element(0U, 3U, 90U, 65535U);
  bgp.restart_s = *rc::gen::inRange(0U, 4096U);
  bgp.local_pref = *rc::gen::arbitrary<std::uint32_t>();
  return bgp;
}

std::vector<BgpNeighborConfig> some_bgp_neighbors() {
  std::vector<BgpNeighborConfig> out;
  for (const char* address : {"10.0.0.0/24", "10.0.0.7", "fd00::1"}) {
    if (*rc::gen::arbitrary<bool>()) continue;
    BgpNeighborConfig n{.address = address};
    n.asn = *rc::gen::element(0U, 1U, UINT32_MAX);
    n.client = *rc::gen::arbitrary<bool>();
    n.password = *rc::gen::element<std::string>("", "a \"quoted\" \\ secret");
    n.source = *rc::gen::element<std::string>("", "10.0.0.9");
    n.ttl_security = *rc::gen::inRange(0U, 255U);
    out.push_back(std::move(n));
  }
  return out;
}

Config some_config() {
  Config config;
  config.applications = some_applications();
  config.dcb.put_back = *rc::gen::arbitrary<bool>();
  config.dcb.buffers = *rc::gen::arbitrary<bool>();
  config.ecmp.hash = *rc::gen::element(EcmpHash::Keep, EcmpHash::L3, EcmpHash::L4, EcmpHash::Inner);
  config.instance = word("abcxyz019_-", 1, 32);
  config.api.socket = socket_path();
  config.api.owner = word("abcXYZ09_.", 1, 32);
  config.api.group = word("abcXYZ09_.", 1, 32);
  config.api.mode = *rc::gen::inRange<unsigned>(0, 01000);
  config.role = *rc::gen::element(SystemRole::Switch, SystemRole::Host);
  config.lldp = some_lldp();
  config.ecn_overlay = some_ecn_overlay();
  config.dcqcn = some_dcqcn();
  config.inof_host = some_inof_host();
  config.roce = some_roce();
  config.bgp = some_bgp();
  config.bgp_neighbors = some_bgp_neighbors();
  config.inof = some_inof();
  allow_some(config.inof.whitelist);
  std::set<std::string> names;
  const auto ports = *rc::gen::inRange<std::size_t>(1, 5);
  while (names.size() < ports) names.insert(word("abcde019.-_@\"\\", 3, 15));
  for (const std::string& name : names) config.ports.push_back(some_port(name));
  return config;
}

RC_GTEST_PROP(ToToml, ReadsBackAsTheSame, ()) {
  const Config config = some_config();
  const auto again = parse_config(to_toml(config), "again");
  if (!again) RC_FAIL(again.error().front().text() + "\n" + to_toml(config));
  RC_ASSERT(*again == config);
}

RC_GTEST_PROP(ConfigDiff, IsEmptyExactlyForEqualOnes, ()) {
  const Config from = some_config();
  Config to = from;
  RC_ASSERT(diff_config(from, to).empty());
  const auto port = *rc::gen::inRange<std::size_t>(0, to.ports.size());
  to.ports[port] = some_port(to.ports[port].name);
  RC_ASSERT(diff_config(from, to).empty() == (from == to));
}

// A difference read backwards is the difference of the two the other way round.
RC_GTEST_PROP(ConfigDiff, IsSymmetric, ()) {
  const Config from = some_config();
  Config to = some_config();
  to.ports.front() = some_port(from.ports.front().name);
  Changes forth = diff_config(from, to);
  Changes back = diff_config(to, from);
  for (ConfigChange& c : back) std::swap(c.from, c.to);
  const auto by_path = [](const ConfigChange& a, const ConfigChange& b) { return a.path < b.path; };
  std::ranges::sort(forth, by_path);
  std::ranges::sort(back, by_path);
  RC_ASSERT(forth == back);
}

}  // namespace
}  // namespace lossless
