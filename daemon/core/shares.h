// SPDX-License-Identifier: Apache-2.0
// Weights as percentages. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/core/config.h"

namespace lossless {

// Percentages in proportion to the weights, which add to 100: what rounding leaves goes to the largest
// remainders, of equal ones to the lowest TC. A weight above 0 gets 1 at least. All weights 0: none has a
// share.
std::array<std::uint8_t, kTcs> percent_shares(const std::array<unsigned, kTcs>& weights);

}  // namespace lossless
