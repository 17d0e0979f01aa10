// SPDX-License-Identifier: Apache-2.0
// DCB netlink: reads what a driver has, brings it to what is wanted.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "daemon/net/dcb_plan.h"
#include "daemon/net/dcb_record.h"
#include "daemon/net/netlink_io.h"

namespace lossless::net {

// What the driver of an interface says; nothing: it has no DCB. `answers` gets it as it came.
Result<std::optional<DcbState>> read_dcb_state(Netlink& netlink, const std::string& interface,
                                               DcbAnswers* answers = nullptr);

struct DcbApplied {
  unsigned writes = 0;            // requests that changed something; 0: it was all as wanted
  DcbState state;                 // read back
  std::vector<DcbFault> ignored;  // what the driver took without an error and did not do
};

// Brings the parts that `wanted` names from `now` to `wanted` and reads them back. What is impossible is
// refused before anything is written. Where the kernel refuses one part, those already written are put back
// as they were. The faults name the part and the reason, the kernel's own where it is the kernel's.
std::expected<DcbApplied, std::vector<DcbFault>> apply_dcb(Netlink& netlink, const std::string& interface,
                                                           const DcbState& now, const DcbState& wanted);

}  // namespace lossless::net
