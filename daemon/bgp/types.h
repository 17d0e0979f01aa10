// SPDX-License-Identifier: Apache-2.0
// What all of BGP shares: families, times, errors. Pure.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/core/address.h"
#include "daemon/core/wire.h"

namespace lossless::bgp {

using Time = std::chrono::microseconds;  // since any fixed moment; never goes back
using RouterId = std::uint32_t;
using PeerId = std::uint32_t;
inline constexpr PeerId kLocal = UINT32_MAX;  // this speaker itself, as the source of a route

inline constexpr std::uint16_t kPort = 179;
inline constexpr std::uint32_t kAsTrans = 23456;  // RFC 6793: stands for a number that takes four octets

// Who a neighbour is: a link-local address is one on its interface alone.
struct PeerAddress {
  IpAddress address = {};
  std::string interface = {};  // of a link-local address, else empty
  PeerAddress() = default;
  PeerAddress(const IpAddress& of, std::string on = {}) : address(of), interface(std::move(on)) {}
  auto operator<=>(const PeerAddress&) const = default;
};
// "10.0.0.1", "fe80::1%swp1", both ways.
std::string to_string(const PeerAddress& peer);
std::optional<PeerAddress> parse_peer(std::string_view text);

enum class Family : std::uint8_t { Ipv4Unicast, Inof };
inline constexpr std::size_t kFamilies = 2;

struct FamilyFacts {
  Family family;
  std::uint16_t afi;
  std::uint8_t safi;
  std::string_view name;
};
// In the order of the enumeration.
inline constexpr std::array<FamilyFacts, kFamilies> kFamilyTable{{
    {Family::Ipv4Unicast, 1, 1, "ipv4-unicast"},
    {Family::Inof, 6000, 254, "inof"},
}};
inline const FamilyFacts& facts(Family family) { return kFamilyTable[static_cast<std::size_t>(family)]; }
inline std::optional<Family> family_of(std::uint16_t afi, std::uint8_t safi) {
  for (const FamilyFacts& f : kFamilyTable)
    if (f.afi == afi && f.safi == safi) return f.family;
  return std::nullopt;
}

// A set of families.
class Families {
 public:
  void add(Family f) { bits_ |= bit(f); }
  void remove(Family f) { bits_ &= static_cast<std::uint8_t>(~bit(f)); }
  bool has(Family f) const { return (bits_ & bit(f)) != 0; }
  bool empty() const { return bits_ == 0; }
  Families both(Families other) const {
    Families out;
    out.bits_ = bits_ & other.bits_;
    return out;
  }
  bool operator==(const Families&) const = default;

 private:
  static std::uint8_t bit(Family f) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(f)); }
  std::uint8_t bits_ = 0;
};

// "10.0.0.1"
std::string id_text(RouterId id);
RouterId id_of(const IpAddress& v4);

// Error codes and subcodes of NOTIFICATION (RFC 4271 section 4.5 and its successors).
enum class ErrorCode : std::uint8_t {
  Header = 1,
  Open = 2,
  Update = 3,
  HoldTimer = 4,
  Fsm = 5,
  Cease = 6,
  RouteRefresh = 7,  // RFC 7313
};
namespace error {
inline constexpr std::uint8_t kNotSynchronised = 1, kBadLength = 2, kBadType = 3;  // Header
inline constexpr std::uint8_t kVersion = 1, kBadPeerAs = 2, kBadId = 3, kParameter = 4, kHoldTime = 6,
                              kCapability = 7;  // Open
inline constexpr std::uint8_t kAttributeList = 1, kUnknownWellKnown = 2, kOptionalAttribute = 9,
                              kNetwork = 10;                                            // Update
inline constexpr std::uint8_t kInOpenSent = 1, kInOpenConfirm = 2, kInEstablished = 3;  // Fsm, RFC 6608
inline constexpr std::uint8_t kMaxPrefixes = 1, kShutdown = 2, kDeconfigured = 3, kReset = 4, kRejected = 5,
                              kConfigChanged = 6, kCollision = 7, kResources = 8,
                              kBfdDown = 10;  // Cease: RFC 4486, RFC 9384
}  // namespace error

// What ends a session: sent as a NOTIFICATION, or received as one.
struct Notification {
  ErrorCode code = ErrorCode::Cease;
  std::uint8_t subcode = 0;
  Bytes data = {};
  bool operator==(const Notification&) const = default;
};
// In words: "cease, administrative shutdown: \"maintenance\"".
std::string to_string(const Notification& notification);

}  // namespace lossless::bgp
