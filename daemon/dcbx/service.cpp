// SPDX-License-Identifier: Apache-2.0
#include "daemon/dcbx/service.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace lossless::dcbx {
namespace {

constexpr const char* kOwner = "dcbx";  // of the TLVs

void log_alarms(const std::string& port, const Alarms& before, const Alarms& now) {
  for (const auto& [alarm, what] : now)
    if (const auto known = before.find(alarm); known == before.end() || known->second != what)
      spdlog::warn("DCBX: port {}: {}: {}", port, to_string(alarm), what);
  for (const auto& [alarm, what] : before)
    if (!now.contains(alarm)) spdlog::info("DCBX: port {}: {} is over", port, to_string(alarm));
}

}  // namespace

DcbxService::DcbxService(port::PortService& ports, lldp::Agent& lldp) : ports_(ports), lldp_(lldp) {
  lldp_.subscribe([this](const lldp::Event& event) { on_lldp(event); });
  ports_.set_overlay([this](const PortConfig& wanted) { return overlay(wanted); });
}

PortConfig DcbxService::overlay(const PortConfig& wanted) const {
  const auto at = by_name_.find(wanted.name);
  if (at == by_name_.end()) return wanted;
  return operational_config(wanted, at->second.machine.operational());
}

void DcbxService::apply() {
  std::map<std::string, Port> before = std::exchange(by_name_, {});
  for (const port::Port& attached : ports_.ports()) {
    const std::string& name = attached.config.name;
    const auto& wanted = ports_.running().ports;
    const auto config = std::ranges::find(wanted, name, &PortConfig::name);
    if (config == wanted.end() || !config->dcbx.on || attached.state != port::PortState::Attached) continue;
    Port& port = by_name_[name];
    if (const auto known = before.find(name); known != before.end()) port = std::move(known->second);
    const Operational operational = port.machine.operational();
    const Alarms alarms = port.machine.alarms();
    port.machine.configure(config->dcbx, local_params(*config, apps_of(ports_.running().applications)),
                           attached.link.address);
    settle(name, operational, alarms);
    before.erase(name);
  }
  for (const auto& [name, port] : before) {
    lldp_.set_org_tlvs(name, kOwner, {});
    if (auto ok = ports_.apply_overlay(name); !ok) spdlog::error("DCBX: port {}: {}", name, ok.error());
  }
}

void DcbxService::on_lldp(const lldp::Event& event) {
  const auto at = by_name_.find(event.port.name);
  if (at == by_name_.end() || event.kind == lldp::EventKind::Refreshed) return;
  Machine& machine = at->second.machine;
  const Operational operational = machine.operational();
  const Alarms alarms = machine.alarms();
  const lldp::Packet& packet = event.neighbour.packet;
  const lldp::NeighbourKey from{.chassis = packet.chassis, .port = packet.port};
  if (event.kind == lldp::EventKind::New || event.kind == lldp::EventKind::Changed) {
    machine.heard(from, decode(packet.org), event.neighbour.source);
  } else {
    machine.gone(from);
  }
  settle(at->first, operational, alarms);
  if (machine.operational() != operational) changed_();
}

void DcbxService::settle(const std::string& name, const Operational& before, const Alarms& alarms_before) {
  Port& port = by_name_.at(name);
  lldp_.set_org_tlvs(name, kOwner, port.machine.tlvs());
  log_alarms(name, alarms_before, port.machine.alarms());
  const Operational& now = port.machine.operational();
  if (now != before) {
    ++port.changes;
    spdlog::info("DCBX: port {}: ETS by {}, PFC by {} (priorities {:#04x}), applications by {}", name,
                 to_string(now.ets), to_string(now.pfc), now.params.pfc, to_string(now.apps));
  }
  apply_to_port(name, port);
}

void DcbxService::apply_to_port(const std::string& name, Port& port) {
  const Status applied = ports_.apply_overlay(name);
  const std::string refused = applied ? "" : applied.error();
  if (!refused.empty() && refused != port.refused)
    spdlog::warn("DCBX: port {}: what was agreed on does not fit: {}", name, refused);
  port.refused = refused;
}

}  // namespace lossless::dcbx
