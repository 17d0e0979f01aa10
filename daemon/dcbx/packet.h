// SPDX-License-Identifier: Apache-2.0
// What DCBX says in LLDP: TLVs of IEEE 802.1Q (annex D.2.8 to D.2.11, "802.1Qaz") and of CEE 1.01, the
// dialect before the standard. Bytes to values and back. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/lldp/packet.h"

namespace lossless::dcbx {

template <class T>
using PerPriority = std::array<T, 8>;

inline constexpr std::uint32_t kIeeeOui = 0x0080c2;
inline constexpr std::uint8_t kIeeeEts = 9;
inline constexpr std::uint8_t kIeeeRecommendation = 10;
inline constexpr std::uint8_t kIeeePfc = 11;
inline constexpr std::uint8_t kIeeeApp = 12;
inline constexpr std::uint32_t kCeeOui = 0x001b21;
inline constexpr std::uint8_t kCee100 = 1;  // CIN, before CEE 1.01: known, not spoken
inline constexpr std::uint8_t kCee101 = 2;

inline constexpr std::uint8_t kStrict = 0;  // transmission selection algorithms of TCs
inline constexpr std::uint8_t kCbs = 1;
inline constexpr std::uint8_t kEtsTsa = 2;
inline constexpr std::uint8_t kVendor = 255;
inline constexpr std::uint8_t kStrictGroup = 15;  // CEE: a priority group without a share

// Shares are percentages; those of TCs with kEtsTsa add to 100.
struct Table {
  PerPriority<std::uint8_t> priority_tc{};  // 0-7
  PerPriority<std::uint8_t> share{};        // of each TC
  PerPriority<std::uint8_t> tsa{};          // of each TC
  bool operator==(const Table&) const = default;
};

struct Ets {
  bool willing = false;
  bool cbs = false;          // has a credit based shaper
  std::uint8_t max_tcs = 0;  // 1-7; 0: 8
  Table table = {};
  bool operator==(const Ets&) const = default;
};

struct Pfc {
  bool willing = false;
  bool mbc = false;          // MACsec bypass capability
  std::uint8_t cap = 0;      // priorities that may have PFC at once, 0-8
  std::uint8_t enabled = 0;  // bit by bit
  bool operator==(const Pfc&) const = default;
};

// Frames with `protocol` in the field that `selector` names (1 EtherType, 2 TCP, 3 UDP, 4 either, 5 DSCP).
struct App {
  std::uint8_t priority = 0;
  std::uint8_t selector = 0;  // 0-7
  std::uint16_t protocol = 0;
  auto operator<=>(const App&) const = default;
};
std::string to_string(const App& app);  // "udp 4791 = 3"

struct Ieee {
  std::optional<Ets> ets = {};
  std::optional<Table> recommendation = {};
  std::optional<Pfc> pfc = {};
  std::optional<std::vector<App>> apps = {};
  bool empty() const { return !ets && !recommendation && !pfc && !apps; }
  bool operator==(const Ieee&) const = default;
};

struct CeeControl {
  std::uint8_t oper_version = 0;
  std::uint8_t max_version = 0;
  std::uint32_t sequence = 0;
  std::uint32_t ack = 0;
  bool operator==(const CeeControl&) const = default;
};

// What each feature begins with.
struct CeeFeature {
  std::uint8_t oper_version = 0;
  std::uint8_t max_version = 0;
  bool enable = false;
  bool willing = false;
  bool error = false;
  std::uint8_t subtype = 0;
  bool operator==(const CeeFeature&) const = default;
};

struct CeeGroups {
  CeeFeature feature = {};
  PerPriority<std::uint8_t> group{};  // of each priority: 0-7, or kStrictGroup
  PerPriority<std::uint8_t> share{};  // of each group, percent
  std::uint8_t tcs = 8;               // that the sender has
  bool operator==(const CeeGroups&) const = default;
};

struct CeePfc {
  CeeFeature feature = {};
  std::uint8_t enabled = 0;
  std::uint8_t tcs = 8;  // that may have PFC at once
  bool operator==(const CeePfc&) const = default;
};

struct CeeApp {
  std::uint16_t protocol = 0;
  std::uint8_t selector = 0;  // 0 EtherType, 1 TCP or UDP port
  std::uint32_t oui = kCeeOui;
  std::uint8_t priorities = 0;  // bit by bit
  bool operator==(const CeeApp&) const = default;
};
std::string to_string(const CeeApp& app);  // "port 4791 = 3"

struct CeeApps {
  CeeFeature feature = {};
  std::vector<CeeApp> entries = {};
  bool operator==(const CeeApps&) const = default;
};

struct Cee {
  CeeControl control = {};
  std::optional<CeeGroups> groups = {};
  std::optional<CeePfc> pfc = {};
  std::optional<CeeApps> apps = {};
  bool operator==(const Cee&) const = default;
};

// What an LLDPDU has of DCBX. A TLV that is wrong, or there twice, is left out and named in `faults`.
struct Said {
  std::optional<Ieee> ieee = {};
  std::optional<Cee> cee = {};
  bool cee100 = false;
  std::vector<std::string> faults = {};  // "ETS configuration: the shares add to 90"
  bool none() const { return !ieee && !cee && !cee100 && faults.empty(); }
  bool operator==(const Said&) const = default;
};
Said decode(std::span<const lldp::OrgTlv> tlvs);

// Entries of applications that have no room in a TLV are left out.
inline constexpr std::size_t kMaxApps = (lldp::kMaxTlvValue - 4 - 1) / 3;
inline constexpr std::size_t kMaxCeeApps =
    (lldp::kMaxTlvValue - 4 - 12 - 19 - 8 - 6) / 6;  // all features beside
std::vector<lldp::OrgTlv> encode(const Ieee& ieee);
lldp::OrgTlv encode(const Cee& cee);

}  // namespace lossless::dcbx
