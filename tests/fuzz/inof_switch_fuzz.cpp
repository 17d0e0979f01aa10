// SPDX-License-Identifier: Apache-2.0
// The iNOF switch under any sequence of events, and the parser of storage traffic under any bytes. What must
// hold always: an address has one online host, tables stay within their limits, every frame that goes out is
// one that hosts take.
#include <array>
#include <cstdlib>

#include "bpf/stages/zone.h"
#include "tests/unit/inof_sim.h"

namespace lossless::inof::test {
namespace {

constexpr unsigned kPorts = 3;
constexpr std::size_t kMaxPerPort = 6;

void require(bool holds) {
  if (!holds) std::abort();
}

IpAddress address(std::uint8_t n) {
  return n & 0x80 ? ip("fd00::" + std::to_string(n % 8)) : ip("10.0.0." + std::to_string(n % 8));
}

void check(const Sim& sim) {
  const Hosts& hosts = sim.sw.hosts();
  std::map<IpAddress, unsigned> online;
  for (HostId id = 0; id < hosts.end(); ++id) {
    const Host& host = hosts.at(id);
    if (!host.used) continue;
    if (host.online()) require(++online[host.tlv.address] == 1);
    for (const Membership& m : host.zones) require(hosts.members(m.zone)[m.place] == id);
    require(!host.online() || host.present);
  }
  for (PortId port = 0; port < kPorts; ++port) require(hosts.on_port(port).size() <= kMaxPerPort);
}

// One event of four bytes.
void act(Sim& sim, std::uint8_t what, std::uint8_t a, std::uint8_t b, std::uint8_t c) {
  const PortId port = a % kPorts;
  Announcement host;
  host.port = port;
  host.chassis = {lldp::kChassisMac, {2, 0, 0, 0, 0, static_cast<std::uint8_t>(b % 8)}};
  host.port_id = {lldp::kPortInterfaceName, {'e'}};
  host.tlv = {.dialect = c & 1 ? Dialect::Odcc : Dialect::ChinaMobile,
              .address = address(c),
              .subscribes = (c & 2) != 0,
              .service = std::nullopt};
  const AddressRange range{std::min(address(b), address(c)), std::max(address(b), address(c))};
  const std::string zone = "z" + std::to_string(a % 4);
  switch (what % 13) {
    case 0:
    case 1:
    case 2:
      return sim.sw.announced(host, sim.now);
    case 3:
      return sim.sw.goodbye(port, host.chassis, host.port_id, Reason::Normal, sim.now);
    case 4:
      return sim.sw.set_port(port, "p" + std::to_string(port), (b & 1) != 0, sim.now);
    case 5:
      return sim.sw.pfc_deadlock(port, b, (c & 1) != 0, sim.now);
    case 6:
      return (void)sim.sw.add_zone(zone, sim.now);
    case 7:
      return (void)sim.sw.remove_zone(zone, sim.now);
    case 8:
      if (range.first.v6 == range.last.v6) (void)sim.sw.add_member(zone, range, sim.now);
      return;
    case 9:
      if (range.first.v6 == range.last.v6) (void)sim.sw.remove_member(zone, range, sim.now);
      return;
    case 10:
      return sim.sw.set_default_zone((a & 1) != 0, sim.now);
    case 11:
      return sim.sw.frame(port,
                          {.dialect = Dialect::Odcc,
                           .source = {},
                           .messages = {Ack{address(a), address(b), c}, QueryZone{address(c)}}},
                          sim.now);
    default:
      return sim.pass(std::chrono::milliseconds(b * 100));
  }
}

void run_switch(std::span<const std::uint8_t> data) {
  InofConfig config;
  config.max_hosts_per_port = kMaxPerPort;
  Sim sim(config, kPorts);
  sim.mute.insert("10.0.0.1");
  for (; data.size() >= 4; data = data.subspan(4)) {
    act(sim, data[0], data[1], data[2], data[3]);
    for (const OutFrame& frame : sim.sw.take(sim.now).frames) {
      require(decode_frame(encode_frame(frame.dialect, Mac{2}, frame.messages)).has_value());
      sim.deliver(frame);
    }
    check(sim);
  }
}

void run_parser(std::span<const std::uint8_t> data) {
  if (data.empty()) return;  // a frame is somewhere, an empty vector is nowhere
  const std::vector<std::uint8_t> exact(data.begin(), data.end());  // so that a byte beyond is found
  ll_headers headers;
  ll_parse(exact.data(), exact.data() + exact.size(), &headers);
  if (headers.ip == 0) return;
  ll_flow flow{};
  ll_zone_parse(exact.data(), exact.data() + exact.size(), &headers, &flow);
  require(flow.storage <= 1 && flow.cut <= 1);
}

}  // namespace
}  // namespace lossless::inof::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  if (data[0] & 1) {
    lossless::inof::test::run_switch(rest.first(std::min<std::size_t>(rest.size(), 1024)));
  } else {
    lossless::inof::test::run_parser(rest);
  }
  return 0;
}
