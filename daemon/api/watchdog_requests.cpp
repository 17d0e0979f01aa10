// SPDX-License-Identifier: Apache-2.0
// The calls about deadlock watchdogs and the escape.
#include "daemon/api/requests.h"
#include "daemon/core/clock.h"

namespace lossless::api {
namespace {

using grpc::Status;
using grpc::StatusCode;

v1::PfcDeadlock view_deadlock(const pfc::Deadlock& d, std::uint64_t now) {
  v1::PfcDeadlock out;
  out.set_detected_ms_ago(ms_between(d.detected_ns, now));
  out.set_stuck_ms(ms_between(d.since_ns, d.detected_ns));
  out.set_lasted_ms(ms_between(d.detected_ns, d.ended_ns ? d.ended_ns : now));
  out.set_backlog_bytes(d.backlog_bytes);
  out.set_dropped_packets(d.dropped_packets);
  out.set_periods(d.periods);
  out.set_action(std::string(to_string(d.action)));
  out.set_end(std::string(to_string(d.end)));
  return out;
}

void set_config(v1::PfcWatchdog& out, const pfc::WatchdogConfig& config) {
  out.set_detection_ms(config.detection_ms);
  out.set_recovery_ms(config.recovery_ms);
  out.set_poll_ms(config.poll_ms);
  out.set_action(std::string(to_string(config.action)));
  out.set_mode(std::string(to_string(config.mode)));
  out.set_trigger_limit(config.trigger_limit);
  out.set_window_ms(config.window_ms);
}

v1::PfcWatchdog view_watchdog(const Context& context, const pfc::WatchdogService::Port& port, unsigned tc,
                              std::uint64_t now) {
  const pfc::Watchdog& dog = port.classes[tc].dog;
  const std::uint32_t row = LL_ROW(port.info.slot, tc);
  v1::PfcWatchdog out;
  out.set_port(port.info.name);
  out.set_tc(tc);
  out.set_state(std::string(to_string(dog.state())));
  if (dog.state() == pfc::WatchdogState::Off) out.set_off_reason(std::string(to_string(dog.off_reason())));
  set_config(out, dog.config());
  out.set_triggers(dog.triggers(now));
  out.set_deadlocks(dog.counters().deadlocks);
  out.set_restored(dog.counters().restored);
  out.set_forced_off(dog.counters().forced_off);
  out.set_prolonged(dog.counters().prolonged);
  out.set_discarded(context.pfc.watchdog().get(row, &ll_watchdog::discarded));
  out.set_asked(context.pfc.pause().get(row, &ll_pause::until_ns) > now);
  for (const pfc::Deadlock& deadlock : dog.history().entries())
    *out.add_history() = view_deadlock(deadlock, now);
  return out;
}

}  // namespace

Status list_pfc_watchdogs(const Context& context, const v1::ListPfcWatchdogsRequest& request,
                          v1::ListPfcWatchdogsReply& reply) {
  const std::uint64_t now = monotonic_now();
  reply.set_escape(context.pfc.escape().on());
  reply.set_escape_since_s(context.pfc.escape().since_s());
  return for_ports(context, request.port(), [&](const port::Port& port) {
    const auto* watched = context.pfc.watchdogs().port(port.slot);
    for (unsigned tc = 0; watched && tc < kTcs; ++tc)
      if (watched->info.plans[tc]) *reply.add_queues() = view_watchdog(context, *watched, tc, now);
  });
}

Status recover_pfc(const Context& context, const v1::RecoverPfcRequest& request, v1::RecoverPfcReply&) {
  const port::Port* port = context.ports.find(request.port());
  if (!port) return {StatusCode::NOT_FOUND, context.ports.no_port(request.port())};
  if (request.tc() >= kTcs)
    return {StatusCode::INVALID_ARGUMENT, "tc " + std::to_string(request.tc()) + ": must be 0 to 7"};
  if (auto done = context.pfc.recover(request.port(), port->slot, request.tc(), monotonic_now()); !done)
    return {StatusCode::FAILED_PRECONDITION, done.error()};
  return Status::OK;
}

Status set_pfc_escape(const Context& context, const v1::SetPfcEscapeRequest& request,
                      v1::SetPfcEscapeReply& reply) {
  reply.set_changed(request.on() != context.pfc.escape().on());
  if (auto done = context.pfc.set_escape(request.on(), monotonic_now()); !done)
    return {StatusCode::INTERNAL, done.error()};
  reply.set_on(context.pfc.escape().on());
  return Status::OK;
}

}  // namespace lossless::api
