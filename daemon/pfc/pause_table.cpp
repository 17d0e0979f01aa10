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

void PauseTable::close(Port& port, unsigned tc, Nanos since, Actions& out) {
  ll_pause& pause = port.classes[tc].pause;
  pause.since_ns = since;
  pause.transitions++;
  out.push_back({.kind = Action::Kind::Close, .slot = port.info.slot, .tc = tc});
}

void PauseTable::open(Port& port, unsigned tc, Nanos now, Actions& out) {
  ll_pause& pause = port.classes[tc].pause;
  pause.paused_ns += now - std::min<Nanos>(now, pause.since_ns);
  pause.since_ns = 0;
  pause.until_ns = 0;
  out.push_back({.kind = Action::Kind::Open, .slot = port.info.slot, .tc = tc});
}

void PauseTable::open_all(Port& port, Nanos now, Actions& out) {
  const std::size_t before = out.size();
  for (unsigned tc = 0; tc < kTcs; ++tc)
    if (port.classes[tc].pause.since_ns) open(port, tc, now, out);
  if (out.size() > before && port.info.up) send(port, kNobody, 0, out);
}

void PauseTable::stop_peer(Port& port, unsigned tc, Nanos now, Actions& out) {
  const Plan& plan = *port.info.plans[tc];
  port.classes[tc].refresh_at = now + plan.pause_ns / 2;
  send(port, bit(tc), plan.quanta, out);
}

void PauseTable::set_port(const PortInfo& info, const std::array<ll_pause, kTcs>& pauses, Nanos now,
                          Actions& out) {
  const auto [at, is_new] = ports_.try_emplace(info.slot);
  Port& port = at->second;
  port.info = info;
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    Class& c = port.classes[tc];
    if (is_new) c.pause = pauses[tc];
    if (!info.plans[tc]) c.refresh_at = kNever;
    const bool pauses_nobody = !info.plans[tc] || !info.up;
    if (c.pause.since_ns && pauses_nobody) {
      open(port, tc, now, out);
      if (info.up) send(port, kNobody, 0, out);
    }
    if (is_new && info.up && info.plans[tc] && is_off_(LL_ROW(info.slot, tc))) stop_peer(port, tc, now, out);
  }
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
    if (!(event.classes & bit(tc)) || !port.info.plans[tc]) continue;
    ll_pause& pause = port.classes[tc].pause;
    if (event.time[tc] == 0) {
      if (!pause.since_ns) continue;
      open(port, tc, now, out);
      opened = true;
      continue;
    }
    pause.last_ns = event.ns;
    pause.until_ns = event.ns + ll_pfc_time_ns(event.time[tc], port.info.rate_bps);
    // An event that waited for longer than its pause has nothing to stop any more.
    if (!pause.since_ns && pause.until_ns > now) close(port, tc, event.ns, out);
  }
  if (opened) send(port, kNobody, 0, out);
}

// The datapath has sent the frame already; unless it could not, or our XON overtook it.
void PauseTable::on_xoff(Port& port, const ll_pfc_event& event, Nanos now, Actions& out) {
  const unsigned tc = event.tc;
  if (tc >= kTcs || !port.info.plans[tc]) return;
  Class& c = port.classes[tc];
  c.refresh_at = event.ns + port.info.plans[tc]->pause_ns / 2;
  const bool in_force = event.sent && c.xon_sent < event.ns;
  if (!in_force && is_off_(LL_ROW(event.slot, tc))) stop_peer(port, tc, now, out);
}

void PauseTable::on_xon(Port& port, const ll_pfc_event& event, Nanos now, Actions& out) {
  const unsigned tc = event.tc;
  if (tc >= kTcs || !port.info.plans[tc]) return;
  // It may be above the threshold once more; then the event of that is behind this one.
  if (is_off_(LL_ROW(event.slot, tc))) return;
  Class& c = port.classes[tc];
  c.refresh_at = kNever;
  c.xon_sent = now;
  send(port, bit(tc), 0, out);
}

void PauseTable::refresh(Port& port, unsigned tc, Nanos now, Actions& out) {
  if (!let_go_on_ || !let_go_on_(LL_ROW(port.info.slot, tc), *port.info.plans[tc]))
    return stop_peer(port, tc, now, out);
  port.classes[tc].xon_sent = now;
  send(port, bit(tc), 0, out);
}

void PauseTable::on_timer(Nanos now, Actions& out) {
  for (auto& [slot, port] : ports_) {
    bool opened = false;
    for (unsigned tc = 0; tc < kTcs; ++tc) {
      Class& c = port.classes[tc];
      if (c.pause.since_ns && c.pause.until_ns <= now) {
        open(port, tc, now, out);
        opened = true;
      }
      if (c.refresh_at > now) continue;
      c.refresh_at = kNever;
      if (port.info.up && port.info.plans[tc] && is_off_(LL_ROW(slot, tc))) refresh(port, tc, now, out);
    }
    if (opened && port.info.up) send(port, kNobody, 0, out);
  }
}

Nanos PauseTable::next_deadline() const {
  Nanos next = kNever;
  for (const auto& [slot, port] : ports_) {
    for (const Class& c : port.classes) {
      if (c.pause.since_ns) next = std::min<Nanos>(next, c.pause.until_ns);
      next = std::min(next, c.refresh_at);
    }
  }
  return next;
}

}  // namespace lossless::pfc
