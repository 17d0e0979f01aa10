// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/packet.h"

#include <algorithm>

#include "daemon/core/config_source.h"

namespace lossless::bgp {
namespace {

constexpr std::size_t kMarker = 16;
constexpr std::uint8_t kVersion4 = 4;
constexpr std::uint8_t kCapabilitiesParameter = 2;
constexpr std::uint8_t kExtendedParameters = 255;  // RFC 9072
constexpr std::size_t kMaxShutdownText = 255;
constexpr std::uint16_t kRestartTimeMask = 0x0fff;
constexpr std::uint16_t kRestartBit = 0x8000;
constexpr std::uint16_t kNotificationBit = 0x4000;
constexpr std::uint8_t kForwardingBit = 0x80;

enum Capability : std::uint8_t {
  kMultiprotocol = 1,
  kRouteRefresh = 2,
  kExtendedMessage = 6,
  kGracefulRestart = 64,
  kFourOctetAs = 65,
  kEnhancedRefresh = 70,
};

std::unexpected<Notification> refuse(ErrorCode code, std::uint8_t subcode, ByteView data = {}) {
  return std::unexpected(
      Notification{.code = code, .subcode = subcode, .data = Bytes(data.begin(), data.end())});
}

Bytes two_bytes(std::size_t value) {
  WireWriter out;
  out.u16(static_cast<std::uint32_t>(value));
  return out.take();
}

std::size_t shortest(MessageType type) {
  switch (type) {
    case MessageType::Open:
      return kHeader + 10;
    case MessageType::Update:
      return kHeader + 4;
    case MessageType::Notification:
      return kHeader + 2;
    case MessageType::Keepalive:
    case MessageType::RouteRefresh:
      break;
  }
  return kHeader;
}

std::optional<MessageType> type_of(std::uint8_t number) {
  for (const MessageType type : {MessageType::Open, MessageType::Update, MessageType::Notification,
                                 MessageType::Keepalive, MessageType::RouteRefresh})
    if (number == static_cast<std::uint8_t>(type)) return type;
  return std::nullopt;
}

// RFC 4724 section 3: flags and time, then AFI, SAFI and flags of each family.
std::optional<GracefulRestart> read_graceful_restart(ByteView value) {
  if (value.size() % 4 != 2) return std::nullopt;
  WireReader in(value);
  const std::uint16_t head = in.u16();
  GracefulRestart out{.restarting = (head & kRestartBit) != 0,
                      .notification = (head & kNotificationBit) != 0,
                      .time_s = static_cast<std::uint16_t>(head & kRestartTimeMask)};
  while (in.left() > 0) {
    const std::uint16_t afi = in.u16();
    const std::uint8_t safi = in.u8();
    const bool forwarding = (in.u8() & kForwardingBit) != 0;
    if (const auto family = family_of(afi, safi)) out.families.push_back({*family, forwarding});
  }
  return out;
}

// A capability of the wrong length is one that was not sent (RFC 5492 leaves it open; a session that ends
// over it helps nobody).
void read_capability(std::uint8_t code, ByteView value, Open& out) {
  WireReader in(value);
  switch (code) {
    case kMultiprotocol: {
      if (value.size() != 4) break;
      const std::uint16_t afi = in.u16();
      in.u8();
      if (const auto family = family_of(afi, in.u8())) out.families.add(*family);
      return;
    }
    case kRouteRefresh:
      out.route_refresh = true;
      return;
    case kExtendedMessage:
      out.extended_message = true;
      return;
    case kEnhancedRefresh:
      out.enhanced_refresh = true;
      return;
    case kFourOctetAs:
      if (value.size() != 4) break;
      out.four_octet_as = true;
      out.asn = in.u32();
      return;
    case kGracefulRestart:
      out.graceful_restart = read_graceful_restart(value);
      if (out.graceful_restart) return;
      break;
    default:
      break;
  }
  out.unknown_capabilities++;
}

bool read_capabilities(ByteView value, Open& out, bool& multiprotocol) {
  WireReader in(value);
  while (in.left() > 0) {
    const std::uint8_t code = in.u8();
    const std::uint8_t length = in.u8();
    const ByteView capability = in.bytes(length);
    if (!in.ok()) return false;
    multiprotocol |= code == kMultiprotocol;
    read_capability(code, capability, out);
  }
  return true;
}

// What is wrong with the parameters, or nothing.
std::optional<std::uint8_t> read_parameters(WireReader in, Open& out) {
  std::size_t length = in.u8();
  bool wide = false;
  if (length == kExtendedParameters && in.left() > 0) {
    WireReader peek = in;
    if (peek.u8() == kExtendedParameters) {
      in = peek;
      length = in.u16();
      wide = true;
    }
  }
  if (length != in.left()) return std::uint8_t{0};
  bool multiprotocol = false;
  while (in.left() > 0) {
    const std::uint8_t type = in.u8();
    const std::size_t size = wide ? in.u16() : in.u8();
    const ByteView value = in.bytes(size);
    if (!in.ok()) return std::uint8_t{0};
    if (type != kCapabilitiesParameter) return error::kParameter;
    if (!read_capabilities(value, out, multiprotocol)) return std::uint8_t{0};
  }
  // RFC 4760 section 8: whoever names no family speaks IPv4 unicast.
  if (!multiprotocol) out.families.add(Family::Ipv4Unicast);
  return std::nullopt;
}

void write_capability(WireWriter& out, std::uint8_t code, ByteView value) {
  out.u8(code).u8(static_cast<std::uint32_t>(value.size())).bytes(value);
}

Bytes encode_capabilities(const Open& open) {
  WireWriter out;
  for (const FamilyFacts& f : kFamilyTable) {
    if (!open.families.has(f.family)) continue;
    WireWriter value;
    value.u16(f.afi).u8(0).u8(f.safi);
    write_capability(out, kMultiprotocol, value.take());
  }
  if (open.route_refresh) write_capability(out, kRouteRefresh, {});
  if (open.extended_message) write_capability(out, kExtendedMessage, {});
  if (open.graceful_restart) {
    const GracefulRestart& gr = *open.graceful_restart;
    WireWriter value;
    value.u16((gr.restarting ? kRestartBit : 0U) | (gr.notification ? kNotificationBit : 0U) |
              (gr.time_s & kRestartTimeMask));
    for (const auto& kept : gr.families)
      value.u16(facts(kept.family).afi).u8(facts(kept.family).safi).u8(kept.forwarding ? kForwardingBit : 0U);
    write_capability(out, kGracefulRestart, value.take());
  }
  if (open.four_octet_as) {
    WireWriter value;
    value.u32(open.asn);
    write_capability(out, kFourOctetAs, value.take());
  }
  if (open.enhanced_refresh) write_capability(out, kEnhancedRefresh, {});
  return out.take();
}

std::string subcode_text(const Notification& n) {
  struct Name {
    ErrorCode code;
    std::uint8_t subcode;
    std::string_view text;
  };
  static constexpr std::array<Name, 29> kNames{{
      {ErrorCode::Header, error::kNotSynchronised, "marker is not all ones"},
      {ErrorCode::Header, error::kBadLength, "bad message length"},
      {ErrorCode::Header, error::kBadType, "bad message type"},
      {ErrorCode::Open, error::kVersion, "unsupported version"},
      {ErrorCode::Open, error::kBadPeerAs, "bad peer AS"},
      {ErrorCode::Open, error::kBadId, "bad BGP identifier"},
      {ErrorCode::Open, error::kParameter, "unsupported optional parameter"},
      {ErrorCode::Open, error::kHoldTime, "unacceptable hold time"},
      {ErrorCode::Open, error::kCapability, "unsupported capability"},
      {ErrorCode::Update, error::kAttributeList, "malformed attribute list"},
      {ErrorCode::Update, error::kUnknownWellKnown, "unrecognised well-known attribute"},
      {ErrorCode::Update, error::kOptionalAttribute, "optional attribute error"},
      {ErrorCode::Update, error::kNetwork, "invalid network field"},
      {ErrorCode::Fsm, error::kInOpenSent, "unexpected message in OpenSent"},
      {ErrorCode::Fsm, error::kInOpenConfirm, "unexpected message in OpenConfirm"},
      {ErrorCode::Fsm, error::kInEstablished, "unexpected message in Established"},
      {ErrorCode::Cease, error::kMaxPrefixes, "maximum number of prefixes reached"},
      {ErrorCode::Cease, error::kShutdown, "administrative shutdown"},
      {ErrorCode::Cease, error::kDeconfigured, "peer de-configured"},
      {ErrorCode::Cease, error::kReset, "administrative reset"},
      {ErrorCode::Cease, error::kRejected, "connection rejected"},
      {ErrorCode::Cease, error::kConfigChanged, "other configuration change"},
      {ErrorCode::Cease, error::kCollision, "connection collision resolution"},
      {ErrorCode::Cease, error::kResources, "out of resources"},
      {ErrorCode::Cease, 9, "hard reset"},
      {ErrorCode::Cease, error::kBfdDown, "BFD down"},
      {ErrorCode::Update, 3, "missing well-known attribute"},
      {ErrorCode::Update, 8, "invalid NEXT_HOP"},
      {ErrorCode::RouteRefresh, 1, "bad message length"},
  }};
  for (const Name& name : kNames)
    if (name.code == n.code && name.subcode == n.subcode) return std::string(name.text);
  return n.subcode == 0 ? "" : "subcode " + std::to_string(n.subcode);
}

std::string code_text(ErrorCode code) {
  static constexpr std::array<std::string_view, 8> kCodes{
      "", "message header", "OPEN", "UPDATE", "hold timer expired", "FSM", "cease", "ROUTE-REFRESH"};
  const auto n = static_cast<std::size_t>(code);
  return n > 0 && n < kCodes.size() ? std::string(kCodes[n]) : "error code " + std::to_string(n);
}

}  // namespace

std::string to_string(const PeerAddress& peer) {
  return to_string(peer.address) + (peer.interface.empty() ? "" : "%" + peer.interface);
}

std::optional<PeerAddress> parse_peer(std::string_view text) {
  const std::size_t at = text.find('%');
  const auto address = parse_ip(text.substr(0, at));
  if (!address) return std::nullopt;
  if (at == std::string_view::npos) return PeerAddress(*address);
  if (!address->is_link_local() || at + 1 == text.size()) return std::nullopt;
  return PeerAddress(*address, std::string(text.substr(at + 1)));
}

std::string id_text(RouterId id) {
  WireWriter out;
  out.u32(id);
  return lossless::to_string(IpAddress::v4_of(out.take()));
}

RouterId id_of(const IpAddress& v4) { return WireReader(v4.view()).u32(); }

std::string to_string(const Notification& n) {
  std::string out = code_text(n.code);
  if (const std::string sub = subcode_text(n); !sub.empty()) out += ", " + sub;
  const bool has_text =
      n.code == ErrorCode::Cease && (n.subcode == error::kShutdown || n.subcode == error::kReset);
  if (has_text && !n.data.empty() && n.data[0] > 0 && n.data[0] < n.data.size()) {
    const std::string text(n.data.begin() + 1, n.data.begin() + 1 + n.data[0]);
    out += ": \"" + printable(text) + "\"";
  }
  return out;
}

std::string_view to_string(MessageType type) {
  static constexpr std::array<std::string_view, 6> kNames{
      "", "OPEN", "UPDATE", "NOTIFICATION", "KEEPALIVE", "ROUTE-REFRESH"};
  return kNames[static_cast<std::size_t>(type) % kNames.size()];
}

void Framer::feed(ByteView bytes) {
  if (at_ == buffer_.size()) {
    buffer_.clear();
  } else if (at_ > 0) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
  }
  at_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::expected<std::optional<Message>, Notification> Framer::next() {
  if (held() < kHeader) return std::nullopt;
  const ByteView all = ByteView(buffer_).subspan(at_);
  if (std::ranges::any_of(all.first(kMarker), [](std::uint8_t b) { return b != 0xff; }))
    return refuse(ErrorCode::Header, error::kNotSynchronised);
  WireReader in(all.subspan(kMarker));
  const std::size_t length = in.u16();
  const auto type = type_of(in.u8());
  if (!type) return refuse(ErrorCode::Header, error::kBadType, all.subspan(kMarker + 2, 1));
  const bool keepalive = *type == MessageType::Keepalive;
  const bool small = *type == MessageType::Open || keepalive;
  if (length < shortest(*type) || length > (small ? kMaxMessage : max_) || (keepalive && length != kHeader))
    return refuse(ErrorCode::Header, error::kBadLength, two_bytes(length));
  if (all.size() < length) return std::nullopt;
  at_ += length;
  return Message{*type, all.subspan(kHeader, length - kHeader)};
}

std::expected<Open, Notification> decode_open(ByteView body) {
  WireReader in(body);
  Open out{
      .four_octet_as = false, .route_refresh = false, .enhanced_refresh = false, .extended_message = false};
  const std::uint8_t version = in.u8();
  out.asn = in.u16();
  out.hold_s = in.u16();
  out.router_id = in.u32();
  if (in.left() == 0) return refuse(ErrorCode::Header, error::kBadLength);
  if (version != kVersion4) return refuse(ErrorCode::Open, error::kVersion, two_bytes(kVersion4));
  if (const auto fault = read_parameters(in, out)) return refuse(ErrorCode::Open, *fault);
  if (out.asn == 0) return refuse(ErrorCode::Open, error::kBadPeerAs);  // RFC 7607
  if (out.hold_s == 1 || out.hold_s == 2) return refuse(ErrorCode::Open, error::kHoldTime);
  if (out.router_id == 0) return refuse(ErrorCode::Open, error::kBadId);
  return out;
}

std::expected<Notification, Notification> decode_notification(ByteView body) {
  WireReader in(body);
  Notification out{.code = static_cast<ErrorCode>(in.u8()), .subcode = in.u8()};
  if (!in.ok()) return refuse(ErrorCode::Header, error::kBadLength);
  const ByteView data = in.rest();
  out.data.assign(data.begin(), data.end());
  return out;
}

std::expected<RouteRefresh, Notification> decode_route_refresh(ByteView body) {
  // More bytes are outbound route filters (RFC 5291), which nobody was offered.
  if (body.size() != 4) return refuse(ErrorCode::RouteRefresh, 1, body);
  WireReader in(body);
  const std::uint16_t afi = in.u16();
  const std::uint8_t kind = in.u8();
  return RouteRefresh{.family = family_of(afi, in.u8()), .kind = kind};
}

Bytes encode_message(MessageType type, ByteView body) {
  WireWriter out;
  for (std::size_t i = 0; i < kMarker; ++i) out.u8(0xff);
  out.u16(static_cast<std::uint32_t>(kHeader + body.size())).u8(static_cast<std::uint32_t>(type)).bytes(body);
  return out.take();
}

Bytes encode_open(const Open& open) {
  const Bytes capabilities = encode_capabilities(open);
  const auto size = static_cast<std::uint32_t>(capabilities.size());
  WireWriter body;
  body.u8(kVersion4).u16(open.asn > 0xffff ? kAsTrans : open.asn).u16(open.hold_s).u32(open.router_id);
  body.u8(size + 2).u8(kCapabilitiesParameter).u8(size).bytes(capabilities);
  return encode_message(MessageType::Open, body.take());
}

Bytes encode_notification(const Notification& n) {
  WireWriter body;
  body.u8(static_cast<std::uint32_t>(n.code)).u8(n.subcode);
  body.bytes(ByteView(n.data).first(std::min(n.data.size(), kMaxMessage - kHeader - 2)));
  return encode_message(MessageType::Notification, body.take());
}

Bytes encode_keepalive() { return encode_message(MessageType::Keepalive, {}); }

Bytes encode_route_refresh(Family family, RefreshKind kind) {
  WireWriter body;
  body.u16(facts(family).afi).u8(static_cast<std::uint32_t>(kind)).u8(facts(family).safi);
  return encode_message(MessageType::RouteRefresh, body.take());
}

Notification shutdown_notification(std::uint8_t subcode, std::string_view text) {
  Notification out{.code = ErrorCode::Cease, .subcode = subcode};
  if (text.size() > kMaxShutdownText) {
    text = text.substr(0, kMaxShutdownText);
    // Not in the middle of a character.
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0U) == 0x80U) text.remove_suffix(1);
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0U) text.remove_suffix(1);
  }
  if (text.empty()) return out;
  WireWriter data;
  data.u8(static_cast<std::uint32_t>(text.size()));
  data.bytes(ByteView(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  out.data = data.take();
  return out;
}

}  // namespace lossless::bgp
