// SPDX-License-Identifier: Apache-2.0
#include "daemon/lldp/packet.h"

#include <algorithm>
#include <array>

#include "daemon/core/address.h"

namespace lossless::lldp {
namespace {

// TLV types (table 8-1).
enum Type : std::uint8_t {
  kEnd = 0,
  kChassisId = 1,
  kPortId = 2,
  kTtl = 3,
  kPortDescription = 4,
  kSystemName = 5,
  kSystemDescription = 6,
  kSystemCapabilities = 7,
  kManagementAddress = 8,
  kOrganization = 127,
};

constexpr std::uint8_t kMaxSubtype = 7;  // of chassis and port IDs
constexpr std::size_t kMaxManagementAddress = 31;
constexpr std::size_t kMaxOid = 128;
constexpr std::size_t kMaxOrgValue = kMaxTlvValue - 4;
constexpr std::uint8_t kFamilyV4 = 1;
constexpr std::uint8_t kFamilyV6 = 2;
constexpr std::uint8_t kFamilyMac = 6;

struct Tlv {
  std::uint8_t type = 0;
  ByteView value;
};

// Header of 7 bits of type and 9 of length.
std::optional<Tlv> next_tlv(WireReader& in) {
  const std::uint16_t header = in.u16();
  Tlv tlv{.type = static_cast<std::uint8_t>(header >> 9U), .value = in.bytes(header & 0x1ffU)};
  if (!in.ok()) return std::nullopt;
  return tlv;
}

std::optional<Id> read_id(ByteView value) {
  if (value.size() < 2 || value.size() > 1 + kMaxId) return std::nullopt;
  return Id{.subtype = value[0], .value = Bytes(value.begin() + 1, value.end())};
}

// Chassis ID, port ID and TTL, in this order (8.2).
std::optional<Fault> read_mandatory(WireReader& in, Packet& out) {
  std::array<ByteView, 3> values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto tlv = next_tlv(in);
    if (!tlv) return Fault::Truncated;
    if (tlv->type != kChassisId + i) return Fault::Mandatory;
    values[i] = tlv->value;
  }
  auto chassis = read_id(values[0]);
  if (!chassis) return Fault::ChassisId;
  auto port = read_id(values[1]);
  if (!port) return Fault::PortId;
  // Longer ones are read by their first two bytes (9.2.7.7.1 e).
  if (values[2].size() < 2) return Fault::Ttl;
  out.chassis = std::move(*chassis);
  out.port = std::move(*port);
  out.ttl_s = WireReader(values[2]).u16();
  return std::nullopt;
}

bool read_text(ByteView value, std::optional<std::string>& out) {
  if (out || value.size() > kMaxText) return false;
  out.emplace(value.begin(), value.end());
  return true;
}

bool read_capabilities(ByteView value, std::optional<Capabilities>& out) {
  if (out || value.size() != 4) return false;
  WireReader in(value);
  const std::uint16_t supported = in.u16();
  out = Capabilities{.supported = supported, .enabled = in.u16()};
  return true;
}

bool read_management(ByteView value, std::vector<ManagementAddress>& out) {
  WireReader in(value);
  const std::uint8_t length = in.u8();  // of family and address
  if (length < 2 || length > 1 + kMaxManagementAddress) return false;
  ManagementAddress address;
  address.family = in.u8();
  const ByteView bytes = in.bytes(length - 1U);
  address.interface_subtype = in.u8();
  address.interface_number = in.u32();
  const std::uint8_t oid_length = in.u8();
  const ByteView oid = in.bytes(oid_length);
  if (!in.ok() || oid_length > kMaxOid) return false;
  address.address.assign(bytes.begin(), bytes.end());
  address.oid.assign(oid.begin(), oid.end());
  out.push_back(std::move(address));
  return true;
}

bool read_org(ByteView value, std::vector<OrgTlv>& out) {
  WireReader in(value);
  OrgTlv org{.oui = in.u24(), .subtype = in.u8()};
  if (!in.ok()) return false;
  const ByteView rest = in.rest();
  org.value.assign(rest.begin(), rest.end());
  out.push_back(std::move(org));
  return true;
}

// false: the content is wrong, the TLV is left out.
bool read_optional(const Tlv& tlv, Decoded& out) {
  Packet& packet = out.packet;
  switch (tlv.type) {
    case kPortDescription:
      return read_text(tlv.value, packet.port_description);
    case kSystemName:
      return read_text(tlv.value, packet.system_name);
    case kSystemDescription:
      return read_text(tlv.value, packet.system_description);
    case kSystemCapabilities:
      return read_capabilities(tlv.value, packet.capabilities);
    case kManagementAddress:
      return read_management(tlv.value, packet.management);
    case kOrganization:
      return read_org(tlv.value, packet.org);
    default:
      out.tlvs_unrecognised++;
      return true;
  }
}

class PacketWriter {
 public:
  PacketWriter(const Packet& packet, const Mac& source, const Mac& destination) {
    write_ethernet(out_, destination, source, kEthertype);
    id(kChassisId, packet.chassis);
    id(kPortId, packet.port);
  }

  void ttl(std::uint16_t seconds) {
    header(kTtl, 2);
    out_.u16(seconds);
  }
  void text(Type type, const std::optional<std::string>& text) {
    if (!text) return;
    const std::size_t length = std::min(text->size(), kMaxText);
    header(type, length);
    for (const char c : std::string_view(*text).substr(0, length)) out_.u8(static_cast<std::uint8_t>(c));
  }
  void capabilities(const Capabilities& value) {
    header(kSystemCapabilities, 4);
    out_.u16(value.supported).u16(value.enabled);
  }
  void management(const ManagementAddress& value) {
    const std::size_t address = std::min(value.address.size(), kMaxManagementAddress);
    const std::size_t oid = std::min(value.oid.size(), kMaxOid);
    if (address == 0 || !fits(8 + address + oid)) return;
    header(kManagementAddress, 8 + address + oid);
    out_.u8(static_cast<std::uint32_t>(1 + address)).u8(value.family);
    out_.bytes(ByteView(value.address).first(address)).u8(value.interface_subtype);
    out_.u32(value.interface_number)
        .u8(static_cast<std::uint32_t>(oid))
        .bytes(ByteView(value.oid).first(oid));
  }
  void org(const OrgTlv& value) {
    const std::size_t length = 4 + value.value.size();
    if (value.value.size() > kMaxOrgValue || !fits(length)) return;
    header(kOrganization, length);
    out_.u24(value.oui).u8(value.subtype).bytes(value.value);
  }
  Bytes finish() {
    header(kEnd, 0);
    return out_.take();
  }

 private:
  void header(Type type, std::size_t length) {
    out_.u16(static_cast<std::uint32_t>(type) << 9U | static_cast<std::uint32_t>(length));
  }
  void id(Type type, const Id& id) {
    const std::size_t length = std::min(id.value.size(), kMaxId);
    header(type, 1 + length);
    out_.u8(id.subtype).bytes(ByteView(id.value).first(length));
  }
  // With its header, and with the end after it.
  bool fits(std::size_t length) const { return out_.size() + 2 + length + 2 <= kMaxFrame; }

  WireWriter out_;
};

bool is_group(ByteView mac) {
  return std::ranges::equal(mac, kNearestBridge) || std::ranges::equal(mac, kNearestNonTpmrBridge) ||
         std::ranges::equal(mac, kNearestCustomerBridge);
}

std::string hex(ByteView bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "0x";
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xfU];
  }
  return out;
}

// Names come from strangers: what is not printable ASCII is shown as "?".
std::string printable_text(ByteView bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes) out += byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte) : '?';
  return out;
}

// Family and address as IDs carry network addresses.
std::string network_text(std::uint8_t family, ByteView address) {
  if (family == kFamilyV4 && address.size() == 4) return lossless::to_string(IpAddress::v4_of(address));
  if (family == kFamilyV6 && address.size() == 16) return lossless::to_string(IpAddress::v6_of(address));
  if (family == kFamilyMac && address.size() == 6) return mac_text(address);
  return hex(address);
}

enum class IdForm : std::uint8_t { Text, Mac, Network, Hex };

std::string id_text(IdForm form, const Id& id) {
  switch (form) {
    case IdForm::Text:
      return printable_text(id.value);
    case IdForm::Mac:
      return id.value.size() == 6 ? mac_text(id.value) : hex(id.value);
    case IdForm::Network:
      return id.value.empty() ? "" : network_text(id.value[0], ByteView(id.value).subspan(1));
    case IdForm::Hex:
      break;
  }
  return hex(id.value);
}

struct SubtypeFacts {
  std::string_view name;
  IdForm form;
};
// Tables 8-2 and 8-3; subtype 0 is reserved.
constexpr std::array<SubtypeFacts, kMaxSubtype + 1> kChassisSubtypes{{{"reserved", IdForm::Hex},
                                                                      {"chassis-component", IdForm::Text},
                                                                      {"interface-alias", IdForm::Text},
                                                                      {"port-component", IdForm::Text},
                                                                      {"mac", IdForm::Mac},
                                                                      {"network", IdForm::Network},
                                                                      {"interface", IdForm::Text},
                                                                      {"local", IdForm::Text}}};
constexpr std::array<SubtypeFacts, kMaxSubtype + 1> kPortSubtypes{{{"reserved", IdForm::Hex},
                                                                   {"interface-alias", IdForm::Text},
                                                                   {"port-component", IdForm::Text},
                                                                   {"mac", IdForm::Mac},
                                                                   {"network", IdForm::Network},
                                                                   {"interface", IdForm::Text},
                                                                   {"agent-circuit", IdForm::Hex},
                                                                   {"local", IdForm::Text}}};

const SubtypeFacts& subtype_facts(const std::array<SubtypeFacts, kMaxSubtype + 1>& table, std::uint8_t type) {
  return table[type <= kMaxSubtype ? type : 0];
}

}  // namespace

Id chassis_of(const Mac& mac) { return {.subtype = kChassisMac, .value = Bytes(mac.begin(), mac.end())}; }

Id port_of(std::string_view interface_name) {
  return {.subtype = kPortInterfaceName, .value = Bytes(interface_name.begin(), interface_name.end())};
}

std::string chassis_text(const Id& id) {
  return id_text(subtype_facts(kChassisSubtypes, id.subtype).form, id);
}
std::string port_text(const Id& id) { return id_text(subtype_facts(kPortSubtypes, id.subtype).form, id); }
std::string chassis_subtype_text(std::uint8_t subtype) {
  return std::string(subtype_facts(kChassisSubtypes, subtype).name);
}
std::string port_subtype_text(std::uint8_t subtype) {
  return std::string(subtype_facts(kPortSubtypes, subtype).name);
}

std::string capabilities_text(std::uint16_t bits) {
  constexpr std::array<std::string_view, 11> kNames{"other",  "repeater", "bridge", "wlan-ap",
                                                    "router", "phone",    "docsis", "station",
                                                    "c-vlan", "s-vlan",   "tpmr"};
  std::string out;
  for (std::size_t bit = 0; bit < kNames.size(); ++bit)
    if ((bits >> bit & 1U) != 0) out.append(out.empty() ? "" : ",").append(kNames[bit]);
  return out;
}

std::string management_text(const ManagementAddress& address) {
  return network_text(address.family, address.address);
}

std::string_view to_string(Fault fault) {
  constexpr std::array<std::string_view, 6> kNames{"no LLDP Ethernet header",
                                                   "a TLV reaches beyond the frame",
                                                   "chassis ID, port ID and TTL are not the first three",
                                                   "chassis ID has a wrong length",
                                                   "port ID has a wrong length",
                                                   "TTL has a wrong length"};
  return kNames[static_cast<std::size_t>(fault)];
}

std::expected<Decoded, Fault> decode(ByteView frame) {
  WireReader in(frame);
  const ByteView destination = in.bytes(6);
  const ByteView source = in.bytes(6);
  if (in.u16() != kEthertype || !in.ok() || !is_group(destination)) return std::unexpected(Fault::Ethernet);
  Decoded out;
  std::ranges::copy(source, out.source.begin());
  if (const auto fault = read_mandatory(in, out.packet)) return std::unexpected(*fault);
  // The end TLV may be missing when the frame ends there (8.5.1): old agents leave it out.
  while (in.left() > 0) {
    const auto tlv = next_tlv(in);
    if (!tlv) return std::unexpected(Fault::Truncated);
    if (tlv->type == kEnd) break;
    if (tlv->type <= kTtl) return std::unexpected(Fault::Mandatory);
    if (!read_optional(*tlv, out)) out.tlvs_discarded++;
  }
  return out;
}

Bytes encode(const Packet& packet, const Mac& source, const Mac& destination) {
  PacketWriter out(packet, source, destination);
  out.ttl(packet.ttl_s);
  out.text(kPortDescription, packet.port_description);
  out.text(kSystemName, packet.system_name);
  out.text(kSystemDescription, packet.system_description);
  if (packet.capabilities) out.capabilities(*packet.capabilities);
  for (const ManagementAddress& address : packet.management) out.management(address);
  for (const OrgTlv& org : packet.org) out.org(org);
  return out.finish();
}

Bytes encode_shutdown(const Packet& packet, const Mac& source, const Mac& destination) {
  PacketWriter out(packet, source, destination);
  out.ttl(0);
  return out.finish();
}

}  // namespace lossless::lldp
