// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/pause_table.h"

#include <algorithm>

#include "bpf/stages/pfc.h"

namespace lossless::pfc {
namespace {

std::uint8_t bit(unsigned tc) { return static_cast<std::uint8_t>(1U << tc); }

// A frame that names nobody: it makes the port look at its queues again.
constexpr std::uint8_t kNobody = 0;

}  // namespace

const PortInfo* PauseTable::port(std::uint32_t slot) const {
  const auto at = ports_.find(slot);
  return at == ports_.end() ? nullptr : &at->second.info;
}

void PauseTable::send(const Port& port, std::uint8_t classes, std::uint16_t quanta, Actions& out) {
  out.push_back({.kind = Action::Kind::Send, .slot = port.info.slot, .classes = classes, .quanta = quanta});
}

// Closes the gate when the peer wants a pause, opens it when it does not, and leaves it alone where it is so.
void PauseTable::obey(Port& port, unsigned tc, Nanos since, Nanos now, Actions& out) {
  Class& c = port.classes[tc];
  const Nanos until = rows_.asked_until(LL_ROW(port.info.slot, tc));
  if (until <= now) {
    if (c.gate.since_ns) open(port, tc, now, out);
    return;
  }
  c.opens_at = until;
  if (c.gate.since_ns) return;
  c.gate.since_ns = since;
  c.gate.transitions++;
  out.push_back({.kind = Action::Kind::Close, .slot = port.info.slot, .tc = tc});
}

void PauseTable::open(Port& port, unsigned tc, Nanos now, Actions& out) {
  Class& c = port.classes[tc];
  c.gate.paused_ns += now - std::min(now, c.gate.since_ns);
  c.gate.since_ns = 0;
  c.opens_at = kNever;
  out.push_back({.kind = Action::Kind::Open, .slot = port.info.slot, .tc = tc});
}

void PauseTable::open_all(Port& port, Nanos now, Actions& out) {
  const std::size_t before = out.size();
  for (unsigned tc = 0; tc < kTcs; ++tc)
    if (port.classes[tc].gate.since_ns) open(port, tc, now, out);
  if (out.size() > before && port.info.up) send(port, kNobody, 0, out);
}

void PauseTable::stop_peer(Port& port, unsigned tc, Nanos now, Actions& out) {
  const Plan& plan = *port.info.in_force(tc);
  port.classes[tc].refresh_at = now + plan.pause_ns / 2;
  send(port, bit(tc), plan.quanta, out);
}

void PauseTable::set_port(const PortInfo& info, const std::array<Gate, kTcs>& gates, Nanos now,
                          Actions& out) {
  const auto [at, is_new] = ports_.try_emplace(info.slot);
  Port& port = at->second;
  const std::size_t before = out.size();
  port.info = info;
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    Class& c = port.classes[tc];
    if (is_new) c.gate = gates[tc];
    const bool in_force = info.in_force(tc) && info.up;
    if (!in_force) c.refresh_at = kNever;
    if (in_force) {
      obey(port, tc, now, now, out);
    } else if (c.gate.since_ns) {
      open(port, tc, now, out);
    }
    if (is_new && in_force && rows_.is_off(LL_ROW(info.slot, tc))) stop_peer(port, tc, now, out);
  }
  const bool opened = std::any_of(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(),
                                  [](const Action& action) { return action.kind == Action::Kind::Open; });
  if (opened && info.up) send(port, kNobody, 0, out);
}

void PauseTable::remove_port(std::uint32_t slot, Nanos now, Actions& out) {
  const auto at = ports_.find(slot);
  if (at == ports_.end()) return;
  open_all(at->second, now, out);
}

void PauseTable::on_event(const ll_pfc_event& event, Nanos now, Actions& out) {
  const auto at = ports_.find(event.slot);
  if (at == ports_.end() || !at->second.info.up) return;
  switch (event.kind) {
    case LL_EVENT_RX:
      return on_rx(at->second, event, now, out);
    case LL_EVENT_XOFF:
      return on_xoff(at->second, event, now, out);
    case LL_EVENT_XON:
      return on_xon(at->second, event, now, out);
    default:
      return;
  }
}

void PauseTable::on_rx(Port& port, const ll_pfc_event& event, Nanos now, Actions& out) {
  bool opened = false;
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    if (!(event.classes & bit(tc)) || !port.info.in_force(tc)) continue;
    const bool was_closed = port.classes[tc].gate.since_ns != 0;
    obey(port, tc, event.ns, now, out);
    opened = opened || (was_closed && port.classes[tc].gate.since_ns == 0);
  }
  if (opened) send(port, kNobody, 0, out);
}

// The datapath has sent the frame already; unless it could not, or our XON overtook it.
void PauseTable::on_xoff(Port& port, const ll_pfc_event& event, Nanos now, Actions& out) {
  const unsigned tc = event.tc;
  if (tc >= kTcs || !port.info.in_force(tc)) return;
  Class& c = port.classes[tc];
  c.refresh_at = event.ns + port.info.in_force(tc)->pause_ns / 2;
  const bool in_force = event.sent && c.xon_sent < event.ns;
  if (!in_force && rows_.is_off(LL_ROW(event.slot, tc))) stop_peer(port, tc, now, out);
}

void PauseTable::on_xon(Port& port, const ll_pfc_event& event, Nanos now, Actions& out) {
  const unsigned tc = event.tc;
  if (tc >= kTcs || !port.info.in_force(tc)) return;
  // It may be above the threshold once more; then the event of that is behind this one.
  if (rows_.is_off(LL_ROW(event.slot, tc))) return;
  Class& c = port.classes[tc];
  c.refresh_at = kNever;
  c.xon_sent = now;
  send(port, bit(tc), 0, out);
}

void PauseTable::on_timer(Nanos now, Actions& out) {
  for (auto& [slot, port] : ports_) {
    bool opened = false;
    for (unsigned tc = 0; tc < kTcs; ++tc) {
      Class& c = port.classes[tc];
      if (c.opens_at <= now) {
        obey(port, tc, now, now, out);
        opened = opened || c.gate.since_ns == 0;
      }
      if (c.refresh_at > now) continue;
      c.refresh_at = kNever;
      if (port.info.up && port.info.in_force(tc) && rows_.is_off(LL_ROW(slot, tc)))
        stop_peer(port, tc, now, out);
    }
    if (opened && port.info.up) send(port, kNobody, 0, out);
  }
}

Nanos PauseTable::next_deadline() const {
  Nanos next = kNever;
  for (const auto& [slot, port] : ports_) {
    for (const Class& c : port.classes) {
      next = std::min({next, c.opens_at, c.refresh_at});
    }
  }
  return next;
}

}  // namespace lossless::pfc
