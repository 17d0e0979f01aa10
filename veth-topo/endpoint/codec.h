// SPDX-License-Identifier: Apache-2.0
// RoCEv2 frames: the layouts of bpf/stages/roce.h put together with a fast ICRC. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bpf/stages/icrc.h"
#include "bpf/stages/roce.h"
#include "veth-topo/endpoint/types.h"

namespace lossless::endpoint {

// Ethernet 14, tag 4, IPv6 40, UDP 8, BTH 12, RETH 16, ICRC 4.
inline constexpr std::size_t kMaxOverhead = 98;

// Everything up to and including the BTH.
struct FrameHead {
  const Address* src = nullptr;  // both of one IP version
  const Address* dst = nullptr;
  std::optional<std::uint8_t> pcp;  // 0-7: adds an 802.1Q tag with VLAN 0 (priority tag)
  std::uint8_t tos = 0;             // DSCP << 2 | ECN
  std::uint16_t ip_id = 0;          // IPv4 identification; low bits of the flow label in IPv6
  std::uint16_t sport = 0;
  std::uint8_t opcode = 0;
  bool ack_request = false;
  std::uint32_t dest_qp = 0;
  std::uint32_t psn = 0;
};

// Length of a frame without FCS, as a switch counts it. Pads the payload to four bytes.
std::size_t frame_length(bool v6, bool tagged, std::size_t ext, std::size_t payload);

// Writes a frame with extended headers `ext` and `payload`, padded, with its ICRC. Returns its length;
// 0 if `out` is too short.
std::size_t build_frame(std::span<std::uint8_t> out, const FrameHead& head, std::span<const std::uint8_t> ext,
                        std::span<const std::uint8_t> payload);

// Writes a CNP to head.dest_qp; opcode, psn and ack_request of the head are not used.
std::size_t build_cnp(std::span<std::uint8_t> out, const FrameHead& head);

// The ICRC of a whole frame whose parts are where `r` says.
std::uint32_t frame_icrc(std::span<const std::uint8_t> frame, const ll_roce& r);

// Parses a frame and checks its ICRC.
ll_roce_kind parse_frame(std::span<const std::uint8_t> frame, ll_roce& r);

// "icrc", "udp_length", …: the name of a kind in reports.
const char* kind_name(ll_roce_kind kind);

// DETH and MAD of a CM message to QP 1 of the peer.
inline constexpr std::size_t kDethLen = sizeof(ll_deth);
void encode_cm(std::span<std::uint8_t, LL_MAD_LEN> mad, const ll_cm& cm, std::uint32_t mtu,
               const Address& from, const Address& to);
void encode_deth(std::span<std::uint8_t, kDethLen> deth);

}  // namespace lossless::endpoint
