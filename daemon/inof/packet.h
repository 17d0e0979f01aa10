// SPDX-License-Identifier: Apache-2.0
// iNOF on the wire between host and switch: the LLDP TLV by which a host shows itself, and the notification,
// ACK and query-zone frames, in both dialects. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/core/address.h"
#include "daemon/core/config.h"
#include "daemon/lldp/packet.h"

namespace lossless::inof {

using Dialect = InofDialect;
inline constexpr std::array<Dialect, 2> kDialects{Dialect::Odcc, Dialect::ChinaMobile};

// All that differs between the dialects.
struct DialectFacts {
  std::string_view name;  // "odcc", "china-mobile"
  std::uint32_t oui;
  std::uint8_t subtype;
  std::string_view port_prefix;  // of the LLDP port ID
  std::uint16_t ethertype;       // of status frames
  std::uint8_t notify;           // TLV types of status frames
  std::uint8_t ack;
  std::uint8_t query;
};
const DialectFacts& facts(Dialect dialect);
std::optional<Dialect> dialect_of_ethertype(std::uint16_t ethertype);
std::optional<Dialect> dialect_named(std::string_view name);

// Status frames go to this address in both directions, ACKs included.
inline constexpr Mac kStatusGroup{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0d};
inline constexpr std::size_t kMaxFrame = 1514;    // hosts refuse longer ones
inline constexpr std::uint16_t kHostTtl = 120;    // seconds; a host that is silent for longer has left
inline constexpr std::uint16_t kNvmePort = 4420;  // what port 0 means

enum class Role : std::uint8_t { Server = 1, Client = 2, Both = 3 };  // initiator, target
enum class Protocol : std::uint8_t { Roce = 1, Tcp = 2, Iscsi = 3 };
std::string to_string(Role role);          // "server", or the number of one that we don't know
std::string to_string(Protocol protocol);  // "roce", or the number

// The tail of the TLV. Role and protocol are kept as they came, also when they have no name.
struct Service {
  Role role = Role::Both;
  Protocol protocol = Protocol::Roce;
  std::uint16_t version = 0x0101;  // of the protocol; as attached information, reserved
  std::uint16_t port = 0;          // 0: kNvmePort
  std::string id = {};             // NQN, at most 255 bytes; any bytes
  bool operator==(const Service&) const = default;
};
inline constexpr std::size_t kMinAttached = 7;  // a Service with no ID

// What a host says about one of its addresses.
struct HostTlv {
  Dialect dialect = Dialect::Odcc;
  IpAddress address = {};
  bool subscribes = false;  // wants notifications
  std::optional<Service> service = {};
  bool operator==(const HostTlv&) const = default;
};

enum class TlvFault : std::uint8_t { Length, Version, AddressType, Address };
std::string_view to_string(TlvFault fault);

// The dialect of an org TLV by OUI and subtype; nothing if it is not iNOF's.
std::optional<Dialect> dialect_of(const lldp::OrgTlv& tlv);
// Of a TLV that dialect_of() knows.
std::expected<HostTlv, TlvFault> decode_host(const lldp::OrgTlv& tlv);
lldp::OrgTlv encode_host(const HostTlv& host);
// "snsd_eth0.100_01": the port ID of a host's address number `index` (from 1) on an interface.
lldp::Id host_port_id(Dialect dialect, std::string_view interface_name, unsigned index);
// Whether a port ID begins as that dialect's do.
bool has_prefix(const lldp::Id& port, Dialect dialect);

// Attached information (subTLV 8): a Service in the shape of the TLV's tail. Receivers pass it on unread.
Bytes encode_service(const Service& service);
std::optional<Service> decode_service(ByteView attached);
// What a notification about this host carries: its tail, or kMinAttached zeros, since hosts don't ACK one
// without.
Bytes attached_of(const HostTlv& host);

// Numbers beyond these occur: values are kept as they came.
enum class State : std::uint32_t { Offline = 0, Online = 1 };
enum class Reason : std::uint32_t {
  Normal = 0,
  LinkDown = 1,
  PfcDeadlock = 2,
  Bfd = 3,
  RemovedFromZone = 4,
  AddressChanged = 5,
  LldpTimeout = 6,
};
std::string to_string(State state);    // "online", or the number
std::string to_string(Reason reason);  // "link-down", or the number

// switch -> host: `subject` came or went.
struct Notify {
  IpAddress subject = {};
  IpAddress notified = {};  // the host that this is for
  std::uint32_t sequence = 0;
  State state = State::Offline;
  Reason reason = Reason::Normal;
  Bytes attached = {};  // empty in a frame without it
  bool operator==(const Notify&) const = default;
};

// host -> switch: repeats addresses and sequence number.
struct Ack {
  IpAddress subject = {};
  IpAddress notified = {};
  std::uint32_t sequence = 0;
  bool operator==(const Ack&) const = default;
};

// host -> switch: who is in the zones of this address of mine?
struct QueryZone {
  IpAddress address = {};
  bool operator==(const QueryZone&) const = default;
};

using Message = std::variant<Notify, Ack, QueryZone>;

struct StatusFrame {
  Dialect dialect = Dialect::Odcc;
  Mac source{};
  std::vector<Message> messages = {};  // in the frame's order
  unsigned unknown_tlvs = 0;           // TLVs of other types, passed over
};

// Why a frame is refused as a whole.
enum class FrameFault : std::uint8_t {
  Ethernet,     // too short, or an ethertype of neither dialect
  Destination,  // not kStatusGroup
  Version,      // not 1
  Length,       // header, TLV or subTLV lengths do not add up
  SubTlv,       // one of the known ones has a wrong length, or comes twice
  Incomplete,   // a message lacks an address, sequence number, state or reason
};
std::string_view to_string(FrameFault fault);
inline constexpr std::size_t kFrameFaults = 6;

std::expected<StatusFrame, FrameFault> decode_frame(ByteView frame);

// Bytes that the message takes in a frame, headers of the frame not counted.
std::size_t encoded_size(const Message& message);
// Room for messages in one frame.
inline constexpr std::size_t kMaxMessages = kMaxFrame - kEthernetHeader - 8;
// One frame with all messages: together at most kMaxMessages bytes. Not padded, but to the 44 bytes that
// hosts give a query.
Bytes encode_frame(Dialect dialect, const Mac& source, std::span<const Message> messages);
// As few frames as hold the messages in their order.
std::vector<Bytes> encode_frames(Dialect dialect, const Mac& source, std::span<const Message> messages);

}  // namespace lossless::inof
