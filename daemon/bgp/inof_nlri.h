// SPDX-License-Identifier: Apache-2.0
// Routes of AFI 6000, SAFI 254: iNOF hosts, zones, members and switches as TLVs (docs/inof-bgp.md). The only
// place that knows their layout. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/bgp/types.h"
#include "daemon/core/address_range.h"
#include "daemon/inof/packet.h"

namespace lossless::bgp {

inline constexpr std::size_t kMaxZoneName = 31;

// A host at the switch `origin`. Key: origin, chassis and port ID. One that left is there for a while yet, to
// say why; what it says of itself is then as it was.
struct HostRoute {
  RouterId origin = 0;
  lldp::Id chassis;
  lldp::Id port_id;
  inof::HostTlv tlv;
  bool online = true;
  inof::Reason reason = inof::Reason::Normal;  // of a leave
  bool operator==(const HostRoute&) const = default;
};

// A zone that is configured at `origin`. Key: origin and name; no value.
struct ZoneRoute {
  RouterId origin = 0;
  std::string name;
  bool operator==(const ZoneRoute&) const = default;
};

// A member of it. Key: all of it; no value.
struct ZoneHostRoute {
  RouterId origin = 0;
  std::string zone;
  AddressRange member;
  bool operator==(const ZoneHostRoute&) const = default;
};

// The two switches as `origin` has them. Key: origin.
struct DefaultZoneRoute {
  RouterId origin = 0;
  bool on = true;
  bool operator==(const DefaultZoneRoute&) const = default;
};
struct HardZoneRoute {
  RouterId origin = 0;
  bool on = false;
  bool operator==(const HardZoneRoute&) const = default;
};

using InofRoute = std::variant<HostRoute, ZoneRoute, ZoneHostRoute, DefaultZoneRoute, HardZoneRoute>;
RouterId origin_of(const InofRoute& route);

enum class InofFault : std::uint8_t { Kind, Types, Length, Value };
std::string_view to_string(InofFault fault);

// The TLV, without the two bytes of length that stand before it in a message.
Bytes encode_inof(const InofRoute& route);
// Kind: one that we do not have, which a reflector passes on unread.
std::expected<InofRoute, InofFault> decode_inof(ByteView tlv);

// How many bytes at the front of the TLV say which route it is. The whole TLV of a kind or with types that we
// do not have, or that is malformed. A withdrawal may leave out what is behind.
std::size_t inof_key_size(ByteView tlv);

// "host", "zone", ... of a kind that we have, else "unknown".
std::string_view kind_text(ByteView tlv);
// For people: "10.77.0.2 at 10.0.0.1: snsd_eth0_01 on 02:00:..., server roce".
std::string inof_text(ByteView tlv);

}  // namespace lossless::bgp
