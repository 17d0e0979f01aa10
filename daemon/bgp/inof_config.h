// SPDX-License-Identifier: Apache-2.0
// Zones and switches that several switches configure: whose configuration is in force (docs/inof-bgp.md).
// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/bgp/best_path.h"
#include "daemon/bgp/inof_nlri.h"
#include "daemon/core/config.h"
#include "daemon/inof/remote.h"

namespace lossless::bgp {

// What is in force of what other switches have configured.
struct RemoteFact {
  InofRoute route;
  std::uint32_t local_pref = kDefaultLocalPref;
};
// `ours`: what is configured here, at `local_pref`. The highest LOCAL_PREF has its way; among equals zones
// are joined, and of the switches ours stays, or the lowest router ID's holds.
inof::RemoteConfig resolve(const std::vector<RemoteFact>& facts, const InofConfig& ours,
                           std::uint32_t local_pref);

}  // namespace lossless::bgp
