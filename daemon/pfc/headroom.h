// SPDX-License-Identifier: Apache-2.0
// How much a lossless TC must be able to take in after it asked its peer to pause. Pure.
//
// Bytes still arrive after the packet that crosses XOFF, one part after the other:
//   reaction   rate x the time that this side takes until the PFC frame is handed to the port (measured)
//   own MTU    a frame of the largest size that the port had just begun to send goes out before the PFC frame
//   cable      2 x length x rate / 1.98e8 m/s: the PFC frame's way out and the last data's way in
//   MAC/PHY    what the interfaces of both ends hold
//   response   time that IEEE 802.1Qbb grants the peer to stop, in quanta of 512 bit times (64 bytes each)
//   peer MTU   a frame of the largest size that the peer had just begun to send
// The middle four are the field's usual "propagation delay" (MTU + cable + MAC/PHY + response).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

namespace lossless::pfc {

struct HeadroomInput {
  std::uint64_t rate_bps = 0;     // 1 bit/s to 1.6 Tbit/s: how fast the peer can send
  std::uint32_t mtu_bytes = 0;    // 64 to 65535: largest frame on the wire, headers included
  std::uint32_t cable_m = 0;      // 0 to 100000
  std::uint64_t reaction_ns = 0;  // up to 1 s: measured, from the packet that crosses XOFF to the PFC frame.
                                  // A peer whose gate is slower than `response` has the excess added here.
  std::uint32_t mac_phy_bytes = 0;  // up to 1 MB: both ends together
};

// Each part rounded up to whole bytes.
struct Headroom {
  std::uint64_t reaction_bytes = 0;
  std::uint64_t own_mtu_bytes = 0;
  std::uint64_t cable_bytes = 0;
  std::uint64_t mac_phy_bytes = 0;
  std::uint64_t response_bytes = 0;
  std::uint64_t peer_mtu_bytes = 0;
  std::uint64_t propagation_bytes() const {
    return own_mtu_bytes + cable_bytes + mac_phy_bytes + response_bytes;
  }
  std::uint64_t total_bytes() const { return reaction_bytes + propagation_bytes() + peer_mtu_bytes; }
  bool operator==(const Headroom&) const = default;
};

// Pause quanta (512 bit times) within which a peer of this rate must have stopped: 2 up to 1 Gbit/s; 10G 67,
// 25G 80, 40G 118, 50G 147, 100G 394, 200G 453, 400G 905; between two rows on the line between them and above
// the last in proportion, rounded up.
std::uint64_t response_quanta(std::uint64_t rate_bps);

// The parts, or what is wrong with the input: a value out of the ranges above, rate 0 and MTU 0 among them.
std::expected<Headroom, std::string> compute_headroom(const HeadroomInput& input);

// Nothing when `configured_bytes` is enough; else a message with the configured and the needed size. 0 is
// never enough. Whether that refuses the configuration or raises an alarm is the caller's choice.
std::optional<std::string> check_headroom(std::uint64_t configured_bytes, const HeadroomInput& input);

}  // namespace lossless::pfc
