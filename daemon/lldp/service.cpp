// SPDX-License-Identifier: Apache-2.0
#include "daemon/lldp/service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "daemon/lldp/machine_io.h"

namespace lossless::lldp {
namespace {

using std::chrono::steady_clock;

std::vector<net::Link> links_of(const std::vector<port::Port>& ports) {
  std::vector<net::Link> out;
  for (const port::Port& port : ports)
    if (port.state == port::PortState::Attached) out.push_back(port.link);
  return out;
}

}  // namespace

LldpService::LldpService(asio::io_context& loop, net::Netlink& netlink)
    : netlink_(netlink),
      timer_(loop),
      machine_(read_machine()),
      frames_(loop, {kEthertype}, {kNearestBridge, kNearestNonTpmrBridge, kNearestCustomerBridge},
              [this](const net::PortRef& port, ByteView frame) { on_frame(port, frame); }),
      agent_({}, [this](const net::PortRef& port, ByteView frame) {
        const auto sent = frames_.send(port.ifindex, frame);
        if (!sent) spdlog::debug("LLDP: {}", sent.error());
        return sent.has_value();
      }) {
  agent_.subscribe([this](const Event& event) { log_event(event); });
  agent_.on_limit([this](const net::PortRef& port, bool full) {
    if (full) {
      spdlog::warn("LLDP: port {} has {} neighbours, more are turned away (lldp.max_neighbors)", port.name,
                   config_.max_neighbors);
    } else {
      spdlog::info("LLDP: port {} has room for neighbours again", port.name);
    }
  });
  agent_.on_wake([this] { schedule(); });
}

void LldpService::log_event(const Event& event) const {
  if (event.kind == EventKind::Refreshed) return;
  const Packet& packet = event.neighbour.packet;
  spdlog::log(event.kind == EventKind::Changed ? spdlog::level::debug : spdlog::level::info,
              "LLDP: neighbour {} {} on port {}: {}", chassis_text(packet.chassis), port_text(packet.port),
              event.port.name, to_string(event.kind));
}

void LldpService::on_frame(const net::PortRef& port, ByteView frame) {
  agent_.receive(port.ifindex, frame, steady_clock::now());
  schedule();
}

void LldpService::apply(const Config& config, const std::vector<port::Port>& ports) {
  config_ = config.lldp;
  agent_.set_timing(timing_of(config_));
  if (!config_.enabled) return leave();
  open_ports(ports);
  tell_agent(ports);
  schedule();
}

// A port that is up in the agent must be able to send, so sockets open before and close after.
void LldpService::open_ports(const std::vector<port::Port>& ports) {
  std::vector<net::PortRef> wanted;
  for (const net::Link& link : links_of(ports)) wanted.push_back(net::ref_of(link));
  const auto now = steady_clock::now();
  std::vector<int> gone;  // of an interface that is no more, too: it cannot say goodbye
  for (const auto& [ifindex, state] : agent_.ports())
    if (std::ranges::find(wanted, ifindex, &net::PortRef::ifindex) == wanted.end()) gone.push_back(ifindex);
  for (const int ifindex : gone) agent_.remove_port(ifindex, now);
  if (auto opened = frames_.open_only(wanted); !opened) spdlog::error("LLDP: {}", opened.error());
}

void LldpService::tell_agent(const std::vector<port::Port>& ports) {
  const auto links = links_of(ports);
  chassis_ = choose_chassis(chassis_, links);
  agent_.set_system(describe_system(config_, machine_, chassis_, links));
  const auto addresses = net::list_addresses(netlink_);
  if (!addresses) spdlog::error("LLDP: {}", addresses.error());
  const auto known = addresses.value_or(std::vector<net::InterfaceAddress>{});
  const auto now = steady_clock::now();
  for (const port::Port& port : ports) {
    if (port.state != port::PortState::Attached) continue;
    if (port.link.up) {
      agent_.port_up(net::ref_of(port.link), port.config.lldp, describe_port(port.link, known), now);
    } else {
      agent_.port_down(port.link.ifindex, now);
    }
  }
}

void LldpService::leave() {
  std::vector<int> all;
  for (const auto& [ifindex, state] : agent_.ports()) all.push_back(ifindex);
  for (const int ifindex : all) agent_.remove_port(ifindex, steady_clock::now());
  (void)frames_.open_only({});
  timer_.cancel();
}

void LldpService::schedule() {
  timer_.set(agent_.next_deadline(), [this] {
    agent_.advance(steady_clock::now());
    schedule();
  });
}

}  // namespace lossless::lldp
