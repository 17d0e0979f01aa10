// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/ethtool_io.h"

namespace lossless::net {
namespace {

// The name with its only digit as N, and the digit; drivers differ in what stands around it.
std::optional<std::pair<std::string, unsigned>> with_number(const std::string& name) {
  const auto at = name.find_first_of("0123456789");
  if (at == std::string::npos || name[at] >= '8') return std::nullopt;
  if (name.find_first_of("0123456789", at + 1) != std::string::npos) return std::nullopt;
  std::string form = name;
  form[at] = 'N';
  return std::pair(form, static_cast<unsigned>(name[at] - '0'));
}

}  // namespace

PfcCounters find_pfc_counters(const std::map<std::string, std::uint64_t>& counters) {
  PfcCounters out;
  for (const auto& [name, value] : counters) {
    const auto found = with_number(name);
    if (!found) continue;
    const auto& [form, priority] = *found;
    // mlx5 and mlxsw; bnxt; ice, i40e and ixgbe, whose XON frames are counted apart.
    if (form == "rx_prioN_pause" || form == "rx_pfc_enaN_frames" || form == "rx_priority_N_xoff.nic" ||
        form == "rx_priority_N_xoff" || form == "port.rx_priority_N_xoff" || form == "rx_pbN_pxoff") {
      out.rx[priority] += value;
      out.frames = true;
    } else if (form == "tx_prioN_pause" || form == "tx_pfc_enaN_frames" || form == "tx_priority_N_xoff.nic" ||
               form == "tx_priority_N_xoff" || form == "port.tx_priority_N_xoff" || form == "tx_pbN_pxoff") {
      out.tx[priority] += value;
      out.frames = true;
    } else if (form == "rx_prioN_pause_duration") {
      out.rx_duration_us[priority] = value;
      out.durations = true;
    }
  }
  return out;
}

}  // namespace lossless::net
