// SPDX-License-Identifier: Apache-2.0
// Settings of DCBX on a port. Plain values.
#pragma once

#include <cstdint>
#include <string_view>

namespace lossless {

enum class DcbxVersion : std::uint8_t { Auto, Ieee, Cee };  // auto: what the neighbour speaks, IEEE first
std::string_view to_string(DcbxVersion v);

struct DcbxConfig {
  bool on = false;  // while LLDP is
  DcbxVersion version = DcbxVersion::Auto;
  // What the neighbour has is taken over.
  bool ets_willing = false;
  bool pfc_willing = false;
  bool app_willing = false;
  // The neighbour is told what we have.
  bool advertise_ets = true;
  bool advertise_pfc = true;
  bool advertise_app = true;
  bool operator==(const DcbxConfig&) const = default;
};

}  // namespace lossless
