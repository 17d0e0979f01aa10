// SPDX-License-Identifier: Apache-2.0
// What strangers and neighbours send: a stream from the first byte on, and one into an established session.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>

#include "daemon/bgp/inof_nlri.h"
#include "daemon/bgp/speaker.h"

namespace {

using namespace lossless;
using namespace lossless::bgp;

void check(bool holds) {
  if (!holds) std::abort();
}

struct Wire final : Transport {
  void connect(ConnId conn, const NeighborSettings&) override { last = conn; }
  void send(ConnId, const Chunk& bytes) override { check(!bytes->empty()); }
  void close(ConnId conn) override { closed = conn; }
  std::size_t queued(ConnId) const override { return 0; }
  ConnId last = 0;
  ConnId closed = 0;
};

IpAddress address(std::uint8_t last) {
  const std::uint8_t bytes[] = {10, 0, 0, last};
  return IpAddress::v4_of(bytes);
}

Open their_open() {
  Open open{.asn = 65001, .hold_s = 90, .router_id = 0x0a000002};
  open.families.add(Family::Inof);
  open.families.add(Family::Ipv4Unicast);
  return open;
}

// What is read of a route is written back as it was.
void check_routes(const Rib& rib) {
  for (std::uint32_t slot = 0; slot < rib.end(); ++slot) {
    const Path* used = rib.net(slot).used();
    if (!used || rib.family() != Family::Inof) continue;
    const ByteView nlri = used->nlri.view();
    check(inof_key_size(nlri) <= nlri.size());
    (void)inof_text(nlri);
    (void)describe(*used->attributes);
    if (const auto route = decode_inof(nlri)) {
      const auto again = decode_inof(encode_inof(*route));
      check(again && *again == *route);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  Wire wire;
  Speaker speaker(wire);
  const Time now{1'000'000};
  SpeakerConfig config{.self = {.asn = 65001, .router_id = 0x0a000001, .cluster_id = 0x0a000001}};
  for (const std::uint8_t n : {std::uint8_t{2}, std::uint8_t{3}}) {
    NeighborSettings settings{
        .address = address(n), .asn = 65001, .local_asn = 65001, .router_id = 0x0a000001};
    settings.families = their_open().families;
    settings.passive = true;
    settings.client = n == 2;
    config.neighbors.push_back(settings);
  }
  speaker.configure(config, now);
  const std::uint8_t mode = data[0];
  const std::size_t piece = 1U + data[1];
  std::map<std::uint8_t, ConnId> conns;
  for (const std::uint8_t n : {std::uint8_t{2}, std::uint8_t{3}}) {
    const ConnId conn = conns[n] = speaker.new_connection();
    check(speaker.accepted(conn, address(n), address(1), now));
    if ((mode & 1U) == 0 && n == 2) continue;  // its stream is all from outside
    Open open = their_open();
    open.router_id += n;
    speaker.received(conn, encode_open(open), now);
    speaker.received(conn, encode_keepalive(), now);
    check(speaker.find(address(n))->established());
  }
  const ByteView stream(data + 2, size - 2);
  if ((mode & 2U) != 0) {
    // As the body of one UPDATE.
    speaker.received(
        conns[2],
        encode_message(MessageType::Update, stream.first(std::min<std::size_t>(stream.size(), 4000))), now);
  } else {
    for (std::size_t at = 0; at < stream.size(); at += std::min(piece, stream.size() - at))
      speaker.received(conns[2], stream.subspan(at, std::min(piece, stream.size() - at)), now);
  }
  while (speaker.fill(now)) {
  }
  for (const FamilyFacts& f : kFamilyTable) check_routes(speaker.rib(f.family));
  speaker.advance(now + std::chrono::hours(1));
  for (const FamilyFacts& f : kFamilyTable) check(speaker.rib(f.family).size() == 0);
  return 0;
}
