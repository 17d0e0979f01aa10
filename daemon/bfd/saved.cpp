// SPDX-License-Identifier: Apache-2.0
#include "daemon/bfd/saved.h"

#include "daemon/restart/image.h"

namespace lossless::bfd {
namespace {

using restart::Reader;
using restart::Writer;

constexpr std::size_t kLeastPeer = 80;
constexpr unsigned kStates = 4;
constexpr unsigned kDiags = 32;  // 5 bits

void write(Writer& out, const PeerKey& key) {
  out.address(key.peer).flag(key.local.has_value());
  if (key.local) out.address(*key.local);
  out.text(key.interface).flag(key.multihop);
}

PeerKey read_key(Reader& in) {
  PeerKey key;
  key.peer = in.address();
  if (in.flag()) key.local = in.address();
  key.interface = in.text();
  key.multihop = in.flag();
  return key;
}

// What the neighbour said last, as a packet without authentication.
Packet read_packet(Reader& in) {
  const auto decoded = decode(in.view());
  if (decoded) return decoded->packet;
  in.fail();
  return {};
}

void write(Writer& out, const SavedPeer& peer) {
  const SavedSession& s = peer.session;
  write(out, peer.key);
  out.u32(s.discriminator).u8(static_cast<unsigned>(s.state)).u8(static_cast<unsigned>(s.diag));
  out.bytes(encode(s.remote, {}, 0));
  out.u32(s.announced_tx_us).u32(s.announced_rx_us).u32(s.tx_us).u32(s.rx_us).flag(s.polling);
  out.u32(s.sequence).u64(s.changed_at);
  const Counters& c = s.counters;
  for (const std::uint64_t n : {c.in, c.out, c.auth, c.replayed, c.went_up, c.went_down}) out.u64(n);
}

SavedPeer read_peer(Reader& in) {
  SavedPeer peer;
  SavedSession& s = peer.session;
  peer.key = read_key(in);
  s.discriminator = in.u32();
  s.state = static_cast<State>(in.number_below(kStates));
  s.diag = static_cast<Diag>(in.number_below(kDiags));
  s.remote = read_packet(in);
  s.announced_tx_us = in.u32();
  s.announced_rx_us = in.u32();
  s.tx_us = in.u32();
  s.rx_us = in.u32();
  s.polling = in.flag();
  s.sequence = in.u32();
  s.changed_at = in.u64();
  Counters& c = s.counters;
  for (std::uint64_t* n : {&c.in, &c.out, &c.auth, &c.replayed, &c.went_up, &c.went_down}) *n = in.u64();
  if (s.discriminator == 0) in.fail();
  return peer;
}

}  // namespace

Bytes encode_saved(const std::vector<SavedPeer>& saved) {
  Writer out;
  out.u32(static_cast<std::uint32_t>(saved.size()));
  for (const SavedPeer& peer : saved) write(out, peer);
  return out.take();
}

std::expected<std::vector<SavedPeer>, std::string> decode_saved(ByteView body) {
  Reader in(body);
  std::vector<SavedPeer> out;
  const std::size_t count = in.count(kLeastPeer);
  out.reserve(count);
  for (std::size_t i = 0; i < count && in.ok(); ++i) out.push_back(read_peer(in));
  if (!in.ok() || !in.at_end()) return std::unexpected("it has values that cannot be");
  return out;
}

}  // namespace lossless::bfd
