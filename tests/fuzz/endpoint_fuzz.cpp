// SPDX-License-Identifier: Apache-2.0
// The endpoint's readers. First byte even: frames, each after two bytes of length, for the two hosts of a run
// by turns, with their ICRC put right so that the state machines see them; whatever the hosts send in answer
// must be well-formed. First byte odd: a configuration.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "bpf/stages/icrc.h"
#include "veth-topo/endpoint/codec.h"
#include "veth-topo/endpoint/config.h"
#include "veth-topo/endpoint/engine.h"

namespace {

using namespace lossless::endpoint;

constexpr std::string_view kConfig = R"({"cm": false, "warmup_s": 0, "hosts": [
  {"name": "a", "dev": "x", "mac": "02:00:00:00:00:01", "ip": "10.0.0.1", "link_mbps": 100},
  {"name": "b", "dev": "x", "mac": "02:00:00:00:00:02", "ip": "10.0.0.9", "link_mbps": 100}],
  "flows": [{"from": "a", "to": "b", "mtu": 256}, {"from": "b", "to": "a", "mtu": 256, "op": "send"}]})";

void require(bool truth) {
  if (!truth) std::abort();
}

std::vector<std::uint8_t> with_icrc(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> frame(bytes.begin(), bytes.end());
  ll_roce r;
  if (parse_frame(frame, r) == LL_ROCE_ICRC) ll_icrc_put(&frame[r.icrc_at], frame_icrc(frame, r));
  return frame;
}

void send_all(Engine& engine, Nanos now) {
  std::vector<std::uint8_t> out(256 + LL_MAD_LEN + kMaxOverhead);
  for (std::uint32_t host = 0; host < 2; host++) {
    while (const auto meta = engine.next_frame(host, now, out)) {
      ll_roce r;
      require(parse_frame(std::span(out).first(meta->length), r) == LL_ROCE_OK);
      engine.on_sent(host, *meta, now);
    }
  }
}

void frames(std::span<const std::uint8_t> data) {
  static const auto config = parse_config(kConfig);
  Nanos now = kSecond;
  Engine engine(*config, now);
  for (std::uint32_t turn = 0; data.size() >= 2; turn++) {
    now += kMillisecond;
    engine.advance(now);
    send_all(engine, now);
    const std::size_t length = std::min<std::size_t>(ll_get16(data.data()), data.size() - 2);
    const auto frame = with_icrc(data.subspan(2, length));
    engine.on_frame(turn % 2, frame, now);
    data = data.subspan(2 + length);
  }
  engine.results();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> data(bytes + 1, size - 1);
  if (bytes[0] % 2 == 0) {
    frames(data);
  } else {
    const auto config = parse_config({reinterpret_cast<const char*>(data.data()), data.size()});
    require(config || !config.error().empty());
  }
  return 0;
}
