// SPDX-License-Identifier: Apache-2.0
// LLDP. First byte even: one frame; what was read is written and must read the same. First byte odd: frames,
// each after two bytes of length and one of seconds that pass before it, for an agent whose table must stay
// bounded.
#include <cstdint>
#include <cstdlib>

#include "daemon/lldp/agent.h"

namespace {

using namespace lossless;
using namespace lossless::lldp;

constexpr unsigned kRoom = 4;

void require(bool truth) {
  if (!truth) std::abort();
}

void one_frame(ByteView frame) {
  const auto read = decode(frame);
  if (!read) return;
  (void)chassis_text(read->packet.chassis);
  (void)port_text(read->packet.port);
  for (const ManagementAddress& address : read->packet.management) (void)management_text(address);
  const Bytes written = encode(read->packet, read->source);
  require(written.size() <= kMaxFrame);
  const auto again = decode(written);
  require(again.has_value());
  // The end TLV, which a frame may lack, takes two bytes.
  require(frame.size() + 2 > kMaxFrame || again->packet == read->packet);
  require(decode(encode_shutdown(read->packet, read->source))->packet.ttl_s == 0);
}

void many_frames(ByteView data) {
  Time now{std::chrono::hours(1)};
  std::size_t known = 0;
  Agent agent({}, [](const net::PortRef&, ByteView frame) { return decode(frame).has_value(); });
  agent.subscribe([&known](const Event& event) {
    if (event.kind == EventKind::New) known++;
    if (event.kind >= EventKind::Aged) known--;
  });
  agent.set_timing({.max_neighbours = kRoom});
  agent.port_up({.ifindex = 1, .name = "p", .mac = {2}}, Mode::Both, {}, now);
  WireReader in(data);
  while (in.left() >= 3) {
    const std::size_t length = in.u16();
    now += Seconds(in.u8());
    agent.advance(now);
    agent.receive(1, in.bytes(std::min(length, in.left())), now);
    require(agent.ports().at(1).neighbours.size() == known && known <= kRoom);
  }
  agent.port_down(1, now);
  require(known == 0 && !agent.next_deadline());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const ByteView data(bytes + 1, size - 1);
  if (bytes[0] % 2 == 0) {
    one_frame(data);
  } else {
    many_frames(data);
  }
  return 0;
}
