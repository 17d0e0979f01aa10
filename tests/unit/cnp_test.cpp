// SPDX-License-Identifier: Apache-2.0
// CNP frames as the datapath makes them: the one of a real NIC byte by byte, and any other by the parser.
#include "bpf/stages/cnp.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/unit/roce_vectors.h"
#include "veth-topo/endpoint/codec.h"

namespace lossless::endpoint {
namespace {

using Frame = std::vector<std::uint8_t>;

Frame build(const ll_cnp& cnp) {
  Frame frame(LL_CNP_FRAME_MAX);
  ll_cnp_build(frame.data(), &cnp);
  frame.resize(ll_cnp_len(&cnp));
  return frame;
}

TEST(Cnp, IsTheOneOfTheNic) {
  const Frame& golden = roce_vector("golden_cnp").frame;
  ll_cnp cnp{};
  std::copy_n(golden.begin(), 6, cnp.eth_dst);
  std::copy_n(golden.begin() + 6, 6, cnp.eth_src);
  std::copy_n(golden.begin() + 26, 4, cnp.src);
  std::copy_n(golden.begin() + 30, 4, cnp.dst);
  cnp.dest_qp = 0x118;
  cnp.id = 0x718c;
  cnp.ip = 4;
  cnp.tos = 0xc2;  // this NIC sends its CNPs as ECT(0)
  EXPECT_EQ(build(cnp), golden);
}

RC_GTEST_PROP(Cnp, AnyOneIsReadBackAndItsIcrcIsRight, (std::uint32_t qp, std::uint16_t sport, bool v6)) {
  ll_cnp cnp{};
  const auto address = *rc::gen::container<std::vector<std::uint8_t>>(32, rc::gen::arbitrary<std::uint8_t>());
  std::copy_n(address.begin(), 16, cnp.src);
  std::copy_n(address.begin() + 16, 16, cnp.dst);
  cnp.dest_qp = qp & LL_PSN_MASK;
  cnp.sport = sport;
  cnp.ip = v6 ? 6 : 4;
  cnp.tos = 48 << 2;
  const Frame frame = build(cnp);
  ll_roce r;
  RC_ASSERT(parse_frame(frame, r) == LL_ROCE_OK);
  RC_ASSERT(r.opcode == LL_OP_CNP);
  RC_ASSERT(r.dest_qp == cnp.dest_qp);
  RC_ASSERT(r.udp_sport == sport);
  RC_ASSERT(r.congestion == 0x40);
  RC_ASSERT(r.tos == 48 << 2);
  RC_ASSERT(r.ip_version == cnp.ip);
}

}  // namespace
}  // namespace lossless::endpoint
