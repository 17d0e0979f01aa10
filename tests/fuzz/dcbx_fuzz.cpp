// SPDX-License-Identifier: Apache-2.0
// DCBX. First byte even: TLVs; what was read is written and must read the same. First byte odd: what
// neighbours say in turn to a port's machine, in either dialect, whose own TLVs must always be readable and
// whose port must stay a port.
#include <cstdint>
#include <cstdlib>

#include "daemon/dcbx/machine.h"

namespace {

using namespace lossless;
using namespace lossless::dcbx;

void require(bool truth) {
  if (!truth) std::abort();
}

// One byte for what the TLV is, one of length.
std::vector<lldp::OrgTlv> take_tlvs(WireReader& in, unsigned count) {
  std::vector<lldp::OrgTlv> out;
  while (in.left() >= 2 && out.size() < count) {
    const std::uint8_t kind = in.u8();
    const std::size_t length = in.u8();
    const ByteView value = in.bytes(std::min(length, in.left()));
    const bool cee = kind % 8 >= 4;
    out.push_back({.oui = cee ? kCeeOui : kIeeeOui,
                   .subtype = static_cast<std::uint8_t>(cee ? kCee101 : kIeeeEts + kind % 4),
                   .value = {value.begin(), value.end()}});
  }
  return out;
}

void tlvs(ByteView data) {
  WireReader in(data);
  const Said said = decode(take_tlvs(in, 16));
  std::vector<lldp::OrgTlv> written;
  if (said.ieee) written = encode(*said.ieee);
  if (said.cee) written.push_back(encode(*said.cee));
  for (const lldp::OrgTlv& tlv : written) require(tlv.value.size() <= lldp::kMaxTlvValue - 4);
  const Said again = decode(written);
  require(again.faults.empty());
  require(again.ieee == said.ieee);
  require(again.cee == said.cee || (said.cee->apps && said.cee->apps->entries.size() > kMaxCeeApps));
}

void machine(ByteView data) {
  WireReader in(data);
  const std::uint8_t bits = in.u8();
  DcbxConfig config{.on = true,
                    .version = static_cast<DcbxVersion>(in.u8() % 3),
                    .ets_willing = (bits & 1U) != 0,
                    .pfc_willing = (bits & 2U) != 0,
                    .app_willing = (bits & 4U) != 0};
  PortConfig port;
  port.maps = default_maps();
  for (unsigned tc = 0; tc < kTcs; ++tc) port.queues[tc] = default_queue(tc);
  Machine m;
  m.configure(config, local_params(port, {{3, 3, 4791}}), {2});
  while (in.left() >= 2) {
    const std::uint8_t who = in.u8();
    const lldp::NeighbourKey key{.chassis = {.subtype = 4, .value = {static_cast<std::uint8_t>(who & 3U)}},
                                 .port = {}};
    Said said = decode(take_tlvs(in, 5));
    // A neighbour that has seen what we say.
    if (said.cee && (who & 4U) != 0) said.cee->control.ack = m.sequence();
    m.heard(key, std::move(said), {static_cast<std::uint8_t>(who >> 4U)});
    require(decode(m.tlvs()).faults.empty());
    require(m.peers() <= 4);
    const PortConfig then = operational_config(port, m.operational());
    unsigned weights = 0;
    for (const QueueConfig& queue : then.queues) {
      require((queue.schedule == Schedule::Wrr) == (queue.weight > 0) && queue.weight <= 100);
      require(!queue.pfc || queue.lossless);
      weights += queue.weight;
    }
    for (const std::uint8_t tc : then.maps.dot1p_tc) require(tc < kTcs);
    if (m.operational().ets == Source::Local) require(weights == 6 * kDefaultWeight);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const ByteView data(bytes + 1, size - 1);
  if (bytes[0] % 2 == 0) {
    tlvs(data);
  } else {
    machine(data);
  }
  return 0;
}
