// SPDX-License-Identifier: Apache-2.0
// What a driver's DCB was before the first daemon changed it, as text that outlives daemons. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/net/dcb_message.h"

namespace lossless::net {

// The driver's answers as they came.
using DcbAnswers = std::vector<std::vector<std::uint8_t>>;

struct DcbRecord {
  int ifindex = 0;     // another interface of the same name has settings of its own
  DcbParts parts = 0;  // that a daemon has changed since
  DcbAnswers answers;
};

// "7 ets pfc", then a line of hex for each answer.
std::string to_text(const DcbRecord& record);
// Nothing: it is no such text.
std::optional<DcbRecord> parse_record(std::string_view text);
// What the answers say; nothing where they make no sense.
std::optional<DcbState> state_of(const DcbRecord& record);

}  // namespace lossless::net
