// SPDX-License-Identifier: Apache-2.0
// Path attributes (RFC 4271 section 4.3 and successors): one row each with what it must look like, what is
// done about one that does not (RFC 7606 section 7), and how it is decoded, encoded and printed. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/bgp/types.h"

namespace lossless::bgp {

enum class AttributeType : std::uint8_t {
  Origin = 1,
  AsPath = 2,
  NextHop = 3,
  Med = 4,
  LocalPref = 5,
  AtomicAggregate = 6,
  Aggregator = 7,
  Communities = 8,
  OriginatorId = 9,
  ClusterList = 10,
  MpReach = 14,    // read by update.cpp: they carry routes, not facts about them
  MpUnreach = 15,  // the same
  ExtendedCommunities = 16,
  As4Path = 17,
  As4Aggregator = 18,
  LargeCommunities = 32,
};

inline constexpr std::uint8_t kOptional = 0x80;
inline constexpr std::uint8_t kTransitive = 0x40;
inline constexpr std::uint8_t kPartial = 0x20;
inline constexpr std::uint8_t kExtendedLength = 0x10;

enum class Origin : std::uint8_t { Igp = 0, Egp = 1, Incomplete = 2 };

struct AsSegment {
  enum Kind : std::uint8_t { Set = 1, Sequence = 2, ConfedSequence = 3, ConfedSet = 4 };
  Kind kind = Sequence;
  std::vector<std::uint32_t> as = {};  // 1 to 255
  bool operator==(const AsSegment&) const = default;
};
using AsPath = std::vector<AsSegment>;

struct Aggregator {
  std::uint32_t as = 0;
  RouterId router = 0;
  bool operator==(const Aggregator&) const = default;
};

// One that has no row: passed on if it is optional and transitive, else dropped (RFC 4271 section 9).
struct UnknownAttribute {
  std::uint8_t flags = 0;
  std::uint8_t type = 0;
  Bytes value = {};
  bool operator==(const UnknownAttribute&) const = default;
};

struct PathAttributes {
  std::optional<Origin> origin = {};
  std::optional<AsPath> as_path = {};
  std::optional<IpAddress> next_hop = {};  // of NEXT_HOP or MP_REACH_NLRI
  std::optional<std::uint32_t> med = {};
  std::optional<std::uint32_t> local_pref = {};
  bool atomic_aggregate = false;
  std::optional<Aggregator> aggregator = {};
  std::vector<std::uint32_t> communities = {};
  std::optional<RouterId> originator = {};
  std::vector<RouterId> clusters = {};
  Bytes extended_communities = {};      // 8 bytes each
  std::optional<AsPath> as4_path = {};  // only until merged, see merge_as4
  std::optional<Aggregator> as4_aggregator = {};
  Bytes large_communities = {};                // 12 bytes each
  std::vector<UnknownAttribute> unknown = {};  // by type
  bool operator==(const PathAttributes&) const = default;
};

inline constexpr std::uint32_t kNoExport = 0xffffff01;  // RFC 1997
inline constexpr std::uint32_t kNoAdvertise = 0xffffff02;
inline constexpr std::uint32_t kNoExportSubconfed = 0xffffff03;

// What a malformed attribute does (RFC 7606 section 2), from weakest to strongest.
enum class Handling : std::uint8_t { Discard, TreatAsWithdraw, Reset };

// How the session writes what it sends, and whom it is with.
struct AttributeContext {
  bool four_octet_as = true;
  bool external = false;  // eBGP: some attributes of iBGP are dropped unread
};

struct AttributeRow {
  AttributeType type;
  std::string_view name;
  std::uint8_t flags;  // kOptional and kTransitive
  Handling malformed;
  bool internal_only;  // from an external neighbour it is discarded
  bool (*decode)(ByteView value, const AttributeContext& context, PathAttributes& out);
  // Appends the value; false: there is nothing to send.
  bool (*encode)(const PathAttributes& in, const AttributeContext& context, WireWriter& out);
  std::string (*print)(const PathAttributes& in);  // empty: not there
};
std::span<const AttributeRow> attribute_table();
const AttributeRow* find_attribute(std::uint8_t type);

// One attribute as it stands in a message.
struct RawAttribute {
  std::uint8_t flags = 0;
  std::uint8_t type = 0;
  ByteView value = {};
  ByteView whole = {};
};
// Takes the next one off the front; nothing: its length does not fit.
std::optional<RawAttribute> next_attribute(WireReader& in);

void write_attribute(WireWriter& out, std::uint8_t flags, std::uint8_t type, ByteView value);
// All but those that carry routes, by ascending type. NEXT_HOP is written if `with_next_hop` and it is IPv4.
Bytes encode_attributes(const PathAttributes& in, const AttributeContext& context, bool with_next_hop);

// AS_PATH and AS4_PATH of a peer that has two octets become one (RFC 6793 section 4.2.3).
void merge_as4(PathAttributes& attributes);

// ASes of the path, a set counting as one, confederation segments as none (RFC 4271 9.1.2.2, RFC 5065).
std::size_t path_length(const AsPath& path);
std::string as_path_text(const AsPath& path);
std::string_view to_string(Origin origin);
// "origin igp, as-path 65001 65002, ..." for people, by the rows above.
std::vector<std::pair<std::string_view, std::string>> describe(const PathAttributes& attributes);

}  // namespace lossless::bgp
