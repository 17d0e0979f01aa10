// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/switch_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "daemon/inof/state_io.h"
#include "daemon/inof/switch_rows.h"

namespace lossless::inof {
namespace {

std::vector<std::uint8_t> bytes_of(const ll_allow_key& key) {
  std::vector<std::uint8_t> out(sizeof key);
  std::memcpy(out.data(), &key, sizeof key);
  return out;
}

ll_allow_key key_of(const std::vector<std::uint8_t>& bytes) {
  ll_allow_key key{};
  std::memcpy(&key, bytes.data(), sizeof key);
  return key;
}

// The iNOF TLV of an LLDPDU; the first, should there be several.
const lldp::OrgTlv* find_tlv(const lldp::Packet& packet) {
  const auto at =
      std::ranges::find_if(packet.org, [](const lldp::OrgTlv& tlv) { return dialect_of(tlv).has_value(); });
  return at == packet.org.end() ? nullptr : &*at;
}

}  // namespace

Micros SwitchService::now() {
  return std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now().time_since_epoch());
}

SwitchService::SwitchService(asio::io_context& loop, port::PortService& ports, lldp::Agent& lldp,
                             const std::string& instance)
    : ports_(ports),
      timer_(loop),
      frames_(loop, [this](const net::PortRef& port, ByteView frame) { on_frame(port, frame); }),
      state_path_(state_file(instance)),
      keeper_(loop, restart::Kind::Inof) {
  lldp.subscribe([this](const lldp::Event& event) { on_lldp(event); });
  for (const ll_allow_key& key : ports_.maps().zone_allow.keys()) allow_rows_.insert(bytes_of(key));
}

InofConfig SwitchService::kept_or(const InofConfig& config) const {
  InofConfig running = config;
  if (config.on && config.keep_changes) {
    const auto kept = read_state(state_path_);
    if (!kept) spdlog::error("iNOF: what was kept of changes at run time is not used: {}", kept.error());
    if (kept && *kept) {
      running.zones = (*kept)->zones;
      running.default_zone = (*kept)->default_zone;
      running.hard_zoning = (*kept)->hard_zoning;
      spdlog::info("iNOF: zones and switches as changed at run time, from {}", state_path_);
    }
  }
  return running;
}

void SwitchService::start(const InofConfig& config, restart::NamedFds& inherited) {
  file_ = config;
  // Hosts that an earlier daemon knew keep their rows until they would have been heard again.
  drop_rows_at_ = now() + std::chrono::seconds(config.age_s);
  read_inherited(config, inherited);
  if (!inherited_) return configure(kept_or(config));
  configure(*parse_inof(inherited_->state.running, "saved state"));
}

void SwitchService::reload(const InofConfig& config) {
  remove_state(state_path_);
  file_ = config;
  configure(config);
  apply_ports();
}

void SwitchService::configure(const InofConfig& config) {
  switch_.configure(config, now());
  if (!config.on) drop_rows_at_ = now();
  set_guards();
  carry_out();
}

void SwitchService::set_guards() {
  const auto guard = [this](const std::string& port) { return guard_of(switch_.config(), port); };
  if (auto ok = ports_.set_guard(guard); !ok) spdlog::error("iNOF: {}", ok.error());
}

std::expected<bool, std::string> SwitchService::changed() {
  set_guards();
  carry_out();
  if (!switch_.config().keep_changes) return false;
  if (auto written = write_state(state_path_, switch_.running()); !written)
    return std::unexpected("the change is in force but will not outlast a restart: " + written.error());
  return true;
}

void SwitchService::apply_ports() {
  std::vector<net::PortRef> open;
  std::map<int, PortId> before = std::exchange(port_ids_, {});
  ifindexes_.clear();
  for (const port::Port& port : ports_.ports()) {
    if (!switch_.config().on || port.state != port::PortState::Attached) continue;
    port_ids_[port.link.ifindex] = port.slot;
    ifindexes_[port.slot] = port.link.ifindex;
    open.push_back(net::ref_of(port.link));
  }
  for (const auto& [ifindex, id] : before)
    if (!ifindexes_.contains(id)) switch_.remove_port(id, now());
  if (auto ok = frames_.open_only(open); !ok) spdlog::error("iNOF: {}", ok.error());
  for (const port::Port& port : ports_.ports())
    if (ifindexes_.contains(port.slot)) switch_.set_port(port.slot, port.config.name, port.link.up, now());
  write_allow_rows();
  carry_out();
}

PortId SwitchService::port_id(int ifindex) const {
  const auto at = port_ids_.find(ifindex);
  return at == port_ids_.end() ? kNoPort : at->second;
}

void SwitchService::link_changed(int ifindex, bool up) {
  const PortId id = port_id(ifindex);
  if (id == kNoPort) return;
  switch_.set_port(id, switch_.port_name(id), up, now());
  carry_out();
}

void SwitchService::pfc_deadlock(const std::string& port, unsigned tc, bool on) {
  const port::Port* known = ports_.find(port);
  if (!known || !switch_.config().on) return;
  switch_.pfc_deadlock(known->slot, tc, on, now());
  carry_out();
}

void SwitchService::remote_config(RemoteConfig config) {
  switch_.set_remote_config(std::move(config));
  set_guards();
  carry_out();
}

void SwitchService::leave() { remove_state(state_path_); }

void SwitchService::on_lldp(const lldp::Event& event) {
  const PortId id = port_id(event.port.ifindex);
  if (id == kNoPort || event.kind == lldp::EventKind::LinkDown) return;
  const lldp::Packet& packet = event.neighbour.packet;
  const bool gone = event.kind == lldp::EventKind::Aged || event.kind == lldp::EventKind::Shutdown;
  const lldp::OrgTlv* tlv = gone ? nullptr : find_tlv(packet);
  if (!tlv) {
    const Reason reason = event.kind == lldp::EventKind::Aged ? Reason::LldpTimeout : Reason::Normal;
    switch_.goodbye(id, packet.chassis, packet.port, reason, now());
    return carry_out();
  }
  auto host = decode_host(*tlv);
  if (!host) {
    ++counters_.bad_tlvs;
    spdlog::debug("iNOF: port {}: TLV refused: {}", event.port.name, to_string(host.error()));
    return;
  }
  switch_.announced({.port = id, .chassis = packet.chassis, .port_id = packet.port, .tlv = std::move(*host)},
                    now());
  carry_out();
}

void SwitchService::on_frame(const net::PortRef& port, ByteView frame) {
  const PortId id = port_id(port.ifindex);
  if (id == kNoPort) return;
  const auto status = decode_frame(frame);
  if (!status) {
    ++counters_.bad_frames;
    spdlog::debug("iNOF: port {}: frame refused: {}", port.name, to_string(status.error()));
    return;
  }
  switch_.frame(id, *status, now());
  carry_out();
}

void SwitchService::send(const OutFrame& frame) {
  const auto at = ifindexes_.find(frame.port);
  const net::PortRef* port = at == ifindexes_.end() ? nullptr : frames_.find(at->second);
  if (!port) return;
  const Bytes bytes = encode_frame(frame.dialect, port->mac, frame.messages);
  // What is lost here is repeated like what is lost on the wire.
  if (auto ok = frames_.send(port->ifindex, bytes); !ok) {
    ++counters_.frames_failed;
    spdlog::debug("iNOF: {}", ok.error());
  }
}

void SwitchService::log(const HostChange& change) const {
  const bool alarm = change.state == HostState::Denied || change.state == HostState::Conflict ||
                     change.state == HostState::Damped || change.state == HostState::Deadlock;
  spdlog::log(alarm ? spdlog::level::warn : spdlog::level::info, "iNOF: host {} on {}: {}{}{}",
              to_string(change.address), change.local ? switch_.port_name(change.port) : "another switch",
              to_string(change.state),
              change.state == HostState::Online ? "" : ", " + to_string(change.reason),
              change.why.empty() ? "" : ": " + change.why);
}

void SwitchService::carry_out() {
  keeper_.begin();
  const Switch::Actions actions = switch_.take(now());
  for (const OutFrame& frame : actions.frames) send(frame);
  for (const IpAddress& address : actions.rows) write_row(address);
  for (const HostChange& change : actions.changes) log(change);
  schedule();
  keeper_.end(true);
}

// The bitmap is there before the row that needs it, and gone after.
void SwitchService::write_row(const IpAddress& address) {
  const Maps& maps = ports_.maps();
  const ll_zone_key key = zone_key(address);
  const auto wanted = switch_.config().on ? switch_.row(address) : std::nullopt;
  if (!wanted) {
    maps.zone_hosts.erase(key);
    maps.zone_bits.erase(key);
    return;
  }
  const ZoneRow row = zone_row(*wanted);
  Status ok;
  if (row.bits) ok = maps.zone_bits.set(key, *row.bits);
  if (ok) ok = maps.zone_hosts.set(key, row.host);
  if (!row.bits) maps.zone_bits.erase(key);
  if (!ok) spdlog::error("iNOF: {}: {}", to_string(address), ok.error());
}

void SwitchService::write_allow_rows() {
  std::set<std::vector<std::uint8_t>> wanted;
  if (switch_.config().on && switch_.config().whitelist.on)
    for (const port::Port& port : ports_.ports())
      for (const ll_allow_key& key : allow_rows(switch_.config().whitelist, port.config.name, port.slot))
        wanted.insert(bytes_of(key));
  const auto& map = ports_.maps().zone_allow;
  for (const auto& key : wanted)
    if (!allow_rows_.contains(key))
      if (auto ok = map.set(key_of(key), 1); !ok) spdlog::error("iNOF: white list: {}", ok.error());
  for (const auto& key : allow_rows_)
    if (!wanted.contains(key)) map.erase(key_of(key));
  allow_rows_ = std::move(wanted);
}

void SwitchService::drop_old_rows() {
  drop_rows_at_ = {};
  const Maps& maps = ports_.maps();
  std::set<std::vector<std::uint8_t>> wanted;
  const auto bytes = [](const ll_zone_key& key) {
    return std::vector<std::uint8_t>(key.byte, key.byte + sizeof key.byte);
  };
  if (switch_.config().on)
    for (const IpAddress& address : switch_.row_addresses()) wanted.insert(bytes(zone_key(address)));
  for (const ll_zone_key& key : maps.zone_hosts.keys())
    if (!wanted.contains(bytes(key))) maps.zone_hosts.erase(key);
  for (const ll_zone_key& key : maps.zone_bits.keys())
    if (!wanted.contains(bytes(key))) maps.zone_bits.erase(key);
}

void SwitchService::schedule() {
  auto due = switch_.due(now());
  if (drop_rows_at_ != Micros{}) due = due ? std::min(*due, drop_rows_at_) : drop_rows_at_;
  std::optional<std::chrono::steady_clock::time_point> at;
  if (due) at.emplace(std::chrono::duration_cast<std::chrono::steady_clock::duration>(*due));
  timer_.set(at, [this] {
    if (drop_rows_at_ != Micros{} && now() >= drop_rows_at_) drop_old_rows();
    switch_.advance(now());
    carry_out();
  });
}

}  // namespace lossless::inof
