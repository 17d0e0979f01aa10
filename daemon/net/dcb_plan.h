// SPDX-License-Identifier: Apache-2.0
// From what a driver has to what it shall have: what is impossible, what has to be written, what was ignored.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "daemon/net/dcb_message.h"

namespace lossless::net {

struct DcbFault {
  DcbPart part;
  std::string text;  // "PFC on 5 priorities; allowed: 4 at once"
  bool operator==(const DcbFault&) const = default;
};

// Why `wanted` cannot be, by what the driver says of itself and by the standard. Nothing may be written then.
std::vector<DcbFault> check_dcb(const DcbState& now, const DcbState& wanted);

struct DcbStep {
  DcbPart part;
  Message message;
};
// The requests that lead from `now` to `wanted`, in order; none where nothing differs.
std::vector<DcbStep> plan_dcb(const std::string& interface, const DcbState& now, const DcbState& wanted);

// Where `now` is not what `wanted` asks for: after a set, what the driver dropped.
std::vector<DcbFault> differences(const DcbState& now, const DcbState& wanted);

// The parts of `state` that `wanted` names: what to go back to.
DcbState same_parts(const DcbState& state, const DcbState& wanted);

DcbParts parts_of(const DcbState& state);
DcbState only_parts(const DcbState& state, DcbParts parts);
// `wanted`, and of `parts` those that it lacks as they originally were.
DcbState with_former(DcbState wanted, DcbParts parts, const DcbState& original);

// But for counters.
bool same_settings(DcbState a, DcbState b);

// One part in short, for people: "3,5", "0:ets/30% 1:strict …"; "-" where the state has none.
std::string part_text(const DcbState& state, DcbPart part);
inline constexpr DcbPart kDcbParts[] = {DcbPart::Mode,    DcbPart::Ets,     DcbPart::Pfc,
                                        DcbPart::MaxRate, DcbPart::Buffers, DcbPart::Apps,
                                        DcbPart::Trust,   DcbPart::Rewrite, DcbPart::Cee};
bool has_part(const DcbState& state, DcbPart part);

}  // namespace lossless::net
