// SPDX-License-Identifier: Apache-2.0
// Which keys of a chain are in use, and what is said of segments that did not match.
#include "daemon/bgp/authentication.h"

#include <gtest/gtest.h>

namespace lossless::bgp {
namespace {

net::TcpKey key(std::uint8_t id, net::Lifetime send, net::Lifetime accept) {
  return {.send_id = id, .receive_id = id, .secret = "s", .send = send, .accept = accept};
}

std::string in_use(const net::KeyChain& chain, std::int64_t now) {
  Authentication out;
  take_chain(chain, now, out);
  std::string text;
  for (const KeyUse& use : out.keys) text += std::to_string(use.key.send_id) + (use.sends ? "s" : "");
  return text + (out.next_change ? " until " + std::to_string(*out.next_change) : "");
}

TEST(BgpAuthentication, KeysInUse) {
  const net::KeyChain chain{key(1, {0, 200}, {0, 300}), key(2, {200, 400}, {100, 500})};
  EXPECT_EQ(in_use(chain, 0), "1s until 100");
  EXPECT_EQ(in_use(chain, 150), "1s2 until 200");
  EXPECT_EQ(in_use(chain, 250), "12s until 300");
  EXPECT_EQ(in_use(chain, 350), "2s until 400");
  EXPECT_EQ(in_use(chain, 450), " until 500") << "nothing may be sent: nothing is in use";
  EXPECT_EQ(in_use({}, 0), "");
}

bool says(const Authentication& a, bool established, const std::string& part) {
  return trouble_of(a, established).find(part) != std::string::npos;
}

TEST(BgpAuthentication, TroubleOfTcpAo) {
  Authentication a{.kind = AuthKind::TcpAo, .chain = "c", .keys = {{key(1, {}, {}), true}}};
  EXPECT_EQ(trouble_of(a, false), "");
  a.bad_tries = 1;
  EXPECT_TRUE(says(a, false, "1 segment of it has a wrong signature"));
  a.connection = net::TcpAoState{.current_id = 1, .wanted_id = 1, .good = 9};
  EXPECT_EQ(trouble_of(a, true), "") << "all is well again";
  a.connection->bad = 4;
  EXPECT_TRUE(says(a, true, "5 segments of it have a wrong signature"));
  Authentication other{.kind = AuthKind::TcpAo, .chain = "c", .keys = {{key(1, {}, {}), true}}};
  other.tries_no_key = 3;
  other.tries_unsigned = 2;
  EXPECT_TRUE(says(other, false, "3 tries to connect, of whichever neighbour, had a key ID"));
  EXPECT_TRUE(says(other, false, "2 tries to connect, of whichever neighbour, had no signature"));
  EXPECT_EQ(trouble_of({.kind = AuthKind::TcpAo, .chain = "c"}, false),
            "key chain c has no key that may be used now");
}

TEST(BgpAuthentication, TroubleOfMd5IsOfWhoever) {
  Authentication a{.kind = AuthKind::Md5};
  EXPECT_EQ(trouble_of(a, false), "");
  a.md5 = {.failures = 2, .not_found = 1, .unexpected = 0};
  EXPECT_EQ(
      trouble_of(a, false),
      "the kernel dropped segments, of whichever neighbour here: 2 with a wrong signature; 1 without one "
      "that is due");
  EXPECT_EQ(trouble_of(a, true), "");
  a.kind = AuthKind::None;
  EXPECT_EQ(trouble_of(a, false), "");
}

TEST(BgpAuthentication, CountersOfTheKernel) {
  const char* text =
      "TcpExt: SyncookiesSent TCPMD5Failure Other\nTcpExt: 1 22 3\nIpExt: InNoRoutes TCPMD5Failure\nIpExt: 4 "
      "5\n";
  EXPECT_EQ(net::find_counter(text, "TcpExt:", "TCPMD5Failure"), 22U);
  EXPECT_EQ(net::find_counter(text, "IpExt:", "TCPMD5Failure"), 5U);
  EXPECT_EQ(net::find_counter(text, "TcpExt:", "Unknown"), 0U);
  EXPECT_EQ(net::find_counter("TcpExt: A B\nTcpExt: 1\n", "TcpExt:", "B"), 0U);
}

}  // namespace
}  // namespace lossless::bgp
