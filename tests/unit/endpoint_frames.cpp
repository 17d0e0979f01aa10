// SPDX-License-Identifier: Apache-2.0
// Prints frames that hosts send in a short incast with marking, in hex, some of each opcode: for
// endpoint_scapy_test.py, which checks them with code that is not ours.
#include <cstdio>
#include <map>

#include "tests/unit/endpoint_sim.h"

int main() {
  using namespace lossless::endpoint;
  constexpr unsigned kOfEach = 20;
  Config config = incast_config(4, 100'000'000, kSecond / 5);
  config.flows[1].write = false;
  config.flows[2].pcp = 3;
  config.flows[3].size = SizeDistribution({{1, 0.5}, {3000, 1.0}});
  SimNetwork net(config, {.kmin_bytes = 20'000, .kmax_bytes = 40'000}, 20 * kMicrosecond);
  std::map<std::uint8_t, unsigned> printed;
  net.tap = [&](std::vector<std::uint8_t>& frame) {
    ll_roce r;
    if (parse_frame(frame, r) != LL_ROCE_OK || ++printed[r.opcode] > kOfEach) return true;
    for (const std::uint8_t byte : frame) std::printf("%02x", byte);
    std::printf("\n");
    return true;
  };
  return net.run() ? 0 : 1;
}
