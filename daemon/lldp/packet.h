// SPDX-License-Identifier: Apache-2.0
// LLDP frames (IEEE 802.1AB-2016, clauses 8 and 9): bytes to values and back. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/wire.h"

namespace lossless::lldp {

inline constexpr std::uint16_t kEthertype = 0x88cc;
inline constexpr Mac kNearestBridge{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};
inline constexpr Mac kNearestNonTpmrBridge{0x01, 0x80, 0xc2, 0x00, 0x00, 0x03};
inline constexpr Mac kNearestCustomerBridge{0x01, 0x80, 0xc2, 0x00, 0x00, 0x00};

inline constexpr std::size_t kMaxTlvValue = 511;  // 9-bit length
inline constexpr std::size_t kMaxId = 255;        // chassis and port ID, without the subtype
inline constexpr std::size_t kMaxText = 255;      // names and descriptions
inline constexpr std::size_t kMaxFrame = 1514;

// Subtypes of the chassis ID (8.5.2.2) and the port ID (8.5.3.2) that we send.
inline constexpr std::uint8_t kChassisMac = 4;
inline constexpr std::uint8_t kPortMac = 3;
inline constexpr std::uint8_t kPortInterfaceName = 5;

// A chassis or port ID: 1 to 255 bytes, whose meaning the subtype gives.
struct Id {
  std::uint8_t subtype = 0;
  Bytes value = {};
  auto operator<=>(const Id&) const = default;
};
Id chassis_of(const Mac& mac);
Id port_of(std::string_view interface_name);
// For people: "02:00:00:aa:00:02", "10.0.0.1", "eth0", or hex. Never a control character.
std::string chassis_text(const Id& id);
std::string port_text(const Id& id);
std::string chassis_subtype_text(std::uint8_t subtype);
std::string port_subtype_text(std::uint8_t subtype);

// System capabilities (8.5.8), bits as in the standard's table 8-4: bit 2 bridge, bit 4 router, bit 7
// station.
struct Capabilities {
  std::uint16_t supported = 0;
  std::uint16_t enabled = 0;
  bool operator==(const Capabilities&) const = default;
};
inline constexpr std::uint16_t kCapBridge = 1U << 2U;
inline constexpr std::uint16_t kCapRouter = 1U << 4U;
inline constexpr std::uint16_t kCapStation = 1U << 7U;
std::string capabilities_text(std::uint16_t bits);

// 8.5.9. Family by IANA's address family numbers: 1 IPv4, 2 IPv6, 6 MAC.
struct ManagementAddress {
  std::uint8_t family = 0;
  Bytes address = {};                  // 1 to 31 bytes
  std::uint8_t interface_subtype = 1;  // 1 unknown, 2 ifIndex, 3 system port number
  std::uint32_t interface_number = 0;
  Bytes oid = {};  // at most 128 bytes
  bool operator==(const ManagementAddress&) const = default;
};
std::string management_text(const ManagementAddress& address);

// TLV 127 (8.6): `value` is what follows OUI and subtype, at most 507 bytes.
struct OrgTlv {
  std::uint32_t oui = 0;  // 24 bits
  std::uint8_t subtype = 0;
  Bytes value = {};
  bool operator==(const OrgTlv&) const = default;
};

// One LLDPDU. Org TLVs keep their order and may repeat.
struct Packet {
  Id chassis;
  Id port;
  std::uint16_t ttl_s = 0;  // 0: the sender goes away (shutdown LLDPDU)
  std::optional<std::string> port_description = {};
  std::optional<std::string> system_name = {};
  std::optional<std::string> system_description = {};
  std::optional<Capabilities> capabilities = {};
  std::vector<ManagementAddress> management = {};
  std::vector<OrgTlv> org = {};
  bool operator==(const Packet&) const = default;
};

// Why a frame is not an LLDPDU (9.2.7.7): the whole frame is discarded.
enum class Fault : std::uint8_t {
  Ethernet,   // no LLDP Ethernet header
  Truncated,  // a TLV reaches beyond the frame
  Mandatory,  // chassis ID, port ID and TTL are not the first three, or come again
  ChassisId,  // length
  PortId,     // length
  Ttl,        // length
};
std::string_view to_string(Fault fault);

// What was in a frame. TLVs whose content is wrong are left out and counted, the rest of the frame stays
// (9.2.7.7.2).
struct Decoded {
  Packet packet;
  Mac source{};
  unsigned tlvs_discarded = 0;     // wrong content, or one of those that may be there once only came again
  unsigned tlvs_unrecognised = 0;  // reserved types 9 to 126
};

// A whole Ethernet frame, with or without padding.
std::expected<Decoded, Fault> decode(ByteView frame);

// A whole Ethernet frame to `destination`; not padded. Texts and IDs longer than allowed are cut. Org TLVs
// that no longer fit into kMaxFrame are left out.
Bytes encode(const Packet& packet, const Mac& source, const Mac& destination = kNearestBridge);
// 8.2.1, a shutdown LLDPDU of the same chassis and port.
Bytes encode_shutdown(const Packet& packet, const Mac& source, const Mac& destination = kNearestBridge);

}  // namespace lossless::lldp
