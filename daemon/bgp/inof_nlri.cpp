// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/inof_nlri.h"

#include <algorithm>

#include "daemon/core/config_source.h"

namespace lossless::bgp {
namespace {

// Every TLV begins with three numbers of two bytes: what the key is, what the value is, and the kind. Those
// of DefaultZone are as published; the others follow its manner.
enum KeyType : std::uint16_t { kKeyHost = 1, kKeyRouter = 2, kKeyZone = 4, kKeyMember = 5 };
enum ValueType : std::uint16_t { kNoValue = 1, kHostValue = 2, kSwitchState = 3 };
enum Kind : std::uint16_t { kHost = 1, kZone = 2, kZoneHost = 3, kDefaultZone = 4, kHardZone = 5 };

struct Layout {
  Kind kind;
  KeyType key;
  ValueType value;
  std::string_view name;
};
constexpr std::array<Layout, 5> kLayouts{{{kHost, kKeyHost, kHostValue, "host"},
                                          {kZone, kKeyZone, kNoValue, "zone"},
                                          {kZoneHost, kKeyMember, kNoValue, "zone-host"},
                                          {kDefaultZone, kKeyRouter, kSwitchState, "default-zone"},
                                          {kHardZone, kKeyRouter, kSwitchState, "hard-zone"}}};

constexpr std::uint8_t kFlagSubscribes = 1;
constexpr std::uint8_t kFlagService = 2;
constexpr std::uint8_t kFlagOffline = 4;

const Layout* layout_of(ByteView tlv) {
  if (tlv.size() < 6) return nullptr;
  WireReader in(tlv);
  in.u32();
  const std::uint16_t kind = in.u16();
  const auto at = std::ranges::find(kLayouts, kind, [](const Layout& l) -> std::uint16_t { return l.kind; });
  return at == kLayouts.end() ? nullptr : &*at;
}

void write_id(WireWriter& out, const lldp::Id& id) {
  out.u8(id.subtype).u8(static_cast<std::uint32_t>(id.value.size())).bytes(id.value);
}

lldp::Id read_id(WireReader& in) {
  lldp::Id out{.subtype = in.u8()};
  const std::uint8_t length = in.u8();
  const ByteView value = in.bytes(length);
  out.value.assign(value.begin(), value.end());
  return out;
}

void write_name(WireWriter& out, std::string_view name) {
  out.u8(static_cast<std::uint32_t>(name.size()));
  out.bytes(ByteView(reinterpret_cast<const std::uint8_t*>(name.data()), name.size()));
}

std::string read_name(WireReader& in) {
  const std::uint8_t length = in.u8();
  const ByteView value = in.bytes(length);
  return {value.begin(), value.end()};
}

std::uint8_t family_byte(bool v6) { return v6 ? 6 : 4; }

std::optional<IpAddress> read_address(WireReader& in, std::uint8_t family) {
  if (family != 4 && family != 6) return std::nullopt;
  const ByteView bytes = in.bytes(family == 6 ? 16 : 4);
  if (!in.ok()) return std::nullopt;
  return family == 6 ? IpAddress::v6_of(bytes) : IpAddress::v4_of(bytes);
}

class Writer {
 public:
  explicit Writer(WireWriter& out) : out_(out) {}

  void operator()(const HostRoute& r) {
    begin(kHost, r.origin);
    write_id(out_, r.chassis);
    write_id(out_, r.port_id);
    out_.u8(static_cast<std::uint32_t>(r.tlv.dialect));
    out_.u8((r.tlv.subscribes ? kFlagSubscribes : 0U) | (r.tlv.service ? kFlagService : 0U) |
            (r.online ? 0U : kFlagOffline));
    out_.u8(static_cast<std::uint32_t>(r.reason));
    out_.u8(family_byte(r.tlv.address.v6)).bytes(r.tlv.address.view());
    if (!r.tlv.service) return;
    out_.u8(static_cast<std::uint32_t>(r.tlv.service->role));
    out_.u8(static_cast<std::uint32_t>(r.tlv.service->protocol));
    out_.u16(r.tlv.service->version).u16(r.tlv.service->port);
    write_name(out_, r.tlv.service->id);
  }
  void operator()(const ZoneRoute& r) {
    begin(kZone, r.origin);
    write_name(out_, r.name);
  }
  void operator()(const ZoneHostRoute& r) {
    begin(kZoneHost, r.origin);
    write_name(out_, r.zone);
    out_.u8(family_byte(r.member.first.v6)).bytes(r.member.first.view()).bytes(r.member.last.view());
  }
  void operator()(const DefaultZoneRoute& r) {
    begin(kDefaultZone, r.origin);
    out_.u32(r.on ? 1 : 0);
  }
  void operator()(const HardZoneRoute& r) {
    begin(kHardZone, r.origin);
    out_.u32(r.on ? 1 : 0);
  }

 private:
  void begin(Kind kind, RouterId origin) {
    const Layout& layout = *std::ranges::find(kLayouts, kind, &Layout::kind);
    out_.u16(layout.key).u16(layout.value).u16(layout.kind).u32(origin);
  }

  WireWriter& out_;
};

using Result = std::expected<InofRoute, InofFault>;

std::optional<InofFault> read_host_value(WireReader& in, HostRoute& out) {
  inof::HostTlv& tlv = out.tlv;
  const std::uint8_t dialect = in.u8();
  const std::uint8_t flags = in.u8();
  const std::uint8_t reason = in.u8();
  const auto address = read_address(in, in.u8());
  if (!in.ok()) return InofFault::Length;
  if (dialect >= inof::kDialects.size() || !address) return InofFault::Value;
  out.online = (flags & kFlagOffline) == 0;
  out.reason = static_cast<inof::Reason>(reason);
  tlv.dialect = static_cast<inof::Dialect>(dialect);
  tlv.address = *address;
  tlv.subscribes = (flags & kFlagSubscribes) != 0;
  if ((flags & kFlagService) != 0) {
    inof::Service& service = tlv.service.emplace();
    service.role = static_cast<inof::Role>(in.u8());
    service.protocol = static_cast<inof::Protocol>(in.u8());
    service.version = in.u16();
    service.port = in.u16();
    service.id = read_name(in);
  }
  return std::nullopt;
}

Result read_host(WireReader& in, RouterId origin) {
  HostRoute out{.origin = origin, .chassis = read_id(in), .port_id = read_id(in), .tlv = {}};
  if (!in.ok() || out.chassis.value.empty() || out.port_id.value.empty())
    return std::unexpected(InofFault::Length);
  if (const auto fault = read_host_value(in, out)) return std::unexpected(*fault);
  return out;
}

bool valid_name(const std::string& name) { return !name.empty() && name.size() <= kMaxZoneName; }

Result read_zone(WireReader& in, RouterId origin) {
  ZoneRoute out{.origin = origin, .name = read_name(in)};
  if (in.ok() && !valid_name(out.name)) return std::unexpected(InofFault::Value);
  return out;
}

Result read_zone_host(WireReader& in, RouterId origin) {
  ZoneHostRoute out{.origin = origin, .zone = read_name(in), .member = {}};
  const std::uint8_t family = in.u8();
  const auto first = read_address(in, family);
  const auto last = read_address(in, family);
  if (!in.ok()) return std::unexpected(InofFault::Length);
  if (!first || !last || *last < *first || !valid_name(out.zone)) return std::unexpected(InofFault::Value);
  out.member = {*first, *last};
  return out;
}

template <class Route>
Result read_switch(WireReader& in, RouterId origin) {
  const std::uint32_t state = in.u32();
  if (in.ok() && state > 1) return std::unexpected(InofFault::Value);
  return Route{origin, state == 1};
}

Result read_body(Kind kind, WireReader& in, RouterId origin) {
  switch (kind) {
    case kHost:
      return read_host(in, origin);
    case kZone:
      return read_zone(in, origin);
    case kZoneHost:
      return read_zone_host(in, origin);
    case kDefaultZone:
      return read_switch<DefaultZoneRoute>(in, origin);
    case kHardZone:
      break;
  }
  return read_switch<HardZoneRoute>(in, origin);
}

std::string host_text(const HostRoute& r) {
  std::string out = to_string(r.tlv.address) + " at " + id_text(r.origin) + ": " +
                    lldp::port_text(r.port_id) + " on " + lldp::chassis_text(r.chassis);
  if (r.tlv.service)
    out += ", " + to_string(r.tlv.service->role) + " " + to_string(r.tlv.service->protocol) +
           (r.tlv.service->id.empty() ? "" : " " + printable(r.tlv.service->id));
  if (!r.online) out += ", left: " + to_string(r.reason);
  return out;
}

struct Text {
  std::string operator()(const HostRoute& r) const { return host_text(r); }
  std::string operator()(const ZoneRoute& r) const { return printable(r.name) + " at " + id_text(r.origin); }
  std::string operator()(const ZoneHostRoute& r) const {
    return printable(r.zone) + " at " + id_text(r.origin) + ": " + to_string(r.member);
  }
  std::string operator()(const DefaultZoneRoute& r) const { return state(r.on, r.origin); }
  std::string operator()(const HardZoneRoute& r) const { return state(r.on, r.origin); }
  static std::string state(bool on, RouterId origin) {
    return std::string(on ? "on" : "off") + " at " + id_text(origin);
  }
};

}  // namespace

RouterId origin_of(const InofRoute& route) {
  return std::visit([](const auto& r) { return r.origin; }, route);
}

std::string_view to_string(InofFault fault) {
  static constexpr std::array<std::string_view, 4> kTexts{"unknown kind",
                                                          "key and value types do not belong to the kind",
                                                          "lengths do not add up", "a value out of range"};
  return kTexts[static_cast<std::size_t>(fault)];
}

Bytes encode_inof(const InofRoute& route) {
  WireWriter out;
  std::visit(Writer(out), route);
  return out.take();
}

std::expected<InofRoute, InofFault> decode_inof(ByteView tlv) {
  const Layout* layout = layout_of(tlv);
  if (!layout) return std::unexpected(InofFault::Kind);
  WireReader in(tlv);
  const std::uint16_t key = in.u16();
  const std::uint16_t value = in.u16();
  in.u16();
  if (key != layout->key || value != layout->value) return std::unexpected(InofFault::Types);
  const RouterId origin = in.u32();
  Result out = read_body(layout->kind, in, origin);
  if (out && (!in.ok() || in.left() > 0)) return std::unexpected(InofFault::Length);
  return out;
}

std::size_t inof_key_size(ByteView tlv) {
  const Layout* layout = layout_of(tlv);
  WireReader in(tlv);
  const std::uint16_t key = in.u16();
  const std::uint16_t value = in.u16();
  if (!layout || layout->key != key || layout->value != value) return tlv.size();
  in.u16();
  in.u32();
  switch (layout->key) {
    case kKeyHost:
      for (int i = 0; i < 2; ++i) {
        in.u8();
        in.bytes(in.u8());
      }
      break;
    case kKeyRouter:
      break;
    case kKeyZone:
    case kKeyMember:
      return tlv.size();
  }
  return in.ok() ? tlv.size() - in.left() : tlv.size();
}

std::string_view kind_text(ByteView tlv) {
  const Layout* layout = layout_of(tlv);
  return layout ? layout->name : "unknown";
}

std::string inof_text(ByteView tlv) {
  if (const auto route = decode_inof(tlv)) return std::visit(Text{}, *route);
  std::string out;
  for (const std::uint8_t byte : tlv) {
    static constexpr std::string_view kHex = "0123456789abcdef";
    out += kHex[byte >> 4U];
    out += kHex[byte & 0xfU];
  }
  return out;
}

}  // namespace lossless::bgp
