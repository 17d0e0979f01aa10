// SPDX-License-Identifier: Apache-2.0
// PFC deadlock watchdog of one (port, TC). Pure: samples and commands come in, actions go out; time is a
// value and nothing sleeps.
//
//   watching --- paused, data waiting, nothing sent, all for the whole detection time ---+
//      ^                                                                                  |
//      |                       alert: alerted (reports, does nothing)  <------------------+
//      |   trigger limit reached: off (PFC off until an operator recovers) <--------------+
//      |                       drop, forward: recovering (PFC off, packets dropped or sent) <-+
//      |                                                                       |
//      +--- auto: the recovery time is over and the peer has let go <----------+
//           manual: off until an operator recovers         <-------------------+
//
// A storm that outlasts the recovery time makes it run once more: PFC does not come back into a storm, one
// storm is one deadlock however long it lasts, and counts once against the trigger limit. Only measured time
// counts, never the number of polls. docs/pfc-watchdog.md has the verdict for each kind of storm.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/pfc/watchdog_config.h"
#include "daemon/pfc/watchdog_history.h"

namespace lossless::pfc {

// What is known of the TC at one moment. Totals only grow; one that got smaller (its map was replaced) counts
// as no proof of anything.
struct WatchdogSample {
  std::uint64_t now_ns = 0;           // CLOCK_MONOTONIC, at which the rest was read
  std::uint64_t paused_total_ns = 0;  // time for which the peer asked for a pause of this TC, whether it was
                                      // honoured or not, a running pause counted up to now_ns
  bool paused_now = false;            // the peer's last pause has not run out
  std::uint64_t backlog_bytes = 0;    // waiting in the TC's queue
  std::uint64_t tx_packets = 0;       // total that left the TC's queue for the wire
  std::uint64_t action_drops = 0;     // total that the drop action threw away
  bool port_up = true;
  bool lossless = true;  // the TC has PFC on here, as configured
};

// What the datapath has to do besides its configuration: PFC of the TC works when it is configured, not
// escaped (watchdog_escape.h) and not `pfc_off` here. Kept in a map so that it is seen again after a restart.
struct WatchdogEffect {
  bool pfc_off = false;  // ignore received pauses of the TC (its gate is open) and send none
  bool drop = false;     // drop its packets, those in the queue too, and count them; implies pfc_off
  bool operator==(const WatchdogEffect&) const = default;
};

// In the order in which they are to be carried out.
enum class WatchdogStep : std::uint8_t {
  PfcOff,     // effect().pfc_off became true
  DropStart,  // effect().drop became true
  DropStop,
  PfcOn,
  Alert,      // deadlock: report history().newest; the port's iNOF hosts leave with reason 2
  ForcedOff,  // PFC stays off: trigger limit reached
  Held,       // PFC stays off: manual recovery mode
  Restored,   // the deadlock has ended, as history().newest says
};
using WatchdogSteps = std::vector<WatchdogStep>;

enum class WatchdogState : std::uint8_t { Disabled, Watching, Alerted, Recovering, Off };

struct WatchdogCounters {
  std::uint64_t deadlocks = 0;     // detected
  std::uint64_t restored = 0;      // ended, for whatever reason
  std::uint64_t forced_off = 0;    // by the trigger limit
  std::uint64_t lossy_storms = 0;  // that lasted for the detection time on a TC that isn't lossless: ignored
  std::uint64_t prolonged = 0;     // recovery times that ran once more because the storm went on
};

class Watchdog {
 public:
  // `config` has passed check_watchdog().
  explicit Watchdog(const WatchdogConfig& config) : config_(config) {}

  // Once, before the first sample: what a former run left in the datapath. Ends whatever it had in force,
  // except a TC that waits for an operator; a storm that goes on is detected again from the start.
  WatchdogSteps take_over(const WatchdogEffect& found, OffReason off);

  // Wanted at next_sample_ns(); later or more often does no harm. A sample not later than the last proves
  // nothing.
  WatchdogSteps sample(const WatchdogSample& sample);

  // An operator gives the TC its PFC back, whatever it waits for. Clears the count of the trigger limit.
  WatchdogSteps recover(std::uint64_t now_ns);

  // New settings; running times are measured against them from where they began. Turning the watchdog off
  // gives the TC its PFC back in every state.
  WatchdogSteps configure(const WatchdogConfig& config, std::uint64_t now_ns);

  // While PFC is off on all ports there is nothing to watch. A TC that waits for an operator waits on.
  WatchdogSteps set_escape(bool on, std::uint64_t now_ns);

  // The daemon ends: with nobody to watch nothing may be dropped any more.
  WatchdogSteps stop(std::uint64_t now_ns);

  WatchdogEffect effect() const;
  WatchdogState state() const;
  OffReason off_reason() const { return off_; }
  const WatchdogConfig& config() const { return config_; }
  const WatchdogHistory& history() const { return history_; }
  const WatchdogCounters& counters() const { return counters_; }
  // Deadlocks that count against the trigger limit at `now_ns`.
  std::uint32_t triggers(std::uint64_t now_ns) const;

  // When the next sample is due after one at `now_ns`: a poll interval later, or earlier where a time runs
  // out.
  std::uint64_t next_sample_ns(std::uint64_t now_ns) const;

  // Until when the effect may hold without another sample. A datapath that keeps to it stops dropping by
  // itself when the daemon was killed.
  std::uint64_t lease_until_ns() const;

 private:
  enum class Phase : std::uint8_t { Watching, Alerted, Recovering, Off };
  // A pause that lasts: since when, and how much of that time it was not in force.
  struct Span {
    std::uint64_t since_ns = 0;
    std::uint64_t open_ns = 0;
  };

  std::uint64_t detection_ns() const;
  void count_drops(const WatchdogSample& s);
  void follow(const WatchdogSample& s, bool holds, bool unbroken);
  bool lasting(std::uint64_t now_ns) const;
  void watch(const WatchdogSample& s, WatchdogSteps& steps);
  void watch_lossy(const WatchdogSample& s);
  void trigger(const WatchdogSample& s, std::uint64_t since_ns, WatchdogSteps& steps);
  void continue_recovery(const WatchdogSample& s, WatchdogSteps& steps);
  void end(DeadlockEnd reason, std::uint64_t now_ns, WatchdogSteps& steps);
  void forget_evidence();
  // `steps` with what changed between `before` and effect() put in front.
  WatchdogSteps with_effect(const WatchdogEffect& before, const WatchdogSteps& steps) const;

  WatchdogConfig config_;
  Phase phase_ = Phase::Watching;
  OffReason off_ = OffReason::None;
  bool escape_ = false;
  bool entry_open_ = false;     // the newest entry of the history goes on
  bool drops_due_ = false;      // its dropped_packets is not final
  bool storm_counted_ = false;  // this storm on a TC that isn't lossless
  std::optional<WatchdogSample> last_;
  std::optional<Span> span_;
  std::uint64_t period_start_ns_ = 0;   // of the recovery time that runs
  std::uint64_t period_paused_ns_ = 0;  // paused_total_ns at its start
  std::uint64_t drops_start_ = 0;       // action_drops at the trigger
  std::uint64_t last_sample_ns_ = 0;
  std::deque<std::uint64_t> triggers_;  // times, oldest first
  WatchdogHistory history_;
  WatchdogCounters counters_;
};

std::string_view to_string(WatchdogStep step);
std::string_view to_string(WatchdogState state);

}  // namespace lossless::pfc
