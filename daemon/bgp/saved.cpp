// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/saved.h"

#include "daemon/bgp/update.h"
#include "daemon/restart/image.h"

namespace lossless::bgp {
namespace {

using restart::Reader;
using restart::Writer;

// Least bytes of one, so that a count cannot ask for more than there is.
constexpr std::size_t kLeastNeighbor = 100;
constexpr std::size_t kLeastRoute = 14;
constexpr std::size_t kLeastAttributes = 5;

// As on a session where nothing has to be left out.
constexpr AttributeContext kWhole{.four_octet_as = true, .external = false};

void write(Writer& out, Families families) {
  unsigned bits = 0;
  for (const FamilyFacts& f : kFamilyTable)
    if (families.has(f.family)) bits |= 1U << static_cast<unsigned>(f.family);
  out.u8(bits);
}

Families read_families(Reader& in) {
  const unsigned bits = in.number_below(1U << kFamilies);
  Families out;
  for (const FamilyFacts& f : kFamilyTable)
    if ((bits >> static_cast<unsigned>(f.family) & 1U) != 0) out.add(f.family);
  return out;
}

void write(Writer& out, const NeighborCounters& c) {
  for (const std::uint64_t n : c.in) out.u64(n);
  for (const std::uint64_t n : c.out) out.u64(n);
  out.u64(c.established).u64(c.dropped).u64(c.refused).u64(c.faults).u64(c.looped).u64(c.filtered);
}

NeighborCounters read_counters(Reader& in) {
  NeighborCounters c;
  for (std::uint64_t& n : c.in) n = in.u64();
  for (std::uint64_t& n : c.out) n = in.u64();
  for (std::uint64_t* n : {&c.established, &c.dropped, &c.refused, &c.faults, &c.looped, &c.filtered})
    *n = in.u64();
  return c;
}

void write(Writer& out, const Agreed& a) {
  write(out, a.families);
  out.u32(a.hold_s).flag(a.four_octet_as).flag(a.extended_message).flag(a.route_refresh);
  out.flag(a.enhanced_refresh);
}

Agreed read_agreed(Reader& in) {
  Agreed a;
  a.families = read_families(in);
  a.hold_s = in.u32();
  a.four_octet_as = in.flag();
  a.extended_message = in.flag();
  a.route_refresh = in.flag();
  a.enhanced_refresh = in.flag();
  return a;
}

// As it came, but for what was not understood. Families apart, since an OPEN that names none means one.
void write(Writer& out, const Open& open) {
  const Bytes message = encode_open(open);
  out.bytes(ByteView(message).subspan(kHeader)).u32(open.unknown_capabilities);
  write(out, open.families);
}

Open read_open(Reader& in) {
  auto open = decode_open(in.view());
  const unsigned unknown = in.u32();
  const Families families = read_families(in);
  if (!open) {
    in.fail();
    return {};
  }
  open->unknown_capabilities = unknown;
  open->families = families;
  return std::move(*open);
}

void write(Writer& out, const SavedSession& s) {
  out.u64(s.socket).address(s.local).flag(s.outgoing);
  write(out, s.open);
  write(out, s.agreed);
  out.bytes(s.partial).bytes(s.unsent);
  write(out, s.walks);
}

SavedSession read_session(Reader& in) {
  SavedSession s;
  s.socket = in.u64();
  s.local = in.address();
  s.outgoing = in.flag();
  s.open = read_open(in);
  s.agreed = read_agreed(in);
  s.partial = in.bytes();
  s.unsent = in.bytes();
  s.walks = read_families(in);
  return s;
}

void write(Writer& out, const SavedNeighbor& n) {
  out.address(n.peer.address)
      .text(n.peer.interface)
      .flag(n.dynamic)
      .text(n.held_down)
      .text(n.last_error)
      .time(n.since);
  write(out, n.counters);
  out.u32(n.handed_over).u32(n.router);
  write(out, n.stale);
  out.time(n.stale_until).flag(n.session.has_value());
  if (n.session) write(out, *n.session);
}

SavedNeighbor read_neighbor(Reader& in) {
  SavedNeighbor n;
  n.peer.address = in.address();
  n.peer.interface = in.text();
  n.dynamic = in.flag();
  n.held_down = in.text();
  n.last_error = in.text();
  n.since = in.time();
  n.counters = read_counters(in);
  n.handed_over = in.u32();
  n.router = in.u32();
  n.stale = read_families(in);
  n.stale_until = in.optional_time();
  if (in.flag()) n.session = read_session(in);
  return n;
}

// NEXT_HOP apart, since that of IPv6 has no attribute of its own.
void write(Writer& out, const PathAttributes& a) {
  out.bytes(encode_attributes(a, kWhole, false)).flag(a.next_hop.has_value());
  if (a.next_hop) out.address(*a.next_hop);
}

PathAttributes read_attributes(Reader& in) {
  PathAttributes out;
  WireReader raw(in.view());
  while (raw.left() > 0) {
    const auto next = next_attribute(raw);
    if (!next || next->type == static_cast<std::uint8_t>(AttributeType::MpReach) ||
        next->type == static_cast<std::uint8_t>(AttributeType::MpUnreach)) {
      in.fail();
      break;
    }
    if (const AttributeRow* row = find_attribute(next->type)) {
      if (!row->decode(next->value, kWhole, out)) in.fail();
    } else {
      out.unknown.push_back({next->flags, next->type, Bytes(next->value.begin(), next->value.end())});
    }
  }
  if (in.flag()) out.next_hop = in.address();
  return out;
}

void write(Writer& out, const SavedRoute& r) {
  out.u8(static_cast<unsigned>(r.family)).u32(r.from).flag(r.stale).u32(r.attributes).bytes(r.nlri);
}

SavedRoute read_route(Reader& in, const SavedSpeaker& saved) {
  SavedRoute r;
  r.family = static_cast<Family>(in.number_below(kFamilies));
  r.from = in.u32();
  r.stale = in.flag();
  r.attributes = in.u32();
  r.nlri = in.bytes();
  if (r.from != kLocal && r.from >= saved.neighbors.size()) in.fail();
  if (r.attributes >= saved.attributes.size() || r.nlri.size() > kMaxInofNlri) in.fail();
  // A prefix is as long as it says, with nothing set beyond that.
  if (r.family == Family::Ipv4Unicast) {
    const auto list = read_nlris(Family::Ipv4Unicast, r.nlri);
    if (!list || list->size() != 1 || (*list)[0].size() != r.nlri.size()) in.fail();
  }
  return r;
}

template <class T>
void write_all(Writer& out, const std::vector<T>& all) {
  out.u32(static_cast<std::uint32_t>(all.size()));
  for (const T& one : all) write(out, one);
}

template <class T, class Read>
void read_all(Reader& in, std::size_t least, std::vector<T>& all, const Read& read) {
  const std::size_t count = in.count(least);
  all.reserve(count);
  for (std::size_t i = 0; i < count && in.ok(); ++i) all.push_back(read(in));
}

}  // namespace

Bytes encode_saved(const SavedSpeaker& saved) {
  Writer out;
  out.text(saved.config);
  write_all(out, saved.neighbors);
  write_all(out, saved.attributes);
  write_all(out, saved.routes);
  return out.take();
}

std::expected<SavedSpeaker, std::string> decode_saved(ByteView body) {
  Reader in(body);
  SavedSpeaker out;
  out.config = in.text();
  read_all(in, kLeastNeighbor, out.neighbors, read_neighbor);
  read_all(in, kLeastAttributes, out.attributes, read_attributes);
  read_all(in, kLeastRoute, out.routes, [&](Reader& from) { return read_route(from, out); });
  if (!in.ok() || !in.at_end()) return std::unexpected("it has values that cannot be");
  return out;
}

}  // namespace lossless::bgp
