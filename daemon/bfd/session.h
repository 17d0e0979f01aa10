// SPDX-License-Identifier: Apache-2.0
// One BFD session (RFC 5880, 6.8): packets and time come in, packets and changes of state go out. Pure. Times
// are CLOCK_MONOTONIC in ns, intervals microseconds as on the wire.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/bfd/packet.h"
#include "daemon/core/nanos.h"

namespace lossless::bfd {

using Nanos = std::uint64_t;
inline constexpr Nanos kNever = UINT64_MAX;
inline constexpr std::uint32_t kSlowUs = 1'000'000;  // least interval of a session that is not Up (6.8.3)

// What this system wants of a session.
struct Settings {
  std::uint32_t desired_min_tx_us = 300'000;   // 1000 or more
  std::uint32_t required_min_rx_us = 300'000;  // 1000 or more
  std::uint8_t detect_mult = 3;                // 1-255
  bool passive = false;                        // says nothing until the neighbour has spoken
  bool demand = false;                         // when Up, the neighbour need not send periodically
  bool admin_down = false;
  AuthKey key = {};
  bool operator==(const Settings&) const = default;
};

struct Counters {
  std::uint64_t in = 0;        // taken
  std::uint64_t out = 0;       // handed to the sender
  std::uint64_t auth = 0;      // discarded: type, key, digest
  std::uint64_t replayed = 0;  // discarded: sequence number
  std::uint64_t went_up = 0;
  std::uint64_t went_down = 0;  // from Up
  bool operator==(const Counters&) const = default;
};

// A change of state.
struct Change {
  State from = State::Down;
  State to = State::Down;
  Diag diag = Diag::None;           // ours
  bool by_neighbour_admin = false;  // it was taken down there on purpose: no failure (RFC 5882, 3.2)
  Nanos at = 0;
};

// A session that is Up, for the process that goes on with it.
struct SavedSession {
  std::uint32_t discriminator = 0;
  State state = State::Up;
  Diag diag = Diag::None;
  Packet remote = {};  // as last received
  std::uint32_t announced_tx_us = 0;
  std::uint32_t announced_rx_us = 0;
  std::uint32_t tx_us = 0;
  std::uint32_t rx_us = 0;
  bool polling = false;
  std::uint32_t sequence =
      0;  // of ours. The neighbour's is learned anew: what it sent meanwhile is not known
  Nanos changed_at = 0;
  Counters counters = {};
  bool operator==(const SavedSession&) const = default;
};

// What is announced while one process ends and the next begins, so that the neighbour has patience: this
// times our multiplier.
inline constexpr std::uint32_t kHandOverTxUs = 5'000'000;

class Session {
 public:
  // `sends` gets each packet, `changed` each change of state, both from within the functions below.
  struct Out {
    std::function<void(const Bytes&)> sends;
    std::function<void(const Change&)> changed;
  };
  // A number from 0 to 2^32 - 1, of which no order is expected: jitter.
  using Random = std::function<std::uint32_t()>;

  // `discriminator`: not 0, one of its own among all sessions. `sequence`: where those of our
  // authentication begin; should be random.
  Session(const Settings& settings, std::uint32_t discriminator, std::uint32_t sequence, Nanos now,
          Random random);

  // Goes on with one of another process, of which the neighbour counts as heard just now.
  Session(const Settings& settings, const SavedSession& saved, Nanos now, Random random);
  SavedSession save() const;
  // Tells the neighbour to expect little for a while, if it is Up; done when polling() is over.
  void prepare_hand_over(Nanos now, const Out& out);

  // New settings; those of a running session are agreed on by a Poll Sequence (6.8.3).
  void configure(const Settings& settings, Nanos now, const Out& out);
  // A packet that decode() took, and for which this session was found.
  void receive(const Decoded& decoded, ByteView payload, Nanos now, const Out& out);
  // Sends what is due and finds out whether the neighbour has gone. Call at deadline() or later, after what
  // has arrived until then was received.
  void advance(Nanos now, const Out& out);
  // When advance() has something to do.
  Nanos deadline() const;
  // The session is about to be removed: the neighbour is told that it is on purpose.
  void say_goodbye(Nanos now, const Out& out);

  const Settings& settings() const { return settings_; }
  State state() const { return state_; }
  State remote_state() const { return remote_state_; }
  Diag diag() const { return diag_; }
  Diag remote_diag() const { return remote_.diag; }
  std::uint32_t discriminator() const { return discriminator_; }
  std::uint32_t remote_discriminator() const { return remote_discriminator_; }
  // As last received.
  const Packet& remote() const { return remote_; }
  const Counters& counters() const { return counters_; }
  bool polling() const { return polling_; }
  Nanos changed_at() const { return changed_at_; }  // since when it is in its state
  Nanos last_rx() const { return last_rx_; }        // 0: never
  // Between packets, before jitter, even when none are sent.
  std::uint32_t tx_interval_us() const;
  // 0: the neighbour was not heard.
  std::uint64_t detection_time_us() const;

 private:
  bool in_sequence(const AuthSection& auth, std::uint8_t detect_mult) const;
  bool authenticate(const Decoded& decoded, ByteView payload);
  void follow_remote(Nanos now, const Out& out);
  void move(State to, Diag diag, Nanos now, const Out& out, bool by_neighbour_admin = false);
  void announce();
  void expire(Nanos now, const Out& out);
  void start_poll(Nanos now);
  void end_poll(Nanos now);
  void send(bool final, Nanos now, const Out& out);
  void plan_tx(Nanos now);
  void plan_detection();
  bool may_send() const { return !settings_.passive || remote_discriminator_ != 0; }
  bool sends_periodically() const;
  bool both_up() const { return state_ == State::Up && remote_state_ == State::Up; }
  bool demand_active() const { return settings_.demand && both_up(); }       // the neighbour is quiet
  bool remote_demand_active() const { return remote_.demand && both_up(); }  // we are

  Settings settings_;
  Random random_;
  std::uint32_t discriminator_;
  std::uint32_t remote_discriminator_ = 0;
  State state_ = State::Down;
  State remote_state_ = State::Down;
  Diag diag_ = Diag::None;
  Packet remote_;
  std::uint32_t announced_tx_us_ = kSlowUs;  // bfd.DesiredMinTxInterval
  std::uint32_t announced_rx_us_ = 0;        // bfd.RequiredMinRxInterval
  std::uint32_t tx_us_ = kSlowUs;            // the same, but not longer before the neighbour knows
  std::uint32_t rx_us_ = 0;                  // the same, but not shorter before it does
  bool polling_ = false;
  bool poll_again_ = false;  // what was announced changed while a Poll Sequence was under way
  Nanos polling_since_ = 0;
  std::uint32_t sequence_;                     // bfd.XmitAuthSeq
  std::optional<std::uint32_t> rcv_sequence_;  // bfd.RcvAuthSeq; nothing: bfd.AuthSeqKnown is 0
  Nanos last_tx_ = 0;
  Nanos last_rx_ = 0;
  Nanos changed_at_ = 0;
  // When things are due.
  Nanos next_tx_ = kNever;
  std::uint32_t planned_us_ = 0;       // the interval it was planned with; 0: none
  Nanos detect_at_ = kNever;           // the neighbour is gone
  Nanos verify_at_ = kNever;           // in Demand mode: a Poll Sequence
  Nanos forget_sequence_at_ = kNever;  // 6.7.3: twice the detection time
  Counters counters_;
};

}  // namespace lossless::bfd
