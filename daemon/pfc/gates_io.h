// SPDX-License-Identifier: Apache-2.0
// Gates that are closed while no thread looks after them: a daemon died, or was replaced by one with other
// maps. The kernel alone cannot open a gate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/core/wire.h"
#include "daemon/net/netlink_io.h"
#include "loader/port_table.h"
#include "loader/shared_array.h"

namespace lossless::pfc {

// A closed gate of a managed port.
struct ClosedGate {
  int ifindex = 0;
  unsigned tc = 0;
  std::uint32_t row = 0;          // in `pause`
  std::uint32_t limit_bytes = 0;  // of its queue
  std::uint64_t since_ns = 0;     // what the row says; 0: it does not know of the pause
  std::uint64_t until_ns = 0;     // the peer wants it until then; it may still move that on
};

// All that are closed now. The kernel is asked first and the rows are read after it: a row says closed before
// its gate is.
Result<std::vector<ClosedGate>> list_closed_gates(net::Netlink& netlink, const PortTable& ports,
                                                  const SharedArray<ll_pause>& pause);
// Sends a PFC frame by a packet socket without waiting. 0, or the errno.
int send_pfc_frame(int raw, int ifindex, const Mac& source, std::uint8_t classes, std::uint16_t quanta);
// Opens it and makes the port look at its queue.
Status open_closed_gate(net::Netlink& netlink, const ClosedGate& gate);

// Gates of an instance without a daemon, in the calling thread's network namespace: waits until each pause
// has run out and opens its gate. Ends early, without an error, when the instance is gone or a daemon runs
// it. The number of gates that were opened.
Result<unsigned> open_abandoned_gates(const std::string& instance);

}  // namespace lossless::pfc
