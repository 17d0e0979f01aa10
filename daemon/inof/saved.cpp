// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/saved.h"

#include <algorithm>
#include <utility>

#include "daemon/restart/image.h"

namespace lossless::inof {
namespace {

using restart::Reader;
using restart::Writer;

constexpr unsigned kStates = 6;  // of HostState
constexpr unsigned kFates = 3;
constexpr std::size_t kLeastHost = 60;
constexpr std::size_t kLeastFact = 17;

void write(Writer& out, const lldp::Id& id) { out.u8(id.subtype).bytes(id.value); }

lldp::Id read_id(Reader& in) {
  lldp::Id out;
  out.subtype = in.u8();
  out.value = in.bytes();
  return out;
}

void write(Writer& out, const HostTlv& host) {
  const lldp::OrgTlv tlv = encode_host(host);
  out.u32(tlv.oui).u8(tlv.subtype).bytes(tlv.value);
}

HostTlv read_tlv(Reader& in) {
  lldp::OrgTlv tlv;
  tlv.oui = in.u32();
  tlv.subtype = in.u8();
  tlv.value = in.bytes();
  if (dialect_of(tlv))
    if (auto host = decode_host(tlv)) return std::move(*host);
  in.fail();
  return {};
}

void write(Writer& out, const Fact& fact) {
  out.address(fact.subject).u32(static_cast<std::uint32_t>(fact.state));
  out.u32(static_cast<std::uint32_t>(fact.reason))
      .bytes(fact.attached ? ByteView(*fact.attached) : ByteView());
}

Fact read_fact(Reader& in) {
  Fact out;
  out.subject = in.address();
  out.state = static_cast<State>(in.u32());
  out.reason = static_cast<Reason>(in.u32());
  if (Bytes attached = in.bytes(); !attached.empty())
    out.attached = std::make_shared<const Bytes>(std::move(attached));
  return out;
}

void write(Writer& out, const SavedSubscriber& s) {
  out.u32(s.next_sequence).flag(s.active).flag(s.walk).flag(s.walk_all);
  out.u32(static_cast<std::uint32_t>(s.sent.size()));
  for (const Sent& sent : s.sent) {
    write(out, sent.fact);
    out.u32(sent.sequence).u32(sent.repeated).time(sent.due).u8(static_cast<unsigned>(sent.fate));
  }
  out.u32(static_cast<std::uint32_t>(s.pending.size()));
  for (const Fact& fact : s.pending) write(out, fact);
}

SavedSubscriber read_subscriber(Reader& in) {
  SavedSubscriber s;
  s.next_sequence = in.u32();
  s.active = in.flag();
  s.walk = in.flag();
  s.walk_all = in.flag();
  const std::size_t sent = in.count(kLeastFact);
  if (sent > kWindow) in.fail();
  for (std::size_t i = 0; i < sent && in.ok(); ++i) {
    Sent& one = s.sent.emplace_back();
    one.fact = read_fact(in);
    one.sequence = in.u32();
    one.repeated = in.u32();
    one.due = in.time();
    one.fate = static_cast<Sent::Fate>(in.number_below(kFates));
    // Without gaps, up to the one that comes next.
    if (one.sequence != s.next_sequence - (sent - i)) in.fail();
  }
  const std::size_t pending = in.count(kLeastFact);
  for (std::size_t i = 0; i < pending && in.ok(); ++i) s.pending.push_back(read_fact(in));
  return s;
}

void write(Writer& out, const SavedHost& h) {
  out.text(h.port);
  write(out, h.chassis);
  write(out, h.port_id);
  write(out, h.tlv);
  out.u8(static_cast<unsigned>(h.state)).u32(static_cast<std::uint32_t>(h.reason)).text(h.why);
  out.flag(h.present).time(h.heard).time(h.changed);
  const Damping::State damping = h.damping.state();
  out.u32(static_cast<std::uint32_t>(damping.penalty)).time(damping.since).flag(damping.held);
  out.flag(h.subscriber.has_value());
  if (h.subscriber) write(out, *h.subscriber);
}

SavedHost read_host(Reader& in) {
  SavedHost h;
  h.port = in.text();
  h.chassis = read_id(in);
  h.port_id = read_id(in);
  h.tlv = read_tlv(in);
  h.state = static_cast<HostState>(in.number_below(kStates));
  h.reason = static_cast<Reason>(in.u32());
  h.why = in.text();
  h.present = in.flag();
  h.heard = in.time();
  h.changed = in.time();
  const std::uint32_t penalty = in.u32();
  const Micros since = in.time();
  h.damping = Damping({.penalty = std::min<double>(penalty, kMaxPenalty), .since = since, .held = in.flag()});
  if (in.flag()) h.subscriber = read_subscriber(in);
  return h;
}

}  // namespace

Bytes encode_saved(const SavedSwitch& saved) {
  Writer out;
  out.text(saved.file).text(saved.running).u32(static_cast<std::uint32_t>(saved.hosts.size()));
  for (const SavedHost& host : saved.hosts) write(out, host);
  return out.take();
}

std::expected<SavedSwitch, std::string> decode_saved(ByteView body) {
  Reader in(body);
  SavedSwitch out;
  out.file = in.text();
  out.running = in.text();
  const std::size_t hosts = in.count(kLeastHost);
  out.hosts.reserve(hosts);
  for (std::size_t i = 0; i < hosts && in.ok(); ++i) out.hosts.push_back(read_host(in));
  if (!in.ok() || !in.at_end()) return std::unexpected("it has values that cannot be");
  return out;
}

}  // namespace lossless::inof
