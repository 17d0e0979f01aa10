// SPDX-License-Identifier: Apache-2.0
// BFD. First byte even: one packet; what was read is written and must read the same. First byte odd:
// datagrams for a table of sessions, each after its length, a byte that says where it came from, and one of
// milliseconds that pass before it. Deadlines must always lie ahead, packets must always be packets.
#include <cstdint>
#include <cstdlib>

#include "daemon/bfd/table.h"

namespace {

using namespace lossless;
using namespace lossless::bfd;

void require(bool truth) {
  if (!truth) std::abort();
}

void one_packet(ByteView payload) {
  const auto read = decode(payload);
  if (!read) return;
  (void)to_string(read->packet.diag);
  const AuthKey key{.type = read->auth.type, .id = read->auth.key_id, .secret = {'k', 'e', 'y'}};
  (void)is_signed_by(payload, read->auth, key);
  const Bytes written = encode(read->packet, key, read->auth.sequence);
  const auto again = decode(written);
  require(again && again->packet == read->packet && again->auth == read->auth);
  require(is_signed_by(written, again->auth, key));
}

Peer peer(const char* address, AuthType type, bool demand, bool multihop) {
  Peer out{.key = {.peer = *parse_ip(address), .multihop = multihop}};
  out.settings.demand = demand;
  if (type != AuthType::None) out.settings.key = {.type = type, .id = 1, .secret = {'k'}};
  return out;
}

void many_datagrams(ByteView data) {
  const Peer peers[] = {
      peer("10.0.0.1", AuthType::None, false, false), peer("10.0.0.2", AuthType::Simple, true, false),
      peer("10.0.0.3", AuthType::MeticulousSha1, false, false), peer("fd00::4", AuthType::None, true, true)};
  Nanos now = kSecondNs;
  std::uint64_t ups = 0;
  std::uint64_t sent = 0;
  Table table(
      1, {.send =
              [&](const Peer&, std::uint32_t, const Bytes& packet) {
                ++sent;
                const auto read = decode(packet);
                require(read && !(read->packet.poll && read->packet.final));
                return true;
              },
          .changed = [&](const PeerKey&, const Change& change) { ups += change.to == State::Up ? 1 : 0; }});
  for (const Peer& each : peers) table.set(each, now);
  WireReader in(data);
  while (in.left() >= 3) {
    const std::size_t length = in.u8();
    const std::uint8_t from = in.u8();
    now += in.u8() * kMillisecondNs;
    table.advance(now);
    require(table.deadline() > now);
    // Discriminators are random: those of the bytes 0 to 3 are taken for the sessions' own.
    const ByteView bytes = in.bytes(std::min(length, in.left()));
    Bytes payload(bytes.begin(), bytes.end());
    if ((from & 4U) != 0 && payload.size() >= 12) {
      WireWriter yours;
      yours.u32(std::next(table.entries().begin(), from & 3U)->first);
      const Bytes written = yours.take();
      std::copy(written.begin(), written.end(), payload.begin() + 8);
    }
    const Peer& source = peers[from & 3U];
    table.receive({.from = source.key.peer,
                   .to = {.v6 = source.key.peer.v6},
                   .ttl = 255,
                   .multihop = source.key.multihop,
                   .payload = payload},
                  now);
  }
  std::uint64_t counted = 0;
  for (const auto& [id, entry] : table.entries()) counted += entry.session.counters().went_up;
  require(counted == ups);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const ByteView data(bytes + 1, size - 1);
  if (bytes[0] % 2 == 0) {
    one_packet(data);
  } else {
    many_datagrams(data);
  }
  return 0;
}
