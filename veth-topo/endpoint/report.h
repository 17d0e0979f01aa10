// SPDX-License-Identifier: Apache-2.0
// Results as JSON; the reference is docs/endpoint.md. Pure.
#pragma once

#include <string>

#include "veth-topo/endpoint/stats.h"

namespace lossless::endpoint {

// The whole report, indented.
std::string to_json(const Results& results);

// One line without line end for --progress.
std::string progress_json(const SeriesPoint& point);

}  // namespace lossless::endpoint
