// SPDX-License-Identifier: Apache-2.0
// The switch's state for the next process, and there.
#include <algorithm>
#include <map>
#include <utility>

#include "daemon/inof/switch.h"

namespace lossless::inof {

SavedSwitch Switch::save() const {
  SavedSwitch out;
  out.running = to_toml(running());
  for (HostId id = 0; id < hosts_.end(); ++id) {
    const Host& host = hosts_.at(id);
    if (!host.used || !host.key.local()) continue;
    out.hosts.push_back({.port = port_name(host.key.port),
                         .chassis = host.key.chassis,
                         .port_id = host.key.port_id,
                         .tlv = host.tlv,
                         .state = host.state,
                         .reason = host.reason,
                         .why = host.why,
                         .present = host.present,
                         .heard = host.heard,
                         .changed = host.changed,
                         .damping = host.damping,
                         .subscriber = notifier_.save(id)});
  }
  return out;
}

void Switch::restore_host(const SavedHost& saved, PortId port, bool current, Micros now) {
  HostKey key{.port = port, .origin = 0, .chassis = saved.chassis, .port_id = saved.port_id};
  if (hosts_.find(key) != kNoHost || hosts_.size() >= kMaxHosts) return;
  const HostId id = hosts_.add(std::move(key));
  Host& host = hosts_.at(id);
  host.tlv = saved.tlv;
  host.attached = std::make_shared<const Bytes>(attached_of(saved.tlv));
  host.state = saved.state;
  host.reason = saved.reason;
  host.why = saved.why;
  host.changed = saved.changed;
  host.damping = saved.damping;
  hosts_.file(id);
  hosts_.set_zones(id, zones_of(saved.tlv.address));
  if (saved.present) hosts_.heard(id, std::min(saved.heard, now));
  if (host.damping.held(now)) releases_.push({host.damping.release(), id});
  if (saved.subscriber)
    notifier_.restore(id, port, saved.tlv.dialect, saved.tlv.address, *saved.subscriber, current, now);
  touch(host);
}

void Switch::restore(const SavedSwitch& saved, bool current, Micros now) {
  std::map<std::string, PortId, std::less<>> by_name;
  for (PortId port = 0; port < ports_.size(); ++port)
    if (ports_[port].known) by_name[ports_[port].name] = port;
  // Those of a port that is gone are on one that goes at the end, so that others hear of it.
  const auto gone = static_cast<PortId>(ports_.size());
  set_port(gone, "", true, now);
  // The lists of hosts are by time.
  std::vector<const SavedHost*> hosts;
  hosts.reserve(saved.hosts.size());
  for (const SavedHost& host : saved.hosts) hosts.push_back(&host);
  std::ranges::sort(hosts, {}, [](const SavedHost* host) {
    return std::pair(!host->present, host->present ? host->heard : host->changed);
  });
  for (const SavedHost* host : hosts) {
    const auto at = by_name.find(host->port);
    restore_host(*host, at == by_name.end() ? gone : at->second, current, now);
  }
  // Of those of one address the one that is online owns it.
  for (const bool online : {true, false})
    for (HostId id = 0; id < hosts_.end(); ++id)
      if (const Host& host = hosts_.at(id); host.used && host.key.local() && host.present &&
                                            host.online() == online && host.state != HostState::Denied)
        hosts_.claim(id);
  for (const auto& [name, port] : by_name)
    if (!ports_[port].up) set_port(port, name, false, now);
  remove_port(gone, now);
  for (HostId id = 0; id < hosts_.end(); ++id)
    if (hosts_.at(id).used) settle(id, Reason::Normal, now);
}

}  // namespace lossless::inof
