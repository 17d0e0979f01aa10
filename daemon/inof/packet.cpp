// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/packet.h"

#include <algorithm>
#include <cassert>
#include <cstdio>

namespace lossless::inof {
namespace {

constexpr DialectFacts kOdcc{.name = "odcc",
                             .oui = 0x001882,
                             .subtype = 101,
                             .port_prefix = "snsd_",
                             .ethertype = 0x88a7,
                             .notify = 33,
                             .ack = 34,
                             .query = 35};
constexpr DialectFacts kChinaMobile{.name = "china-mobile",
                                    .oui = 0x5c75c6,
                                    .subtype = 88,
                                    .port_prefix = "roce-san_",
                                    .ethertype = 0x7777,
                                    .notify = 1,
                                    .ack = 2,
                                    .query = 3};

constexpr std::uint8_t kVersion = 1;  // of the TLV and of status frames

// TLV: version 1, address type and flags 1, reserved 2, address 16; then the tail.
constexpr std::uint8_t kTypeMask = 0x0f;
constexpr std::uint8_t kTypeV4 = 1;
constexpr std::uint8_t kTypeV6 = 2;
constexpr std::uint8_t kSubscribe = 0x80;
constexpr std::size_t kAddressField = 16;
constexpr std::size_t kTlvWithoutTail = 4 + kAddressField;
constexpr std::size_t kMaxServiceId = 255;

// Status frames.
constexpr std::size_t kSubHeader = 3;  // type 1, length 2; TLVs have the same
constexpr std::size_t kQueryFrame = 44;

enum Sub : std::uint8_t {
  kSubjectV4 = 1,
  kNotifiedV4 = 2,
  kSubjectV6 = 3,
  kNotifiedV6 = 4,
  kSequence = 5,
  kState = 6,
  kReason = 7,
  kAttached = 8,
};

template <std::size_t N>
std::string name_of(const std::array<std::string_view, N>& names, std::uint32_t value) {
  return value < N && !names[value].empty() ? std::string(names[value]) : std::to_string(value);
}

// What the subTLVs of one message hold.
struct Parts {
  std::optional<IpAddress> subject;
  std::optional<IpAddress> notified;
  std::optional<std::uint32_t> sequence;
  std::optional<std::uint32_t> state;
  std::optional<std::uint32_t> reason;
  std::optional<Bytes> attached;
};

template <class T>
bool set_once(std::optional<T>& part, T value) {
  if (part) return false;
  part = std::move(value);
  return true;
}

bool take_address(std::optional<IpAddress>& part, ByteView value, bool v6) {
  if (value.size() != (v6 ? 16U : 4U)) return false;
  return set_once(part, v6 ? IpAddress::v6_of(value) : IpAddress::v4_of(value));
}

bool take_number(std::optional<std::uint32_t>& part, ByteView value) {
  return value.size() == 4 && set_once(part, WireReader(value).u32());
}

// false: a wrong length, or one that was there. Unknown types are passed over.
bool take_sub(Parts& parts, std::uint8_t type, ByteView value) {
  switch (type) {
    case kSubjectV4:
    case kSubjectV6:
      return take_address(parts.subject, value, type == kSubjectV6);
    case kNotifiedV4:
    case kNotifiedV6:
      return take_address(parts.notified, value, type == kNotifiedV6);
    case kSequence:
      return take_number(parts.sequence, value);
    case kState:
      return take_number(parts.state, value);
    case kReason:
      return take_number(parts.reason, value);
    case kAttached:
      return set_once(parts.attached, Bytes(value.begin(), value.end()));
    default:
      return true;
  }
}

std::expected<Parts, FrameFault> read_parts(ByteView value) {
  Parts parts;
  WireReader in(value);
  while (in.left() > 0) {
    const std::uint8_t type = in.u8();
    const std::uint16_t length = in.u16();
    const ByteView sub = in.bytes(length);
    if (!in.ok()) return std::unexpected(FrameFault::Length);
    if (!take_sub(parts, type, sub)) return std::unexpected(FrameFault::SubTlv);
  }
  return parts;
}

std::optional<Message> message_of(const DialectFacts& dialect, std::uint8_t type, Parts parts) {
  if (type == dialect.query) {
    if (!parts.notified) return std::nullopt;
    return QueryZone{*parts.notified};
  }
  if (!parts.subject || !parts.notified || !parts.sequence) return std::nullopt;
  if (type == dialect.ack) return Ack{*parts.subject, *parts.notified, *parts.sequence};
  if (!parts.state || !parts.reason) return std::nullopt;
  return Notify{.subject = *parts.subject,
                .notified = *parts.notified,
                .sequence = *parts.sequence,
                .state = static_cast<State>(*parts.state),
                .reason = static_cast<Reason>(*parts.reason),
                .attached = std::move(parts.attached).value_or(Bytes{})};
}

// One TLV of a status frame onto `frame`.
std::optional<FrameFault> read_tlv(WireReader& in, const DialectFacts& dialect, StatusFrame& frame) {
  const std::uint8_t type = in.u8();
  const std::uint16_t length = in.u16();
  const ByteView value = in.bytes(length);
  if (!in.ok()) return FrameFault::Length;
  if (type != dialect.notify && type != dialect.ack && type != dialect.query) {
    frame.unknown_tlvs++;
    return std::nullopt;
  }
  auto parts = read_parts(value);
  if (!parts) return parts.error();
  auto message = message_of(dialect, type, std::move(*parts));
  if (!message) return FrameFault::Incomplete;
  frame.messages.push_back(std::move(*message));
  return std::nullopt;
}

class MessageWriter {
 public:
  MessageWriter(WireWriter& out, const DialectFacts& dialect) : out_(out), dialect_(dialect) {}

  void operator()(const Notify& m) {
    begin(dialect_.notify, m);
    address(m.subject, kSubjectV4, kSubjectV6);
    address(m.notified, kNotifiedV4, kNotifiedV6);
    number(kSequence, m.sequence);
    number(kState, static_cast<std::uint32_t>(m.state));
    number(kReason, static_cast<std::uint32_t>(m.reason));
    out_.u8(kAttached).u16(static_cast<std::uint32_t>(m.attached.size())).bytes(m.attached);
  }
  void operator()(const Ack& m) {
    begin(dialect_.ack, m);
    address(m.subject, kSubjectV4, kSubjectV6);
    address(m.notified, kNotifiedV4, kNotifiedV6);
    number(kSequence, m.sequence);
  }
  void operator()(const QueryZone& m) {
    begin(dialect_.query, m);
    address(m.address, kNotifiedV4, kNotifiedV6);
  }

 private:
  void begin(std::uint8_t type, const Message& message) {
    out_.u8(type).u16(static_cast<std::uint32_t>(encoded_size(message) - kSubHeader));
  }
  void address(const IpAddress& address, Sub v4, Sub v6) {
    out_.u8(address.v6 ? v6 : v4).u16(static_cast<std::uint32_t>(address.size())).bytes(address.view());
  }
  void number(Sub type, std::uint32_t value) { out_.u8(type).u16(4).u32(value); }

  WireWriter& out_;
  const DialectFacts& dialect_;
};

std::size_t address_size(const IpAddress& address) { return kSubHeader + address.size(); }
constexpr std::size_t kNumberSize = kSubHeader + 4;

void write_service(WireWriter& out, const Service& service) {
  const std::size_t length = std::min(service.id.size(), kMaxServiceId);
  out.u8(static_cast<std::uint8_t>(service.role))
      .u8(static_cast<std::uint8_t>(service.protocol))
      .u16(service.version)
      .u16(service.port)
      .u8(static_cast<std::uint8_t>(length));
  for (const char c : std::string_view(service.id).substr(0, length)) out.u8(static_cast<std::uint8_t>(c));
}

// Exactly one address of the TLV's field; the rest of the field of an IPv4 address is not looked at.
std::expected<IpAddress, TlvFault> read_address(std::uint8_t type, ByteView field) {
  if (type != kTypeV4 && type != kTypeV6) return std::unexpected(TlvFault::AddressType);
  const IpAddress address = type == kTypeV6 ? IpAddress::v6_of(field) : IpAddress::v4_of(field.first(4));
  if (address.is_zero()) return std::unexpected(TlvFault::Address);
  return address;
}

}  // namespace

const DialectFacts& facts(Dialect dialect) { return dialect == Dialect::Odcc ? kOdcc : kChinaMobile; }

std::optional<Dialect> dialect_of_ethertype(std::uint16_t ethertype) {
  for (const Dialect dialect : kDialects)
    if (facts(dialect).ethertype == ethertype) return dialect;
  return std::nullopt;
}

std::optional<Dialect> dialect_named(std::string_view name) {
  for (const Dialect dialect : kDialects)
    if (facts(dialect).name == name) return dialect;
  return std::nullopt;
}

std::string to_string(Role role) {
  constexpr std::array<std::string_view, 4> kNames{"", "server", "client", "both"};
  return name_of(kNames, static_cast<std::uint32_t>(role));
}

std::string to_string(Protocol protocol) {
  constexpr std::array<std::string_view, 4> kNames{"", "roce", "tcp", "iscsi"};
  return name_of(kNames, static_cast<std::uint32_t>(protocol));
}

std::string to_string(State state) {
  constexpr std::array<std::string_view, 2> kNames{"offline", "online"};
  return name_of(kNames, static_cast<std::uint32_t>(state));
}

std::string to_string(Reason reason) {
  constexpr std::array<std::string_view, 7> kNames{
      "normal", "link-down", "pfc-deadlock", "bfd", "removed-from-zone", "address-changed", "lldp-timeout"};
  return name_of(kNames, static_cast<std::uint32_t>(reason));
}

std::string_view to_string(TlvFault fault) {
  constexpr std::array<std::string_view, 4> kNames{"wrong length", "version is not 1",
                                                   "address type is neither IPv4 nor IPv6", "no address"};
  return kNames[static_cast<std::size_t>(fault)];
}

std::string_view to_string(FrameFault fault) {
  constexpr std::array<std::string_view, kFrameFaults> kNames{
      "no iNOF Ethernet header", "wrong destination address", "version is not 1",
      "lengths do not add up",   "malformed subTLV",          "incomplete message"};
  return kNames[static_cast<std::size_t>(fault)];
}

std::optional<Dialect> dialect_of(const lldp::OrgTlv& tlv) {
  for (const Dialect dialect : kDialects)
    if (facts(dialect).oui == tlv.oui && facts(dialect).subtype == tlv.subtype) return dialect;
  return std::nullopt;
}

std::expected<HostTlv, TlvFault> decode_host(const lldp::OrgTlv& tlv) {
  HostTlv host{.dialect = dialect_of(tlv).value_or(Dialect::Odcc), .address = {}};
  if (tlv.value.size() < kTlvWithoutTail) return std::unexpected(TlvFault::Length);
  WireReader in(tlv.value);
  if (in.u8() != kVersion) return std::unexpected(TlvFault::Version);
  const std::uint8_t flags = in.u8();
  in.u16();
  const auto address = read_address(flags & kTypeMask, in.bytes(kAddressField));
  if (!address) return std::unexpected(address.error());
  host.address = *address;
  host.subscribes = (flags & kSubscribe) != 0;
  if (in.left() == 0) return host;
  host.service = decode_service(in.rest());
  if (!host.service) return std::unexpected(TlvFault::Length);
  return host;
}

lldp::OrgTlv encode_host(const HostTlv& host) {
  WireWriter out;
  const unsigned type = host.address.v6 ? kTypeV6 : kTypeV4;
  out.u8(kVersion).u8(type | (host.subscribes ? kSubscribe : 0U)).u16(0).bytes(host.address.bytes);
  if (host.service) write_service(out, *host.service);
  const DialectFacts& dialect = facts(host.dialect);
  return {.oui = dialect.oui, .subtype = dialect.subtype, .value = out.take()};
}

lldp::Id host_port_id(Dialect dialect, std::string_view interface_name, unsigned index) {
  std::string text(facts(dialect).port_prefix);
  const std::string number = std::to_string(index);
  text.append(interface_name).append("_").append(number.size() < 2 ? "0" : "").append(number);
  return lldp::port_of(text);
}

bool has_prefix(const lldp::Id& port, Dialect dialect) {
  const std::string_view prefix = facts(dialect).port_prefix;
  return port.value.size() > prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), port.value.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

Bytes encode_service(const Service& service) {
  WireWriter out;
  write_service(out, service);
  return out.take();
}

std::optional<Service> decode_service(ByteView attached) {
  WireReader in(attached);
  Service service;
  service.role = static_cast<Role>(in.u8());
  service.protocol = static_cast<Protocol>(in.u8());
  service.version = in.u16();
  service.port = in.u16();
  const ByteView id = in.bytes(in.u8());
  if (!in.ok() || in.left() > 0) return std::nullopt;
  service.id.assign(id.begin(), id.end());
  return service;
}

Bytes attached_of(const HostTlv& host) {
  return host.service ? encode_service(*host.service) : Bytes(kMinAttached);
}

std::expected<StatusFrame, FrameFault> decode_frame(ByteView frame) {
  WireReader in(frame);
  const ByteView destination = in.bytes(6);
  const ByteView source = in.bytes(6);
  const auto dialect = dialect_of_ethertype(in.u16());
  if (!in.ok() || !dialect) return std::unexpected(FrameFault::Ethernet);
  if (!std::ranges::equal(destination, kStatusGroup)) return std::unexpected(FrameFault::Destination);
  const std::uint8_t version = in.u8();
  in.u8();
  const std::uint16_t length = in.u16();
  in.u32();
  if (in.ok() && version != kVersion) return std::unexpected(FrameFault::Version);
  WireReader tlvs(in.bytes(length));  // what follows is padding
  if (!in.ok() || length == 0) return std::unexpected(FrameFault::Length);

  StatusFrame out{.dialect = *dialect};
  std::ranges::copy(source, out.source.begin());
  while (tlvs.left() > 0)
    if (const auto fault = read_tlv(tlvs, facts(*dialect), out)) return std::unexpected(*fault);
  return out;
}

std::size_t encoded_size(const Message& message) {
  if (const auto* query = std::get_if<QueryZone>(&message)) return kSubHeader + address_size(query->address);
  if (const auto* ack = std::get_if<Ack>(&message))
    return kSubHeader + address_size(ack->subject) + address_size(ack->notified) + kNumberSize;
  const auto& notify = std::get<Notify>(message);
  return kSubHeader + address_size(notify.subject) + address_size(notify.notified) + 3 * kNumberSize +
         kSubHeader + notify.attached.size();
}

Bytes encode_frame(Dialect dialect, const Mac& source, std::span<const Message> messages) {
  std::size_t length = 0;
  bool query = false;
  for (const Message& message : messages) {
    length += encoded_size(message);
    query = query || std::holds_alternative<QueryZone>(message);
  }
  assert(length <= kMaxMessages);
  WireWriter out;
  write_ethernet(out, kStatusGroup, source, facts(dialect).ethertype);
  out.u8(kVersion).u8(0).u16(static_cast<std::uint32_t>(length)).u32(0);
  for (const Message& message : messages) std::visit(MessageWriter(out, facts(dialect)), message);
  if (query && out.size() < kQueryFrame) out.zeros(kQueryFrame - out.size());
  return out.take();
}

std::vector<Bytes> encode_frames(Dialect dialect, const Mac& source, std::span<const Message> messages) {
  std::vector<Bytes> frames;
  while (!messages.empty()) {
    std::size_t count = 1;
    std::size_t size = encoded_size(messages[0]);
    while (count < messages.size() && size + encoded_size(messages[count]) <= kMaxMessages)
      size += encoded_size(messages[count++]);
    frames.push_back(encode_frame(dialect, source, messages.first(count)));
    messages = messages.subspan(count);
  }
  return frames;
}

}  // namespace lossless::inof
