// SPDX-License-Identifier: Apache-2.0
// What a driver tells of data center bridging (DCB netlink, linux/dcbnl.h), and what it is wanted to be.
// Plain values.
#pragma once

#include <linux/dcbnl.h>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lossless::net {

inline constexpr unsigned kPriorities = 8;
template <class T>
using PerPriority = std::array<T, kPriorities>;

// ETS of IEEE 802.1Q, 37.3. Shares are percentages of what strict TCs leave, and add to 100 over the TCs
// with IEEE_8021QAZ_TSA_ETS.
struct DcbEts {
  bool willing = false;
  std::uint8_t cap = 0;  // TCs that the driver has; read only
  bool cbs = false;      // credit based shaper; read only
  PerPriority<std::uint8_t> share{};
  PerPriority<std::uint8_t> rx_share{};
  PerPriority<std::uint8_t> tsa{};  // IEEE_8021QAZ_TSA_*
  PerPriority<std::uint8_t> priority_tc{};
  // What is recommended to the peer.
  PerPriority<std::uint8_t> recommended_share{};
  PerPriority<std::uint8_t> recommended_tsa{};
  PerPriority<std::uint8_t> recommended_priority_tc{};
  bool operator==(const DcbEts&) const = default;
};

struct DcbPfc {
  std::uint8_t cap = 0;      // priorities that may have PFC at once; read only
  std::uint8_t enabled = 0;  // bit by bit
  bool macsec_bypass = false;
  std::uint16_t delay = 0;                   // allowance for the round trip, bit times
  PerPriority<std::uint64_t> requests{};     // PFC frames sent; read only
  PerPriority<std::uint64_t> indications{};  // and received
  bool operator==(const DcbPfc&) const = default;
};

// Receive buffers of the port.
struct DcbBuffers {
  PerPriority<std::uint8_t> priority_buffer{};
  PerPriority<std::uint32_t> bytes{};
  std::uint32_t total_bytes = 0;  // that the port has; read only
  bool operator==(const DcbBuffers&) const = default;
};

// An entry of the application table: frames with `protocol` in the field that the selector names
// (IEEE_8021QAZ_APP_SEL_*, DCB_APP_SEL_PCP) have `priority`. In a rewrite table the other way round.
struct DcbApp {
  std::uint8_t selector = 0;
  std::uint16_t protocol = 0;
  std::uint8_t priority = 0;  // 0-7; in CEE's table a bit for each
  auto operator<=>(const DcbApp&) const = default;
};
using DcbApps = std::vector<DcbApp>;  // ascending

// Priority groups of CEE 1.01, one of two directions.
struct DcbCeeGroups {
  PerPriority<std::uint8_t> tc_group{};       // of each TC; 15: strict
  PerPriority<std::uint8_t> tc_priorities{};  // of each TC, bit by bit
  PerPriority<std::uint8_t> tc_strict{};      // 0, 1 (group strict), 2 (link strict)
  PerPriority<std::uint8_t> tc_share{};       // percent of its group
  PerPriority<std::uint8_t> group_share{};    // percent of the link
  bool operator==(const DcbCeeGroups&) const = default;
};

struct DcbCee {
  bool on = false;
  bool pfc_on = false;
  std::uint8_t pfc = 0;  // priorities, bit by bit
  DcbCeeGroups tx;
  DcbCeeGroups rx;
  DcbApps apps;
  std::optional<std::uint8_t> group_tcs;  // TCs that the driver has, and for PFC
  std::optional<std::uint8_t> pfc_tcs;
  bool operator==(const DcbCee&) const = default;
};

// What a driver says, or (the members that are there) what it shall say.
struct DcbState {
  std::optional<DcbEts> ets;
  std::optional<DcbPfc> pfc;
  std::optional<PerPriority<std::uint64_t>> max_kbps;  // of each TC; 0: not limited
  std::optional<DcbBuffers> buffers;
  std::optional<DcbApps> apps;
  std::optional<std::vector<std::uint8_t>> trust;  // selectors, the first that applies counts
  std::optional<DcbApps> rewrite;                  // protocol: what priority is written as
  std::optional<std::uint8_t> mode;                // DCB_CAP_DCBX_*
  std::optional<DcbCee> cee;
  bool operator==(const DcbState&) const = default;
  // DCBX is run by the NIC's firmware, and so are the settings it negotiates.
  bool firmware_managed() const { return mode && (*mode & DCB_CAP_DCBX_LLD_MANAGED); }
};

// An attribute for people, and for the log: "pfc", "ets", "maxrate", "buffer", "app", "apptrust", "rewr",
// "dcbx", "cee", the words of iproute2's dcb.
enum class DcbPart : std::uint8_t { Mode, Ets, Pfc, MaxRate, Buffers, Apps, Trust, Rewrite, Cee };
std::string_view to_string(DcbPart part);
using DcbParts = std::uint16_t;  // a set of them
constexpr DcbParts set_of(DcbPart part) { return static_cast<DcbParts>(1U << static_cast<unsigned>(part)); }

std::string_view selector_name(std::uint8_t selector);  // "dscp", "pcp", "dgram-port", …; "" unknown
std::string_view tsa_name(std::uint8_t tsa);            // "strict", "cbs", "ets", "vendor", or "reserved"
std::string mode_text(std::uint8_t mode);               // "host ieee"

}  // namespace lossless::net
