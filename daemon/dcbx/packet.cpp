// SPDX-License-Identifier: Apache-2.0
#include "daemon/dcbx/packet.h"

#include <algorithm>
#include <expected>
#include <numeric>

namespace lossless::dcbx {
namespace {

using lldp::OrgTlv;
template <class T>
using Read = std::expected<T, std::string>;

constexpr std::uint8_t kCeeControl = 1;
constexpr std::uint8_t kCeeGroups = 2;
constexpr std::uint8_t kCeePfc = 3;
constexpr std::uint8_t kCeeApp = 4;
constexpr std::uint8_t kMostPriorities = 8;

std::unexpected<std::string> wrong(std::string what) { return std::unexpected(std::move(what)); }

// Eight nibbles, the first priority in the high one.
PerPriority<std::uint8_t> read_nibbles(WireReader& in) {
  PerPriority<std::uint8_t> out{};
  for (std::size_t i = 0; i < out.size(); i += 2) {
    const std::uint8_t byte = in.u8();
    out[i] = byte >> 4U;
    out[i + 1] = byte & 15U;
  }
  return out;
}
void write_nibbles(WireWriter& out, const PerPriority<std::uint8_t>& values) {
  for (std::size_t i = 0; i < values.size(); i += 2)
    out.u8(static_cast<unsigned>(values[i]) << 4U | values[i + 1]);
}
PerPriority<std::uint8_t> read_bytes(WireReader& in) {
  PerPriority<std::uint8_t> out{};
  for (std::uint8_t& value : out) value = in.u8();
  return out;
}

std::optional<std::string> fault_of_shares(unsigned sum, bool any) {
  if (!any || sum == 100) return std::nullopt;
  return "the shares add to " + std::to_string(sum) + "; allowed: 100";
}

std::optional<std::string> fault_of(const Table& table) {
  if (std::ranges::any_of(table.priority_tc, [](std::uint8_t tc) { return tc > 7; }))
    return "a priority has a TC above 7";
  unsigned sum = 0;
  bool any = false;
  for (std::size_t tc = 0; tc < table.tsa.size(); ++tc) {
    if (table.tsa[tc] != kEtsTsa) continue;
    any = true;
    sum += table.share[tc];
  }
  return fault_of_shares(sum, any);
}

Read<Table> read_table(WireReader& in) {
  Table out{.priority_tc = read_nibbles(in)};
  out.share = read_bytes(in);
  out.tsa = read_bytes(in);
  if (!in.ok() || in.left() > 0) return wrong("wrong length");
  if (auto fault = fault_of(out)) return wrong(*fault);
  return out;
}

Read<Ets> read_ets(WireReader in) {
  const std::uint8_t flags = in.u8();
  auto table = read_table(in);
  if (!table) return std::unexpected(table.error());
  return Ets{.willing = (flags & 0x80U) != 0,
             .cbs = (flags & 0x40U) != 0,
             .max_tcs = static_cast<std::uint8_t>(flags & 7U),
             .table = *table};
}

Read<Table> read_recommendation(WireReader in) {
  in.u8();  // reserved
  return read_table(in);
}

Read<Pfc> read_pfc(WireReader in) {
  const std::uint8_t flags = in.u8();
  const Pfc out{.willing = (flags & 0x80U) != 0,
                .mbc = (flags & 0x40U) != 0,
                .cap = static_cast<std::uint8_t>(flags & 15U),
                .enabled = in.u8()};
  if (!in.ok() || in.left() > 0) return wrong("wrong length");
  if (out.cap > kMostPriorities) return wrong("PFC on more than 8 priorities");
  return out;
}

Read<std::vector<App>> read_apps(WireReader in) {
  in.u8();  // reserved
  std::vector<App> out;
  if (!in.ok() || in.left() % 3 != 0) return wrong("wrong length");
  while (in.left() > 0) {
    const std::uint8_t first = in.u8();
    out.push_back({.priority = static_cast<std::uint8_t>(first >> 5U),
                   .selector = static_cast<std::uint8_t>(first & 7U),
                   .protocol = in.u16()});
  }
  return out;
}

CeeFeature read_feature(WireReader& in) {
  CeeFeature out{.oper_version = in.u8(), .max_version = in.u8()};
  const std::uint8_t flags = in.u8();
  out.enable = (flags & 0x80U) != 0;
  out.willing = (flags & 0x40U) != 0;
  out.error = (flags & 0x20U) != 0;
  out.subtype = in.u8();
  return out;
}

Read<CeeControl> read_control(WireReader in) {
  const CeeControl out{
      .oper_version = in.u8(), .max_version = in.u8(), .sequence = in.u32(), .ack = in.u32()};
  if (!in.ok() || in.left() > 0) return wrong("wrong length");
  return out;
}

Read<CeeGroups> read_groups(WireReader in) {
  CeeGroups out{.feature = read_feature(in)};
  out.group = read_nibbles(in);
  out.share = read_bytes(in);
  out.tcs = in.u8();
  if (!in.ok() || in.left() > 0) return wrong("wrong length");
  if (std::ranges::any_of(out.group, [](std::uint8_t g) { return g > 7 && g != kStrictGroup; }))
    return wrong("a priority is in a group that there isn't; allowed: 0 to 7 and 15");
  const unsigned sum = std::accumulate(out.share.begin(), out.share.end(), 0U);
  if (auto fault = fault_of_shares(sum, sum != 0)) return wrong(*fault);
  return out;
}

Read<CeePfc> read_cee_pfc(WireReader in) {
  CeePfc out{.feature = read_feature(in)};
  out.enabled = in.u8();
  out.tcs = in.u8();
  if (!in.ok() || in.left() > 0) return wrong("wrong length");
  return out;
}

Read<CeeApps> read_cee_apps(WireReader in) {
  CeeApps out{.feature = read_feature(in)};
  if (!in.ok() || in.left() % 6 != 0) return wrong("wrong length");
  while (in.left() > 0) {
    CeeApp app{.protocol = in.u16()};
    const std::uint8_t mixed = in.u8();
    app.selector = mixed & 3U;
    app.oui = static_cast<std::uint32_t>(mixed & 0xfcU) << 16U;
    app.oui |= in.u16();
    app.priorities = in.u8();
    out.entries.push_back(app);
  }
  return out;
}

// Takes TLVs of a kind that may be there once.
class Collector {
 public:
  explicit Collector(Said& said) : said_(said) {}

  template <class T>
  void take(std::string_view name, std::optional<T>& into, Read<T> value) {
    if (!value) return fault(name, value.error());
    if (into) return fault(name, "is there more than once");
    into = std::move(*value);
  }
  void fault(std::string_view name, const std::string& what) {
    said_.faults.push_back(std::string(name) + ": " + what);
  }

 private:
  Said& said_;
};

void read_ieee(const OrgTlv& tlv, Ieee& out, Collector& collect) {
  const WireReader in(tlv.value);
  switch (tlv.subtype) {
    case kIeeeEts:
      return collect.take("ETS configuration", out.ets, read_ets(in));
    case kIeeeRecommendation:
      return collect.take("ETS recommendation", out.recommendation, read_recommendation(in));
    case kIeeePfc:
      return collect.take("PFC", out.pfc, read_pfc(in));
    case kIeeeApp:
      return collect.take("application priority", out.apps, read_apps(in));
    default:
      return;
  }
}

// TLVs within the TLV, of a header of 7 bits type and 9 bits length. Without a control TLV the others mean
// nothing.
std::optional<Cee> read_cee(const OrgTlv& tlv, Collector& collect) {
  Cee out;
  std::optional<CeeControl> control;
  WireReader in(tlv.value);
  while (in.left() > 0) {
    const std::uint16_t head = in.u16();
    const ByteView value = in.bytes(head & 0x1ffU);
    if (!in.ok()) {
      collect.fault("CEE", "a TLV reaches beyond the end");
      break;
    }
    const WireReader inner(value);
    switch (head >> 9U) {
      case kCeeControl:
        collect.take("CEE control", control, read_control(inner));
        break;
      case kCeeGroups:
        collect.take("CEE priority groups", out.groups, read_groups(inner));
        break;
      case kCeePfc:
        collect.take("CEE PFC", out.pfc, read_cee_pfc(inner));
        break;
      case kCeeApp:
        collect.take("CEE application", out.apps, read_cee_apps(inner));
        break;
      default:
        break;
    }
  }
  if (!control) {
    collect.fault("CEE", "has no control TLV");
    return std::nullopt;
  }
  out.control = *control;
  return out;
}

void write_table(WireWriter& out, const Table& table) {
  write_nibbles(out, table.priority_tc);
  out.bytes(table.share).bytes(table.tsa);
}

void write_feature(WireWriter& out, std::uint8_t type, std::size_t size, const CeeFeature& feature) {
  out.u16(static_cast<unsigned>(type) << 9U | static_cast<unsigned>(4 + size));
  unsigned flags = 0;
  if (feature.enable) flags |= 0x80U;
  if (feature.willing) flags |= 0x40U;
  if (feature.error) flags |= 0x20U;
  out.u8(feature.oper_version).u8(feature.max_version).u8(flags).u8(feature.subtype);
}

OrgTlv ieee_tlv(std::uint8_t subtype, WireWriter& value) {
  return {.oui = kIeeeOui, .subtype = subtype, .value = value.take()};
}

}  // namespace

Said decode(std::span<const OrgTlv> tlvs) {
  Said out;
  Collector collect(out);
  Ieee ieee;
  for (const OrgTlv& tlv : tlvs) {
    if (tlv.oui == kIeeeOui) read_ieee(tlv, ieee, collect);
    if (tlv.oui != kCeeOui) continue;
    if (tlv.subtype == kCee100) out.cee100 = true;
    if (tlv.subtype != kCee101) continue;
    if (out.cee) {
      collect.fault("CEE", "is there more than once");
    } else {
      out.cee = read_cee(tlv, collect);
    }
  }
  if (!ieee.empty()) out.ieee = std::move(ieee);
  return out;
}

std::vector<OrgTlv> encode(const Ieee& ieee) {
  std::vector<OrgTlv> out;
  if (ieee.ets) {
    WireWriter value;
    value.u8((ieee.ets->willing ? 0x80U : 0U) | (ieee.ets->cbs ? 0x40U : 0U) | (ieee.ets->max_tcs & 7U));
    write_table(value, ieee.ets->table);
    out.push_back(ieee_tlv(kIeeeEts, value));
  }
  if (ieee.recommendation) {
    WireWriter value;
    value.u8(0);
    write_table(value, *ieee.recommendation);
    out.push_back(ieee_tlv(kIeeeRecommendation, value));
  }
  if (ieee.pfc) {
    WireWriter value;
    value.u8((ieee.pfc->willing ? 0x80U : 0U) | (ieee.pfc->mbc ? 0x40U : 0U) | (ieee.pfc->cap & 15U));
    value.u8(ieee.pfc->enabled);
    out.push_back(ieee_tlv(kIeeePfc, value));
  }
  if (ieee.apps) {
    WireWriter value;
    value.u8(0);
    for (const App& app : std::span(*ieee.apps).first(std::min(ieee.apps->size(), kMaxApps)))
      value.u8(static_cast<unsigned>(app.priority) << 5U | app.selector).u16(app.protocol);
    out.push_back(ieee_tlv(kIeeeApp, value));
  }
  return out;
}

OrgTlv encode(const Cee& cee) {
  WireWriter out;
  out.u16(static_cast<unsigned>(kCeeControl) << 9U | 10U);
  out.u8(cee.control.oper_version).u8(cee.control.max_version);
  out.u32(cee.control.sequence).u32(cee.control.ack);
  if (cee.groups) {
    write_feature(out, kCeeGroups, 13, cee.groups->feature);
    write_nibbles(out, cee.groups->group);
    out.bytes(cee.groups->share).u8(cee.groups->tcs);
  }
  if (cee.pfc) {
    write_feature(out, kCeePfc, 2, cee.pfc->feature);
    out.u8(cee.pfc->enabled).u8(cee.pfc->tcs);
  }
  if (cee.apps) {
    const auto entries = std::span(cee.apps->entries).first(std::min(cee.apps->entries.size(), kMaxCeeApps));
    write_feature(out, kCeeApp, 6 * entries.size(), cee.apps->feature);
    for (const CeeApp& app : entries) {
      out.u16(app.protocol).u8((app.oui >> 16U & 0xfcU) | app.selector);
      out.u16(app.oui & 0xffffU).u8(app.priorities);
    }
  }
  return {.oui = kCeeOui, .subtype = kCee101, .value = out.take()};
}

std::string to_string(const App& app) {
  constexpr std::array<std::string_view, 8> kFields{"field 0", "ethertype", "tcp",     "udp",
                                                    "port",    "dscp",      "field 6", "field 7"};
  std::string out(kFields[app.selector & 7U]);
  return out + " " + std::to_string(app.protocol) + " = " + std::to_string(app.priority);
}

std::string to_string(const CeeApp& app) {
  std::string out = app.selector == 0 ? "ethertype " : "port ";
  out += std::to_string(app.protocol) + " = ";
  std::string priorities;
  for (unsigned p = 0; p < 8; ++p)
    if ((app.priorities >> p & 1U) != 0) priorities += (priorities.empty() ? "" : ",") + std::to_string(p);
  return out + (priorities.empty() ? "none" : priorities);
}

}  // namespace lossless::dcbx
