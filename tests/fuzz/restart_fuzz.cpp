// SPDX-License-Identifier: Apache-2.0
// States of another process: any bytes, which may even have a right checksum. What is taken is written as it
// was read, and a speaker or a switch that goes on with it holds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "daemon/bfd/saved.h"
#include "daemon/bgp/saved.h"
#include "daemon/bgp/speaker.h"
#include "daemon/inof/switch.h"
#include "daemon/restart/image.h"

namespace {

using namespace lossless;

void check(bool holds) {
  if (!holds) std::abort();
}

struct Wire final : bgp::Transport {
  void connect(bgp::ConnId, const bgp::NeighborSettings&) override {}
  void send(bgp::ConnId, const bgp::Chunk& bytes) override { check(!bytes->empty()); }
  void close(bgp::ConnId) override {}
  std::size_t queued(bgp::ConnId) const override { return 0; }
};

void go_on(const bgp::SavedSpeaker& saved, bool alive) {
  Wire wire;
  bgp::Speaker speaker(wire);
  const bgp::Time now{1'000'000};
  bgp::SpeakerConfig config{.self = {.asn = 65001, .router_id = 0x0a000001, .cluster_id = 0x0a000001}};
  for (const bgp::SavedNeighbor& n : saved.neighbors) {
    bgp::NeighborSettings settings{
        .address = n.peer.address, .asn = 65001, .local_asn = 65001, .router_id = 0x0a000001};
    settings.families.add(bgp::Family::Inof);
    config.neighbors.push_back(settings);
  }
  bgp::ConnId next = 1000;
  speaker.restore(
      config, saved, [&](std::size_t, const bgp::NeighborSettings&) { return alive ? next++ : 0; }, now);
  speaker.configure(config, now);
  while (speaker.fill(now)) {
  }
  (void)speaker.save();
  speaker.advance(now + std::chrono::hours(1));
  while (speaker.fill(now + std::chrono::hours(1))) {
  }
}

void go_on(const inof::SavedSwitch& saved, bool current) {
  inof::Switch model;
  const inof::Micros now{1'000'000'000};
  model.set_port(0, "p0", true, now);
  model.restore(saved, current, now);
  (void)model.take(now);
  model.advance(now + std::chrono::hours(2));
  (void)model.take(now + std::chrono::hours(2));
}

void bgp_state(ByteView body, bool alive) {
  const auto saved = bgp::decode_saved(body);
  if (!saved) return;
  // Attributes in an order that we do not write are in ours after the first time.
  const Bytes bytes = bgp::encode_saved(*saved);
  const auto again = bgp::decode_saved(bytes);
  check(again && bgp::encode_saved(*again) == bytes);
  go_on(*saved, alive);
}

void inof_state(ByteView body, bool current) {
  const auto saved = inof::decode_saved(body);
  if (!saved) return;
  const Bytes bytes = inof::encode_saved(*saved);
  const auto again = inof::decode_saved(bytes);
  check(again && inof::encode_saved(*again) == bytes);
  go_on(*saved, current);
}

void bfd_state(ByteView body) {
  const auto saved = bfd::decode_saved(body);
  if (!saved) return;
  bfd::Table table(1, {.send = [](const bfd::Peer&, std::uint32_t, const Bytes&) { return true; },
                       .changed = [](const bfd::PeerKey&, const bfd::Change&) {}});
  for (const bfd::SavedPeer& peer : *saved) table.adopt({.key = peer.key}, peer.session, kSecondNs);
  table.advance(kSecondNs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const ByteView body(data + 1, size - 1);
  const bool other = (data[0] & 4U) != 0;
  switch (data[0] & 3U) {
    case 0:
      bgp_state(body, other);
      break;
    case 1:
      inof_state(body, other);
      break;
    case 2:
      bfd_state(body);
      break;
    default:
      (void)restart::unwrap(body, restart::Kind::Bgp, 1);
  }
  return 0;
}
