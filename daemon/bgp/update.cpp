// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/update.h"

#include <algorithm>
#include <bitset>

#include "daemon/bgp/packet.h"

namespace lossless::bgp {
namespace {

constexpr std::uint8_t kMpReach = static_cast<std::uint8_t>(AttributeType::MpReach);
constexpr std::uint8_t kMpUnreach = static_cast<std::uint8_t>(AttributeType::MpUnreach);
constexpr std::uint8_t kFlagsThatMatter = kOptional | kTransitive;
constexpr unsigned kIpv4Bits = 32;

std::unexpected<Notification> reset(std::uint8_t subcode, ByteView data = {}) {
  return std::unexpected(
      Notification{.code = ErrorCode::Update, .subcode = subcode, .data = Bytes(data.begin(), data.end())});
}

std::optional<NlriList> read_prefixes(ByteView bytes) {
  NlriList out;
  WireReader in(bytes);
  while (in.left() > 0) {
    std::array<std::uint8_t, 5> prefix{in.u8()};
    const unsigned bits = prefix[0];
    const ByteView part = in.bytes((bits + 7) / 8);
    if (!in.ok() || bits > kIpv4Bits) return std::nullopt;
    std::ranges::copy(part, prefix.begin() + 1);
    if (bits % 8 != 0) prefix[part.size()] &= static_cast<std::uint8_t>(0xff << (8 - bits % 8));
    out.add(ByteView(prefix).first(1 + part.size()));
  }
  return out;
}

std::optional<NlriList> read_tlvs(ByteView bytes) {
  NlriList out;
  WireReader in(bytes);
  while (in.left() > 0) {
    const std::size_t length = in.u16();
    const ByteView tlv = in.bytes(length);
    if (!in.ok() || tlv.empty() || tlv.size() > kMaxInofNlri) return std::nullopt;
    out.add(tlv);
  }
  return out;
}

// One UPDATE while it is read.
class Decoder {
 public:
  explicit Decoder(const UpdateContext& context) : context_(context) {}

  std::expected<Update, Notification> run(ByteView body) {
    WireReader in(body);
    const ByteView withdrawn = in.bytes(in.u16());
    const ByteView attributes = in.bytes(in.u16());
    // RFC 7606 section 4: without these lengths nothing can be found.
    if (!in.ok()) return reset(error::kAttributeList);
    const ByteView announced = in.rest();
    if (const auto fault = plain_routes(withdrawn, out_.withdrawn)) return std::unexpected(*fault);
    if (const auto fault = read_attributes(attributes)) return std::unexpected(*fault);
    has_plain_ = !announced.empty();
    if (const auto fault = plain_routes(announced, out_.announced)) return std::unexpected(*fault);
    finish(body);
    return std::move(out_);
  }

 private:
  using Fault = std::optional<Notification>;
  Fault fail(std::uint8_t subcode, ByteView data = {}) {
    return Notification{
        .code = ErrorCode::Update, .subcode = subcode, .data = Bytes(data.begin(), data.end())};
  }

  void note(Handling handling, std::string what) {
    static constexpr std::array<std::string_view, 3> kWhat{"attribute discarded", "treated as withdraw",
                                                           "session reset"};
    out_.faults.push_back(std::move(what) + ": " + std::string(kWhat[static_cast<std::size_t>(handling)]));
    out_.treated_as_withdraw |= handling == Handling::TreatAsWithdraw;
  }

  // RFC 7606 section 5.3: routes that cannot be told apart reset the session.
  Fault plain_routes(ByteView bytes, std::vector<FamilyRoutes>& into) {
    if (bytes.empty()) return std::nullopt;
    auto list = read_nlris(Family::Ipv4Unicast, bytes);
    if (!list) return fail(error::kNetwork);
    if (context_.families.has(Family::Ipv4Unicast)) into.push_back({Family::Ipv4Unicast, std::move(*list)});
    return std::nullopt;
  }

  Fault read_attributes(ByteView bytes) {
    WireReader in(bytes);
    while (in.left() > 0) {
      const auto raw = next_attribute(in);
      if (!raw) {
        note(Handling::TreatAsWithdraw, "an attribute reaches beyond the attributes' length");
        return std::nullopt;
      }
      if (seen_.test(raw->type)) {
        // RFC 7606 section 3 (g).
        if (raw->type == kMpReach || raw->type == kMpUnreach) return fail(error::kAttributeList);
        note(Handling::Discard, "attribute " + std::to_string(raw->type) + " comes again");
        continue;
      }
      seen_.set(raw->type);
      const Fault fault = raw->type == kMpReach     ? read_reach(*raw)
                          : raw->type == kMpUnreach ? read_unreach(*raw)
                                                    : read_attribute(*raw);
      if (fault) return fault;
    }
    return std::nullopt;
  }

  Fault read_attribute(const RawAttribute& raw) {
    const AttributeRow* row = find_attribute(raw.type);
    if (!row) return read_unknown(raw);
    if (row->internal_only && context_.attributes.external) {
      note(Handling::Discard, std::string(row->name) + " from an external neighbour");
      return std::nullopt;
    }
    // RFC 6793 section 4.1: of no meaning from whoever speaks four octets.
    const bool as4 = row->type == AttributeType::As4Path || row->type == AttributeType::As4Aggregator;
    if (as4 && context_.attributes.four_octet_as) return std::nullopt;
    if ((raw.flags & kFlagsThatMatter) != row->flags) {
      note(Handling::TreatAsWithdraw, std::string(row->name) + " has wrong flags");
    } else if (!row->decode(raw.value, context_.attributes, out_.attributes)) {
      note(row->malformed, std::string(row->name) + " is malformed");
    }
    return std::nullopt;
  }

  Fault read_unknown(const RawAttribute& raw) {
    if ((raw.flags & kOptional) == 0) return fail(error::kUnknownWellKnown, raw.whole);
    if ((raw.flags & kTransitive) == 0) return std::nullopt;
    out_.attributes.unknown.push_back({.flags = static_cast<std::uint8_t>(kOptional | kTransitive | kPartial),
                                       .type = raw.type,
                                       .value = Bytes(raw.value.begin(), raw.value.end())});
    return std::nullopt;
  }

  // RFC 4760 section 3: AFI 2, SAFI 1, next hop length 1, next hop, reserved 1, routes.
  Fault read_reach(const RawAttribute& raw) {
    WireReader in(raw.value);
    const std::uint16_t afi = in.u16();
    const std::uint8_t safi = in.u8();
    const ByteView hop = in.bytes(in.u8());
    in.u8();
    if (!in.ok()) return fail(error::kOptionalAttribute, raw.whole);
    if ((raw.flags & kFlagsThatMatter) != kOptional)
      note(Handling::TreatAsWithdraw, "mp-reach-nlri has wrong flags");
    const auto family = family_of(afi, safi);
    if (!family || !context_.families.has(*family)) return std::nullopt;
    // RFC 7606 section 7.11: without its length the routes cannot be found. 32: with a link-local one.
    if (hop.size() != 4 && hop.size() != 16 && hop.size() != 32)
      return fail(error::kOptionalAttribute, raw.whole);
    auto list = read_nlris(*family, in.rest());
    if (!list) return fail(error::kOptionalAttribute, raw.whole);
    mp_next_hop_ = hop.size() == 4 ? IpAddress::v4_of(hop) : IpAddress::v6_of(hop.first(16));
    if (!list->empty()) out_.announced.push_back({*family, std::move(*list)});
    return std::nullopt;
  }

  Fault read_unreach(const RawAttribute& raw) {
    WireReader in(raw.value);
    const std::uint16_t afi = in.u16();
    const std::uint8_t safi = in.u8();
    if (!in.ok()) return fail(error::kOptionalAttribute, raw.whole);
    if ((raw.flags & kFlagsThatMatter) != kOptional)
      note(Handling::TreatAsWithdraw, "mp-unreach-nlri has wrong flags");
    const auto family = family_of(afi, safi);
    if (!family || !context_.families.has(*family)) return std::nullopt;
    auto list = read_nlris(*family, in.rest());
    if (!list) return fail(error::kOptionalAttribute, raw.whole);
    if (list->empty()) unreach_end_ = family;
    if (!list->empty()) out_.withdrawn.push_back({*family, std::move(*list)});
    return std::nullopt;
  }

  // RFC 7606 section 3 (d): one that must be there and is not.
  void check_mandatory() {
    if (out_.announced.empty() && !has_plain_) return;
    const PathAttributes& a = out_.attributes;
    const auto lacks = [&](std::string_view name) {
      note(Handling::TreatAsWithdraw, std::string(name) + " is missing");
    };
    if (out_.treated_as_withdraw) return;
    if (!a.origin) lacks("origin");
    if (!a.as_path) lacks("as-path");
    if (has_plain_ && !a.next_hop) lacks("next-hop");
  }

  void finish(ByteView body) {
    check_mandatory();
    if (out_.treated_as_withdraw) {
      for (FamilyRoutes& routes : out_.announced) out_.withdrawn.push_back(std::move(routes));
      out_.announced.clear();
      out_.attributes = {};
      return;
    }
    merge_as4(out_.attributes);
    std::ranges::sort(out_.attributes.unknown, {}, &UnknownAttribute::type);
    // Routes of both kinds in one message: those of MP_REACH_NLRI have its next hop.
    if (mp_next_hop_ && !has_plain_) out_.attributes.next_hop = mp_next_hop_;
    if (!out_.announced.empty() || !out_.withdrawn.empty()) return;
    if (body.size() == 4 && context_.families.has(Family::Ipv4Unicast)) out_.end_of_rib = Family::Ipv4Unicast;
    if (unreach_end_ && seen_.count() == 1) out_.end_of_rib = unreach_end_;
  }

  const UpdateContext& context_;
  Update out_;
  std::bitset<256> seen_;
  bool has_plain_ = false;
  std::optional<IpAddress> mp_next_hop_;
  std::optional<Family> unreach_end_;
};

// Begins a message, its length still open.
std::size_t begin_message(WireWriter& out) {
  const std::size_t at = out.size();
  for (std::size_t i = 0; i < 16; ++i) out.u8(0xff);
  out.u16(0).u8(static_cast<std::uint32_t>(MessageType::Update));
  return at;
}

void end_message(WireWriter& out, std::size_t at) {
  out.put_u16(at + 16, static_cast<std::uint32_t>(out.size() - at));
}

// How many of the routes from `from` on fit into `room`, and their bytes.
struct Fit {
  std::size_t end;
  std::size_t bytes;
};
Fit fit(Family family, std::span<const ByteView> nlris, std::size_t from, std::size_t room) {
  Fit out{from, 0};
  while (out.end < nlris.size()) {
    const std::size_t size = wire_size(family, nlris[out.end]);
    if (out.bytes + size > room) break;
    out.bytes += size;
    ++out.end;
  }
  return out;
}

void write_routes(WireWriter& out, Family family, std::span<const ByteView> nlris) {
  for (const ByteView nlri : nlris) write_nlri(out, family, nlri);
}

// Header of a multiprotocol attribute with a two-byte length.
void mp_header(WireWriter& out, std::uint8_t type, std::size_t length, Family family) {
  out.u8(kOptional | kExtendedLength).u8(type).u16(static_cast<std::uint32_t>(length));
  out.u16(facts(family).afi).u8(facts(family).safi);
}

void announce_plain(WireWriter& out, ByteView attributes, std::span<const ByteView> nlris) {
  const std::size_t at = begin_message(out);
  out.u16(0).u16(static_cast<std::uint32_t>(attributes.size())).bytes(attributes);
  write_routes(out, Family::Ipv4Unicast, nlris);
  end_message(out, at);
}

void announce_mp(WireWriter& out, Family family, ByteView attributes, const IpAddress& hop,
                 std::span<const ByteView> nlris, std::size_t bytes) {
  const std::size_t value = 5 + hop.size() + bytes;
  const std::size_t at = begin_message(out);
  out.u16(0).u16(static_cast<std::uint32_t>(attributes.size() + 4 + value)).bytes(attributes);
  mp_header(out, kMpReach, value, family);
  out.u8(static_cast<std::uint32_t>(hop.size())).bytes(hop.view()).u8(0);
  write_routes(out, family, nlris);
  end_message(out, at);
}

void withdraw_message(WireWriter& out, Family family, std::span<const ByteView> nlris, std::size_t bytes) {
  const std::size_t at = begin_message(out);
  if (family == Family::Ipv4Unicast) {
    out.u16(static_cast<std::uint32_t>(bytes));
    write_routes(out, family, nlris);
    out.u16(0);
  } else {
    out.u16(0).u16(static_cast<std::uint32_t>(7 + bytes));
    mp_header(out, kMpUnreach, 3 + bytes, family);
    write_routes(out, family, nlris);
  }
  end_message(out, at);
}

// Cuts the routes into messages; `write` makes one of those that fit.
template <class Write>
std::size_t pack(const UpdateShape& shape, std::size_t overhead, std::span<const ByteView> nlris,
                 const Write& write) {
  if (overhead >= shape.max_message) return 0;
  std::size_t messages = 0;
  for (std::size_t from = 0; from < nlris.size();) {
    const Fit part = fit(shape.family, nlris, from, shape.max_message - overhead);
    if (part.end == from) {
      ++from;
      continue;
    }
    write(nlris.subspan(from, part.end - from), part.bytes);
    ++messages;
    from = part.end;
  }
  return messages;
}

}  // namespace

std::size_t wire_size(Family family, ByteView nlri) { return nlri.size() + (family == Family::Inof ? 2 : 0); }

void write_nlri(WireWriter& out, Family family, ByteView nlri) {
  if (family == Family::Inof) out.u16(static_cast<std::uint32_t>(nlri.size()));
  out.bytes(nlri);
}

std::optional<NlriList> read_nlris(Family family, ByteView in) {
  return family == Family::Ipv4Unicast ? read_prefixes(in) : read_tlvs(in);
}

std::expected<Update, Notification> decode_update(ByteView body, const UpdateContext& context) {
  return Decoder(context).run(body);
}

std::size_t encode_announce(const UpdateShape& shape, ByteView attributes, const IpAddress& next_hop,
                            std::span<const ByteView> nlris, Bytes& out) {
  const bool plain = shape.family == Family::Ipv4Unicast;
  const std::size_t overhead = kHeader + 4 + attributes.size() + (plain ? 0 : 9 + next_hop.size());
  WireWriter writer(std::move(out));
  const std::size_t count =
      pack(shape, overhead, nlris, [&](std::span<const ByteView> part, std::size_t bytes) {
        if (plain) {
          announce_plain(writer, attributes, part);
        } else {
          announce_mp(writer, shape.family, attributes, next_hop, part, bytes);
        }
      });
  out = writer.take();
  return count;
}

std::size_t encode_withdraw(const UpdateShape& shape, std::span<const ByteView> nlris, Bytes& out) {
  const std::size_t overhead = kHeader + 4 + (shape.family == Family::Ipv4Unicast ? 0 : 7);
  WireWriter writer(std::move(out));
  const std::size_t count =
      pack(shape, overhead, nlris, [&](std::span<const ByteView> part, std::size_t bytes) {
        withdraw_message(writer, shape.family, part, bytes);
      });
  out = writer.take();
  return count;
}

Bytes encode_end_of_rib(Family family) {
  WireWriter out;
  if (family == Family::Ipv4Unicast) {
    const std::size_t at = begin_message(out);
    out.u16(0).u16(0);
    end_message(out, at);
  } else {
    withdraw_message(out, family, {}, 0);
  }
  return out.take();
}

}  // namespace lossless::bgp
