// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/attributes.h"

#include <algorithm>
#include <cstdio>

namespace lossless::bgp {
namespace {

using Context = AttributeContext;
using Attrs = PathAttributes;

// AS_PATH: segments of type 1, count 1, numbers.
std::optional<AsPath> read_path(ByteView value, bool four_octet) {
  AsPath path;
  WireReader in(value);
  while (in.left() > 0) {
    const std::uint8_t kind = in.u8();
    const std::uint8_t count = in.u8();
    if (!in.ok() || kind < AsSegment::Set || kind > AsSegment::ConfedSet || count == 0) return std::nullopt;
    AsSegment segment{.kind = static_cast<AsSegment::Kind>(kind)};
    for (unsigned i = 0; i < count; ++i) segment.as.push_back(four_octet ? in.u32() : in.u16());
    if (!in.ok()) return std::nullopt;
    path.push_back(std::move(segment));
  }
  return path;
}

void write_path(WireWriter& out, const AsPath& path, bool four_octet) {
  for (const AsSegment& segment : path) {
    out.u8(segment.kind).u8(static_cast<std::uint32_t>(segment.as.size()));
    for (const std::uint32_t as : segment.as) {
      if (four_octet) {
        out.u32(as);
      } else {
        out.u16(as > 0xffff ? kAsTrans : as);
      }
    }
  }
}

bool needs_four_octets(const AsPath& path) {
  return std::ranges::any_of(path, [](const AsSegment& s) {
    return std::ranges::any_of(s.as, [](std::uint32_t as) { return as > 0xffff; });
  });
}

bool read_number(ByteView value, std::optional<std::uint32_t>& out) {
  if (value.size() != 4) return false;
  out = WireReader(value).u32();
  return true;
}

bool write_number(const std::optional<std::uint32_t>& value, WireWriter& out) {
  if (value) out.u32(*value);
  return value.has_value();
}

// RFC 7606: a length that is not a multiple, or 0, is malformed.
bool read_numbers(ByteView value, std::vector<std::uint32_t>& out) {
  if (value.empty() || value.size() % 4 != 0) return false;
  WireReader in(value);
  while (in.left() > 0) out.push_back(in.u32());
  return true;
}

bool write_numbers(const std::vector<std::uint32_t>& values, WireWriter& out) {
  for (const std::uint32_t value : values) out.u32(value);
  return !values.empty();
}

template <std::size_t Unit>
bool read_units(ByteView value, Bytes& out) {
  if (value.empty() || value.size() % Unit != 0) return false;
  out.assign(value.begin(), value.end());
  return true;
}

bool write_units(const Bytes& value, WireWriter& out) {
  out.bytes(value);
  return !value.empty();
}

std::string number_text(const std::optional<std::uint32_t>& value) {
  return value ? std::to_string(*value) : "";
}

template <class T, class Text>
std::string list_text(const std::vector<T>& values, const Text& text) {
  std::string out;
  for (const T& value : values) out.append(out.empty() ? "" : " ").append(text(value));
  return out;
}

std::string community_text(std::uint32_t value) {
  if (value == kNoExport) return "no-export";
  if (value == kNoAdvertise) return "no-advertise";
  if (value == kNoExportSubconfed) return "no-export-subconfed";
  return std::to_string(value >> 16U) + ":" + std::to_string(value & 0xffffU);
}

std::string hex_text(const Bytes& bytes, std::size_t unit) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", bytes[i]);
    out.append(i > 0 && i % unit == 0 ? " " : "").append(hex.data());
  }
  return out;
}

std::string large_text(const Bytes& bytes) {
  std::string out;
  WireReader in(bytes);
  while (in.left() >= 12) {
    out.append(out.empty() ? "" : " ").append(std::to_string(in.u32()));
    out.append(":").append(std::to_string(in.u32()));
    out.append(":").append(std::to_string(in.u32()));
  }
  return out;
}

std::string aggregator_text(const std::optional<Aggregator>& a) {
  return a ? std::to_string(a->as) + " " + id_text(a->router) : "";
}

bool decode_origin(ByteView value, const Context&, Attrs& out) {
  if (value.size() != 1 || value[0] > static_cast<std::uint8_t>(Origin::Incomplete)) return false;
  out.origin = static_cast<Origin>(value[0]);
  return true;
}

bool decode_next_hop(ByteView value, const Context&, Attrs& out) {
  if (value.size() != 4) return false;
  out.next_hop = IpAddress::v4_of(value);
  return true;
}

bool decode_aggregator(ByteView value, const Context& context, Attrs& out) {
  if (value.size() != (context.four_octet_as ? 8U : 6U)) return false;
  WireReader in(value);
  const std::uint32_t as = context.four_octet_as ? in.u32() : in.u16();
  out.aggregator = Aggregator{as, in.u32()};
  return true;
}

bool encode_aggregator(const Attrs& in, const Context& context, WireWriter& out) {
  if (!in.aggregator) return false;
  if (context.four_octet_as) {
    out.u32(in.aggregator->as);
  } else {
    out.u16(in.aggregator->as > 0xffff ? kAsTrans : in.aggregator->as);
  }
  out.u32(in.aggregator->router);
  return true;
}

bool decode_as4_aggregator(ByteView value, const Context&, Attrs& out) {
  if (value.size() != 8) return false;
  WireReader in(value);
  const std::uint32_t as = in.u32();
  out.as4_aggregator = Aggregator{as, in.u32()};
  return true;
}

// Of no use to a peer with four octets.
bool encode_as4_aggregator(const Attrs& in, const Context& context, WireWriter& out) {
  if (context.four_octet_as || !in.aggregator || in.aggregator->as <= 0xffff) return false;
  out.u32(in.aggregator->as).u32(in.aggregator->router);
  return true;
}

bool encode_as4_path(const Attrs& in, const Context& context, WireWriter& out) {
  if (context.four_octet_as || !in.as_path || !needs_four_octets(*in.as_path)) return false;
  write_path(out, *in.as_path, true);
  return true;
}

constexpr std::uint8_t kWellKnown = kTransitive;
constexpr std::uint8_t kOptionalTransitive = kOptional | kTransitive;

// By ascending type. Well-known ones first: ORIGIN to LOCAL_PREF and ATOMIC_AGGREGATE.
constexpr std::array kTable{
    AttributeRow{AttributeType::Origin, "origin", kWellKnown, Handling::TreatAsWithdraw, false, decode_origin,
                 [](const Attrs& in, const Context&, WireWriter& out) {
                   if (in.origin) out.u8(static_cast<std::uint32_t>(*in.origin));
                   return in.origin.has_value();
                 },
                 [](const Attrs& in) { return in.origin ? std::string(to_string(*in.origin)) : ""; }},
    AttributeRow{AttributeType::AsPath, "as-path", kWellKnown, Handling::TreatAsWithdraw, false,
                 [](ByteView value, const Context& context, Attrs& out) {
                   out.as_path = read_path(value, context.four_octet_as);
                   return out.as_path.has_value();
                 },
                 [](const Attrs& in, const Context& context, WireWriter& out) {
                   if (in.as_path) write_path(out, *in.as_path, context.four_octet_as);
                   return in.as_path.has_value();
                 },
                 [](const Attrs& in) { return in.as_path ? as_path_text(*in.as_path) : ""; }},
    AttributeRow{AttributeType::NextHop, "next-hop", kWellKnown, Handling::TreatAsWithdraw, false,
                 decode_next_hop,
                 [](const Attrs& in, const Context&, WireWriter& out) {
                   if (!in.next_hop || in.next_hop->v6) return false;
                   out.bytes(in.next_hop->view());
                   return true;
                 },
                 [](const Attrs& in) { return in.next_hop ? lossless::to_string(*in.next_hop) : ""; }},
    AttributeRow{AttributeType::Med, "med", kOptional, Handling::TreatAsWithdraw, false,
                 [](ByteView value, const Context&, Attrs& out) { return read_number(value, out.med); },
                 [](const Attrs& in, const Context&, WireWriter& out) { return write_number(in.med, out); },
                 [](const Attrs& in) { return number_text(in.med); }},
    AttributeRow{
        AttributeType::LocalPref, "local-pref", kWellKnown, Handling::TreatAsWithdraw, true,
        [](ByteView value, const Context&, Attrs& out) { return read_number(value, out.local_pref); },
        [](const Attrs& in, const Context&, WireWriter& out) { return write_number(in.local_pref, out); },
        [](const Attrs& in) { return number_text(in.local_pref); }},
    AttributeRow{AttributeType::AtomicAggregate, "atomic-aggregate", kWellKnown, Handling::Discard, false,
                 [](ByteView value, const Context&, Attrs& out) {
                   out.atomic_aggregate = value.empty();
                   return value.empty();
                 },
                 [](const Attrs& in, const Context&, WireWriter&) { return in.atomic_aggregate; },
                 [](const Attrs& in) { return std::string(in.atomic_aggregate ? "yes" : ""); }},
    AttributeRow{AttributeType::Aggregator, "aggregator", kOptionalTransitive, Handling::Discard, false,
                 decode_aggregator, encode_aggregator,
                 [](const Attrs& in) { return aggregator_text(in.aggregator); }},
    AttributeRow{
        AttributeType::Communities, "communities", kOptionalTransitive, Handling::TreatAsWithdraw, false,
        [](ByteView value, const Context&, Attrs& out) { return read_numbers(value, out.communities); },
        [](const Attrs& in, const Context&, WireWriter& out) { return write_numbers(in.communities, out); },
        [](const Attrs& in) { return list_text(in.communities, community_text); }},
    AttributeRow{
        AttributeType::OriginatorId, "originator-id", kOptional, Handling::TreatAsWithdraw, true,
        [](ByteView value, const Context&, Attrs& out) { return read_number(value, out.originator); },
        [](const Attrs& in, const Context&, WireWriter& out) { return write_number(in.originator, out); },
        [](const Attrs& in) { return in.originator ? id_text(*in.originator) : ""; }},
    AttributeRow{
        AttributeType::ClusterList, "cluster-list", kOptional, Handling::TreatAsWithdraw, true,
        [](ByteView value, const Context&, Attrs& out) { return read_numbers(value, out.clusters); },
        [](const Attrs& in, const Context&, WireWriter& out) { return write_numbers(in.clusters, out); },
        [](const Attrs& in) { return list_text(in.clusters, id_text); }},
    AttributeRow{AttributeType::ExtendedCommunities, "extended-communities", kOptionalTransitive,
                 Handling::TreatAsWithdraw, false,
                 [](ByteView value, const Context&, Attrs& out) {
                   return read_units<8>(value, out.extended_communities);
                 },
                 [](const Attrs& in, const Context&, WireWriter& out) {
                   return write_units(in.extended_communities, out);
                 },
                 [](const Attrs& in) { return hex_text(in.extended_communities, 8); }},
    AttributeRow{AttributeType::As4Path, "as4-path", kOptionalTransitive, Handling::Discard, false,
                 [](ByteView value, const Context&, Attrs& out) {
                   out.as4_path = read_path(value, true);
                   return out.as4_path.has_value();
                 },
                 encode_as4_path,
                 [](const Attrs& in) { return in.as4_path ? as_path_text(*in.as4_path) : ""; }},
    AttributeRow{AttributeType::As4Aggregator, "as4-aggregator", kOptionalTransitive, Handling::Discard,
                 false, decode_as4_aggregator, encode_as4_aggregator,
                 [](const Attrs& in) { return aggregator_text(in.as4_aggregator); }},
    AttributeRow{AttributeType::LargeCommunities, "large-communities", kOptionalTransitive,
                 Handling::TreatAsWithdraw, false,
                 [](ByteView value, const Context&, Attrs& out) {
                   return read_units<12>(value, out.large_communities);
                 },
                 [](const Attrs& in, const Context&, WireWriter& out) {
                   return write_units(in.large_communities, out);
                 },
                 [](const Attrs& in) { return large_text(in.large_communities); }},
};

std::size_t count_as(const AsPath& path) {
  std::size_t out = 0;
  for (const AsSegment& segment : path)
    out += segment.kind == AsSegment::Set ? 1 : segment.kind == AsSegment::Sequence ? segment.as.size() : 0;
  return out;
}

// The first `count` ASes of a path, as the old part in front of an AS4_PATH.
AsPath front_of(const AsPath& path, std::size_t count) {
  AsPath out;
  for (const AsSegment& segment : path) {
    if (count == 0) break;
    AsSegment part = segment;
    if (segment.kind == AsSegment::Sequence && segment.as.size() > count) part.as.resize(count);
    count -= std::min(count, count_as({part}));
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace

std::span<const AttributeRow> attribute_table() { return kTable; }

const AttributeRow* find_attribute(std::uint8_t type) {
  const auto at = std::ranges::find(kTable, static_cast<AttributeType>(type), &AttributeRow::type);
  return at == kTable.end() ? nullptr : &*at;
}

std::optional<RawAttribute> next_attribute(WireReader& in) {
  WireReader start = in;
  const std::size_t before = in.left();
  RawAttribute out{.flags = in.u8(), .type = in.u8()};
  const std::size_t length = (out.flags & kExtendedLength) != 0 ? in.u16() : in.u8();
  out.value = in.bytes(length);
  if (!in.ok()) return std::nullopt;
  out.whole = start.bytes(before - in.left());
  return out;
}

void write_attribute(WireWriter& out, std::uint8_t flags, std::uint8_t type, ByteView value) {
  const auto size = static_cast<std::uint32_t>(value.size());
  if (size > 0xff) {
    out.u8(flags | kExtendedLength).u8(type).u16(size).bytes(value);
  } else {
    out.u8(flags & ~kExtendedLength).u8(type).u8(size).bytes(value);
  }
}

Bytes encode_attributes(const PathAttributes& in, const AttributeContext& context, bool with_next_hop) {
  WireWriter out;
  auto unknown = in.unknown.begin();
  const auto unknown_below = [&](unsigned type) {
    for (; unknown != in.unknown.end() && unknown->type < type; ++unknown)
      write_attribute(out, unknown->flags, unknown->type, unknown->value);
  };
  for (const AttributeRow& row : kTable) {
    const auto type = static_cast<std::uint8_t>(row.type);
    unknown_below(type);
    if (row.type == AttributeType::NextHop && !with_next_hop) continue;
    if (row.internal_only && context.external) continue;
    WireWriter value;
    if (row.encode(in, context, value)) write_attribute(out, row.flags, type, value.take());
  }
  unknown_below(256);
  return out.take();
}

void merge_as4(PathAttributes& a) {
  if (a.as4_aggregator) {
    // RFC 6793: an AGGREGATOR that is not AS_TRANS speaks for a path that lost its AS4 parts on the way.
    const bool stale = a.aggregator && a.aggregator->as != kAsTrans;
    if (!stale && a.aggregator) a.aggregator = a.as4_aggregator;
    if (stale) a.as4_path.reset();
    a.as4_aggregator.reset();
  }
  if (a.as4_path && a.as_path) {
    std::erase_if(*a.as4_path, [](const AsSegment& s) { return s.kind > AsSegment::Sequence; });
    const std::size_t total = count_as(*a.as_path);
    const std::size_t known = count_as(*a.as4_path);
    if (known > 0 && total >= known) {
      AsPath path = front_of(*a.as_path, total - known);
      for (AsSegment& segment : *a.as4_path) path.push_back(std::move(segment));
      a.as_path = std::move(path);
    }
  }
  a.as4_path.reset();
}

std::size_t path_length(const AsPath& path) { return count_as(path); }

std::string as_path_text(const AsPath& path) {
  std::string out;
  for (const AsSegment& segment : path) {
    const std::string list = list_text(segment.as, [](std::uint32_t as) { return std::to_string(as); });
    out.append(out.empty() ? "" : " ");
    switch (segment.kind) {
      case AsSegment::Sequence:
        out += list;
        break;
      case AsSegment::Set:
        out.append("{").append(list).append("}");
        break;
      case AsSegment::ConfedSequence:
      case AsSegment::ConfedSet:
        out.append("(").append(list).append(")");
        break;
    }
  }
  return out;
}

std::string_view to_string(Origin origin) {
  static constexpr std::array<std::string_view, 3> kNames{"igp", "egp", "incomplete"};
  return kNames[static_cast<std::size_t>(origin)];
}

std::vector<std::pair<std::string_view, std::string>> describe(const PathAttributes& attributes) {
  std::vector<std::pair<std::string_view, std::string>> out;
  for (const AttributeRow& row : kTable)
    if (std::string text = row.print(attributes); !text.empty()) out.emplace_back(row.name, std::move(text));
  return out;
}

}  // namespace lossless::bgp
