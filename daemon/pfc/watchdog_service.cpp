// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/watchdog_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "bpf/stages/pfc.h"
#include "daemon/core/nanos.h"
#include "daemon/core/units.h"

namespace lossless::pfc {
namespace {

// With no port there is still something to measure one day.
constexpr Nanos kIdlePollNs = kSecondNs;

std::uint64_t off_row(const Watchdog& dog) {
  if (!dog.effect().pfc_off) return LL_PFC_NOT_OFF;
  switch (dog.off_reason()) {
    case OffReason::None:
      return LL_PFC_OFF_RECOVERING;
    case OffReason::TriggerLimit:
      return LL_PFC_OFF_TRIGGER_LIMIT;
    case OffReason::Manual:
      return LL_PFC_OFF_MANUAL;
  }
  return LL_PFC_OFF_RECOVERING;
}

OffReason off_reason(std::uint64_t row) {
  if (row == LL_PFC_OFF_TRIGGER_LIMIT) return OffReason::TriggerLimit;
  if (row == LL_PFC_OFF_MANUAL) return OffReason::Manual;
  return OffReason::None;
}

std::string found_text(const Deadlock& d) {
  return "queue stopped by its peer for " + std::to_string(ms_between(d.since_ns, d.detected_ns)) +
         " ms with " + format_size(d.backlog_bytes) + " waiting";
}

// What the log says of a step, nothing for those that an operator need not hear of.
std::string step_text(WatchdogStep step, const Watchdog& dog) {
  const auto entries = dog.history().entries();
  const Deadlock last = entries.empty() ? Deadlock{} : entries.back();
  switch (step) {
    case WatchdogStep::Alert:
      return "PFC deadlock: " + found_text(last) + ", action " + std::string(to_string(dog.config().action));
    case WatchdogStep::ForcedOff:
      return "PFC stays off after " + std::to_string(dog.config().trigger_limit) +
             " deadlocks, until `losslessctl pfc recover`";
    case WatchdogStep::Held:
      return "PFC stays off until `losslessctl pfc recover`: the recovery mode is manual";
    case WatchdogStep::Restored:
      return "PFC deadlock over (" + std::string(to_string(last.end)) + "), " +
             std::to_string(last.dropped_packets) + " packets dropped by the watchdog";
    default:
      return {};
  }
}

}  // namespace

ll_pause WatchdogService::pause_row(std::uint32_t row) const {
  ll_pause pause{};
  for (const auto member :
       {&ll_pause::until_ns, &ll_pause::asked_since_ns, &ll_pause::asked_ns, &ll_pause::rx_frames})
    pause.*member = rows_.pause.get(row, member);
  return pause;
}

void WatchdogService::set_port(const PortInfo& info, Nanos now) {
  const auto [at, is_new] = ports_.try_emplace(info.slot);
  Port& port = at->second;
  port.info = info;
  tell(port, PfcDirection::Rx, port.rx.configure(info.alarm.of(PfcDirection::Rx), now));
  tell(port, PfcDirection::Tx, port.tx.configure(info.alarm.of(PfcDirection::Tx), now));
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    Watchdog& dog = port.classes[tc].dog;
    if (is_new) {
      dog = Watchdog(info.watchdog);
      const std::uint32_t row = LL_ROW(info.slot, tc);
      const std::uint64_t off = rows_.watchdog.get(row, &ll_watchdog::off);
      const WatchdogEffect found{.pfc_off = off != LL_PFC_NOT_OFF,
                                 .drop = rows_.mmu.get(row, &ll_mmu::discard_until_ns) != 0};
      carry_out(port, tc, dog.take_over(found, off_reason(off)));
      carry_out(port, tc, dog.set_escape(escape_, now));
      publish(port, tc);
    } else if (dog.config() != info.watchdog) {
      carry_out(port, tc, dog.configure(info.watchdog, now));
    }
  }
}

void WatchdogService::remove_port(std::uint32_t slot) {
  const auto at = ports_.find(slot);
  if (at == ports_.end()) return;
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    rows_.mmu.at(LL_ROW(slot, tc), &ll_mmu::discard_until_ns).store(0, std::memory_order_relaxed);
    rows_.watchdog.at(LL_ROW(slot, tc), &ll_watchdog::off).store(0, std::memory_order_relaxed);
  }
  ports_.erase(at);
}

void WatchdogService::set_hardware(std::uint32_t slot, const HardwarePfc& counters) {
  const auto at = ports_.find(slot);
  if (at != ports_.end()) at->second.hardware = counters;
}

// No watchdog that is on has anything under way, nor was asked for a pause since the last look: then there is
// no need to look at the queues, which takes the lock that gates are closed under.
bool WatchdogService::is_quiet(Port& port, Nanos now) {
  bool quiet = true;
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    Class& c = port.classes[tc];
    const ll_pause row = pause_row(LL_ROW(port.info.slot, tc));
    const std::uint64_t asked = ll_pause_asked(&row, now) + port.hardware.paused_ns[tc];
    const WatchdogState state = c.dog.state();
    const bool under_way = state == WatchdogState::Alerted || state == WatchdogState::Recovering;
    if (state != WatchdogState::Disabled && (asked != c.seen_asked_ns || under_way)) quiet = false;
    c.seen_asked_ns = asked;
  }
  return quiet;
}

void WatchdogService::sample(Port& port, unsigned tc, Nanos now, const net::QdiscInfo* leaf) {
  const std::uint32_t row = LL_ROW(port.info.slot, tc);
  const ll_pause pause = pause_row(row);
  carry_out(port, tc,
            port.classes[tc].dog.sample(
                {.now_ns = now,
                 .paused_total_ns = ll_pause_asked(&pause, now) + port.hardware.paused_ns[tc],
                 .paused_now = pause.until_ns > now || (port.hardware.paused >> tc & 1U),
                 .backlog_bytes = leaf ? leaf->backlog_bytes : 0,
                 .tx_packets = leaf ? leaf->sent_packets : 0,
                 .action_drops = rows_.watchdog.get(row, &ll_watchdog::discarded),
                 .port_up = port.info.up,
                 .lossless = port.info.plans[tc].has_value()}));
  publish(port, tc);
}

Nanos WatchdogService::poll(Nanos now, const Qdiscs& qdiscs) {
  Nanos next = now + kIdlePollNs;
  std::vector<net::QdiscInfo> list;
  bool quiet = true;
  for (auto& [slot, port] : ports_) quiet = is_quiet(port, now) && quiet;
  if (!quiet) {
    auto found = qdiscs();
    if (found) list = std::move(*found);
    if (!found) spdlog::error("PFC watchdog: {}", found.error());
  }
  for (auto& [slot, port] : ports_) {
    measure(port, now);
    for (unsigned tc = 0; tc < kTcs; ++tc) {
      if (!list.empty()) sample(port, tc, now, net::find_leaf(list, port.info.ifindex, tc));
      next = std::min(next, port.classes[tc].dog.next_sample_ns(now));
    }
  }
  return next;
}

void WatchdogService::measure(Port& port, Nanos now) {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;  // by the NIC
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const std::uint32_t row = LL_ROW(port.info.slot, tc);
    const HardwarePfc& nic = port.hardware;
    const std::uint64_t tx =
        rows_.mmu.get(row, &ll_mmu::tx_xoff) + rows_.mmu.get(row, &ll_mmu::tx_xon) + nic.tx_frames[tc];
    (void)port.classes[tc].rx.sample(now, rows_.pause.get(row, &ll_pause::rx_frames) + nic.rx_frames[tc]);
    received += nic.rx_frames[tc];
    (void)port.classes[tc].tx.sample(now, tx);
    sent += tx;
  }
  const ll_pfc_stats frames = rows_.frames.sum(port.info.slot);
  tell(port, PfcDirection::Rx,
       port.rx.sample(now, frames.rx[LL_PFC_OK] + frames.rx[LL_PFC_PAUSE] + received));
  tell(port, PfcDirection::Tx, port.tx.sample(now, sent));
}

void WatchdogService::tell(const Port& port, PfcDirection direction,
                           const std::optional<RateAlarmEvent>& event) const {
  if (!event) return;
  spdlog::log(event->raised ? spdlog::level::warn : spdlog::level::info, "{}",
              alarm_text(port.info.name, direction, *event));
}

void WatchdogService::carry_out(Port& port, unsigned tc, const WatchdogSteps& steps) {
  const Watchdog& dog = port.classes[tc].dog;
  const auto has = [&](WatchdogStep step) { return std::ranges::find(steps, step) != steps.end(); };
  if (!steps.empty()) publish(port, tc);
  // First what keeps packets out of the queue, then the queue, and only then its gate opens.
  if (has(WatchdogStep::DropStart)) orders_.empty_queue(port.info.slot, tc);
  if (has(WatchdogStep::PfcOff) || has(WatchdogStep::PfcOn)) orders_.changed(port.info.slot);
  if (has(WatchdogStep::Alert)) orders_.deadlock(port.info.slot, tc, true);
  if (has(WatchdogStep::Restored)) orders_.deadlock(port.info.slot, tc, false);
  for (const WatchdogStep step : steps) {
    const std::string text = step_text(step, dog);
    if (!text.empty())
      spdlog::log(step == WatchdogStep::Restored ? spdlog::level::info : spdlog::level::warn,
                  "port {} TC {}: {}", port.info.name, tc, text);
  }
}

void WatchdogService::publish(const Port& port, unsigned tc) {
  const Watchdog& dog = port.classes[tc].dog;
  const std::uint32_t row = LL_ROW(port.info.slot, tc);
  rows_.mmu.at(row, &ll_mmu::discard_until_ns)
      .store(dog.effect().drop ? dog.lease_until_ns() : 0, std::memory_order_relaxed);
  rows_.watchdog.at(row, &ll_watchdog::off).store(off_row(dog), std::memory_order_relaxed);
}

bool WatchdogService::recover(std::uint32_t slot, unsigned tc, Nanos now) {
  const auto at = ports_.find(slot);
  if (at == ports_.end()) return false;
  const WatchdogSteps steps = at->second.classes[tc].dog.recover(now);
  carry_out(at->second, tc, steps);
  return !steps.empty();
}

void WatchdogService::set_escape(bool on, Nanos now) {
  escape_ = on;
  for (auto& [slot, port] : ports_) {
    for (unsigned tc = 0; tc < kTcs; ++tc) carry_out(port, tc, port.classes[tc].dog.set_escape(on, now));
    orders_.changed(slot);
  }
}

void WatchdogService::stop(Nanos now) {
  for (auto& [slot, port] : ports_)
    for (unsigned tc = 0; tc < kTcs; ++tc) carry_out(port, tc, port.classes[tc].dog.stop(now));
}

TcMask WatchdogService::withheld(std::uint32_t slot) const {
  if (escape_) return 0xff;
  const auto at = ports_.find(slot);
  if (at == ports_.end()) return 0;
  unsigned mask = 0;
  for (unsigned tc = 0; tc < kTcs; ++tc)
    if (at->second.classes[tc].dog.effect().pfc_off) mask |= 1U << tc;
  return static_cast<TcMask>(mask);
}

const WatchdogService::Port* WatchdogService::port(std::uint32_t slot) const {
  const auto at = ports_.find(slot);
  return at == ports_.end() ? nullptr : &at->second;
}

}  // namespace lossless::pfc
