// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/fsm.h"

namespace lossless::bgp {
namespace {

constexpr Transition to(State next, Action action) { return {next, action}; }
constexpr Transition stay(State state) { return {state, Action::None}; }
constexpr Transition kUnexpected{State::Idle, Action::Notify, ErrorCode::Fsm};
constexpr Transition kFault{State::Idle, Action::Notify};
constexpr Transition kHeldTooLong{State::Idle, Action::Notify, ErrorCode::HoldTimer};
constexpr Transition kDrop{State::Idle, Action::Drop};
constexpr Transition kRetry{State::Active, Action::WaitToConnect};

using Row = std::array<Transition, kEvents>;

// Columns in the order of Event:
// Start, StartPassive, RetryTimer, TcpUp, TcpFailed, Open,
// Keepalive, Update, Notification, HoldTimer, KeepaliveTimer, Fault
constexpr std::array<Row, kStates> kTable{{
    // Idle
    {{to(State::Connect, Action::Connect), stay(State::Active), stay(State::Idle), kDrop, stay(State::Idle),
      kDrop, kDrop, kDrop, kDrop, stay(State::Idle), stay(State::Idle), stay(State::Idle)}},
    // Connect
    {{stay(State::Connect), stay(State::Connect), to(State::Connect, Action::Connect),
      to(State::OpenSent, Action::SendOpen), kRetry, kDrop, kDrop, kDrop, kDrop, stay(State::Connect),
      stay(State::Connect), kDrop}},
    // Active
    {{stay(State::Active), stay(State::Active), to(State::Connect, Action::Connect),
      to(State::OpenSent, Action::SendOpen), kRetry, kDrop, kDrop, kDrop, kDrop, stay(State::Active),
      stay(State::Active), kDrop}},
    // OpenSent
    {{stay(State::OpenSent), stay(State::OpenSent), stay(State::OpenSent), kUnexpected, kRetry,
      to(State::OpenConfirm, Action::Confirm), kUnexpected, kUnexpected, kDrop, kHeldTooLong,
      stay(State::OpenSent), kFault}},
    // OpenConfirm
    {{stay(State::OpenConfirm), stay(State::OpenConfirm), stay(State::OpenConfirm), kUnexpected, kDrop,
      kUnexpected, to(State::Established, Action::Establish), kUnexpected, kDrop, kHeldTooLong,
      to(State::OpenConfirm, Action::SendKeepalive), kFault}},
    // Established
    {{stay(State::Established), stay(State::Established), stay(State::Established), kUnexpected, kDrop,
      kUnexpected, to(State::Established, Action::Heard), to(State::Established, Action::Heard), kDrop,
      kHeldTooLong, to(State::Established, Action::SendKeepalive), kFault}},
}};

}  // namespace

Transition transition(State state, Event event) {
  return kTable[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

std::string_view to_string(State state) {
  static constexpr std::array<std::string_view, kStates> kNames{"Idle",     "Connect",     "Active",
                                                                "OpenSent", "OpenConfirm", "Established"};
  return kNames[static_cast<std::size_t>(state)];
}

}  // namespace lossless::bgp
