// SPDX-License-Identifier: Apache-2.0
#include "daemon/dcb/service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "daemon/core/nanos.h"
#include "daemon/core/wire.h"
#include "daemon/net/ethtool_io.h"

namespace lossless::dcb {
namespace {

constexpr std::uint64_t kMicrosecondNs = 1000;
// Some drivers ask their firmware for each counter.
constexpr std::uint64_t kCountEveryNs = 100 * kMillisecondNs;
constexpr std::size_t kFights = 5;
constexpr auto kFightsWithin = std::chrono::seconds(10);

std::string list(const std::vector<net::DcbFault>& faults) {
  std::string out;
  for (const net::DcbFault& fault : faults)
    out.append(out.empty() ? "" : "; ").append(net::to_string(fault.part)).append(" ").append(fault.text);
  return out;
}

}  // namespace

const DcbService::Port* DcbService::find(const std::string& name) const {
  const auto at = ports_.find(name);
  return at == ports_.end() ? nullptr : &at->second;
}

void DcbService::apply(const Config& config, const std::vector<port::Port>& ports) {
  const auto is_ours = [&](const Port& port) {
    return std::ranges::any_of(ports, [&](const port::Port& p) {
      return p.config.name == port.name && p.link.ifindex == port.ifindex &&
             p.state == port::PortState::Attached && p.config.dcb != DcbUse::Off;
    });
  };
  std::erase_if(ports_, [&](const auto& entry) {
    if (is_ours(entry.second)) return false;
    // A new interface of that name has settings of its own.
    const auto same_name =
        std::ranges::find(ports, entry.first, [](const port::Port& p) { return p.config.name; });
    if (same_name == ports.end() || same_name->link.ifindex == entry.second.ifindex) restore(entry.second);
    return true;
  });
  const bool all = config_ != config.dcb || applications_ != config.applications;
  config_ = config.dcb;
  applications_ = config.applications;
  for (const port::Port& from : ports) {
    if (from.state != port::PortState::Attached || from.config.dcb == DcbUse::Off) continue;
    const auto [at, is_new] = ports_.try_emplace(from.config.name);
    Port& port = at->second;
    if (!is_new && !all && port.config == from.config) continue;
    port.name = from.config.name;
    port.ifindex = from.link.ifindex;
    port.config = from.config;
    port.slot = from.slot;
    port.frame_bytes = longest_frame(from.link.mtu);
    bring(port);
  }
  restore_strangers();
}

// Interfaces that an earlier daemon changed and that this configuration leaves alone.
void DcbService::restore_strangers() {
  if (std::exchange(looked_for_strangers_, true)) return;
  for (const std::string& name : records_.interfaces())
    if (!ports_.contains(name))
      if (auto done = records_.restore(netlink_, name); !done)
        spdlog::warn("interface {}: DCB settings cannot go back to what they were: {}", name, done.error());
}

std::optional<std::string> DcbService::why_not(const PortConfig& port) {
  if (port.dcb != DcbUse::Required) return std::nullopt;
  const auto state = net::read_dcb_state(netlink_, port.name);
  if (!state || *state) return std::nullopt;
  return "dcb = \"required\", and the driver (" + net::driver_of(port.name) +
         ") has no DCB; allowed: \"auto\" or \"off\"";
}

Status DcbService::check(const Config& config) {
  std::string faults;
  for (const PortConfig& port : config.ports)
    if (const auto fault = why_not(port))
      faults.append(faults.empty() ? "" : "\n").append("port ").append(port.name).append(": ").append(*fault);
  if (faults.empty()) return {};
  return fail(faults);
}

net::DcbState DcbService::wanted_of(Port& port) const {
  const auto& agreed = port.config.applications;
  PortInput input{.port = port.config, .dcb = config_, .applications = agreed ? *agreed : applications_};
  input.frame_bytes = port.frame_bytes;
  input.withheld = port.withheld;
  if (const pfc::PortInfo* info = pfc_.port(port.slot))
    for (unsigned tc = 0; tc < kTcs; ++tc)
      if (info->plans[tc]) input.headroom_bytes[tc] = info->plans[tc]->headroom_bytes;
  port.left_out.clear();
  return wanted_state(input, *port.now, &port.left_out);
}

void DcbService::bring(Port& port) {
  port.withheld = pfc_.watchdogs().withheld(port.slot);
  net::DcbAnswers answers;
  auto state = net::read_dcb_state(netlink_, port.name, &answers);
  port.error = state ? "" : state.error();
  port.now = state ? std::move(*state) : std::nullopt;
  port.refused.clear();
  port.ignored.clear();
  port.let_be = false;
  if (!port.now) {
    if (!port.error.empty()) spdlog::warn("port {}: DCB: {}", port.name, port.error);
    return;
  }
  if (!port.original) {
    auto kept = records_.find(port.name, port.ifindex);
    port.original = kept ? net::state_of(*kept) : port.now;
    port.record = kept ? std::move(*kept)
                       : net::DcbRecord{.ifindex = port.ifindex, .parts = 0, .answers = std::move(answers)};
  }
  port.wanted = net::with_former(wanted_of(port), port.record.parts, *port.original);
  write(port);
}

// Before a part is changed for the first time.
void DcbService::keep_record(Port& port) {
  const auto parts = static_cast<net::DcbParts>(port.record.parts | net::parts_of(port.wanted));
  if (parts == port.record.parts) return;
  port.record.parts = parts;
  if (auto kept = records_.keep(port.name, port.record); !kept)
    spdlog::warn("port {}: DCB settings will not go back to what they are after a restart: {}", port.name,
                 kept.error());
}

// Parts that need no change are not touched: writing some of them takes the link down for a moment.
void DcbService::write(Port& port) {
  if (net::differences(*port.now, port.wanted).empty() && !port.now->firmware_managed()) return;
  port.refused.clear();
  keep_record(port);
  auto done = net::apply_dcb(netlink_, port.name, *port.now, port.wanted);
  if (!done) {
    port.refused = std::move(done.error());
    spdlog::warn("port {}: DCB settings are left as they are: {}", port.name, list(port.refused));
    if (auto state = net::read_dcb_state(netlink_, port.name); state && *state) port.now = **state;
    return;
  }
  port.writes += done->writes;
  port.now = std::move(done->state);
  port.ignored = std::move(done->ignored);
  spdlog::info("port {}: DCB: {} requests to the driver", port.name, done->writes);
  if (!port.ignored.empty())
    spdlog::warn("port {}: DCB: the driver took these without an error and did not do them: {}", port.name,
                 list(port.ignored));
}

// Notifications of our own writes come here as well: then all is as it was read back.
void DcbService::changed(const std::string& interface, Clock::time_point now) {
  const auto at = ports_.find(interface);
  if (at == ports_.end() || !at->second.now) return;
  Port& port = at->second;
  auto state = net::read_dcb_state(netlink_, interface);
  if (!state || !*state || net::same_settings(**state, *port.now)) return;
  port.last_foreign = list(net::differences(**state, *port.now));
  port.last_foreign_at = now;
  ++port.foreign_changes;
  port.now = std::move(**state);
  spdlog::warn("port {}: another program changed DCB settings: {}", port.name, port.last_foreign);
  if (!config_.put_back || !port.refused.empty() || port.let_be) return;
  while (!port.fights.empty() && now - port.fights.front() > kFightsWithin) port.fights.pop_front();
  if (port.fights.size() >= kFights) {
    port.let_be = true;
    spdlog::error("port {}: another program insists on its DCB settings; they are let be until a reload",
                  port.name);
    return;
  }
  port.fights.push_back(now);
  ++port.put_back;
  write(port);
}

void DcbService::restore(const Port& port) {
  if (!port.original || !port.now || port.record.parts == 0) return;  // nothing was changed
  records_.forget(port.name);
  const auto now = net::read_dcb_state(netlink_, port.name);
  if (!now || !*now) return;  // the interface is gone
  const net::DcbState before = net::only_parts(*port.original, port.record.parts);
  if (auto done = net::apply_dcb(netlink_, port.name, **now, before); !done)
    spdlog::warn("port {}: DCB settings cannot go back to what they were: {}", port.name, list(done.error()));
}

void DcbService::count(Port& port, std::uint64_t now_ns) {
  if (now_ns - port.counted_ns < kCountEveryNs) return;
  net::PfcCounters found = net::find_pfc_counters(net::driver_counters(port.name));
  if (!found.frames) {
    const auto state = net::read_dcb_state(netlink_, port.name);
    if (!state || !*state || !(*state)->pfc) return;
    found.rx = (*state)->pfc->indications;
    found.tx = (*state)->pfc->requests;
  }
  pfc::HardwarePfc total;
  const std::uint64_t passed = port.counted_ns ? now_ns - port.counted_ns : 0;
  for (unsigned priority = 0; priority < net::kPriorities; ++priority) {
    const unsigned tc = port.config.maps.dot1p_tc[priority];
    total.rx_frames[tc] += found.rx[priority];
    total.tx_frames[tc] += found.tx[priority];
    total.paused_ns[tc] += found.rx_duration_us[priority] * kMicrosecondNs;
  }
  for (unsigned tc = 0; port.counted && tc < kTcs; ++tc) {
    const bool asked = total.rx_frames[tc] > port.counted->rx_frames[tc];
    // A driver that does not say for how long: a peer that repeats its frames stops us all the time.
    if (!found.durations) total.paused_ns[tc] = port.counted->paused_ns[tc] + (asked ? passed : 0);
    if (asked || total.paused_ns[tc] > port.counted->paused_ns[tc])
      total.paused = static_cast<pfc::TcMask>(total.paused | 1U << tc);
  }
  port.counted = total;
  port.counted_ns = now_ns;
  pfc_.set_hardware(port.slot, total);
}

void DcbService::poll(std::uint64_t now_ns) {
  for (auto& [name, port] : ports_) {
    if (!port.now || !(port.now->pfc || port.now->cee)) continue;
    count(port, now_ns);
    const std::uint8_t withheld = pfc_.watchdogs().withheld(port.slot);
    if (withheld == port.withheld || port.let_be) continue;
    port.withheld = withheld;
    port.wanted = net::with_former(wanted_of(port), port.record.parts, *port.original);
    write(port);
  }
}

void DcbService::leave() {
  for (auto& [name, port] : ports_) restore(port);
  ports_.clear();
}

void DcbService::refresh() {
  for (auto& [name, port] : ports_) {
    if (!port.now) continue;
    auto state = net::read_dcb_state(netlink_, name);
    if (state && *state && (*state)->pfc && port.now->pfc) {
      port.now->pfc->requests = (*state)->pfc->requests;
      port.now->pfc->indications = (*state)->pfc->indications;
    }
  }
}

}  // namespace lossless::dcb
