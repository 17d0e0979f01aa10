// SPDX-License-Identifier: Apache-2.0
// The state machine of one connection (RFC 4271 section 8) as a table. A second connection to the same
// neighbour has a machine of its own until the collision is resolved. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "daemon/bgp/types.h"

namespace lossless::bgp {

enum class State : std::uint8_t { Idle, Connect, Active, OpenSent, OpenConfirm, Established };
inline constexpr std::size_t kStates = 6;
std::string_view to_string(State state);

enum class Event : std::uint8_t {
  Start,           // the neighbour may be connected to
  StartPassive,    // it connects to us
  RetryTimer,      // connect retry time is over
  TcpUp,           // a connection came about, from either side
  TcpFailed,       // it could not be made, or fell
  Open,            // a good OPEN
  Keepalive,       // a KEEPALIVE
  Update,          // an UPDATE or ROUTE-REFRESH
  Notification,    // a NOTIFICATION came in
  HoldTimer,       // nothing heard for the hold time
  KeepaliveTimer,  // it is time for a KEEPALIVE
  Fault,           // we must end it; the NOTIFICATION is with the event
};
inline constexpr std::size_t kEvents = 12;

enum class Action : std::uint8_t {
  None,
  Connect,        // begin a TCP connection
  WaitToConnect,  // begin the connect retry time
  SendOpen,       // send OPEN, begin a hold time of kOpenHold
  Confirm,        // send KEEPALIVE, begin the negotiated times
  Establish,      // the session is up
  Heard,          // the hold time begins anew
  SendKeepalive,
  Drop,    // close without a word
  Notify,  // send the NOTIFICATION and close
};

struct Transition {
  State next;
  Action action;
  ErrorCode code = ErrorCode::Cease;  // Notify: what is sent unless the event brings its own
};
// Total: what the standard does not expect is an FSM error (RFC 6608).
Transition transition(State state, Event event);

}  // namespace lossless::bgp
