// SPDX-License-Identifier: Apache-2.0
// What a driver's DCB was before the first daemon changed it, as text that outlives daemons. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/net/dcb_message.h"

namespace lossless::net {

// The driver's answers as they came: a line of hex for each.
using DcbAnswers = std::vector<std::vector<std::uint8_t>>;

struct DcbRecord {
  int ifindex = 0;  // another interface of the same name has settings of its own
  DcbState state;
};

std::string record_text(int ifindex, const DcbAnswers& answers);
// Nothing: it is no such text.
std::optional<DcbRecord> parse_record(std::string_view text);

}  // namespace lossless::net
