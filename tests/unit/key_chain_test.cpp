// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/key_chain.h"

#include <gtest/gtest.h>

namespace lossless::net {
namespace {

TcpKey key(std::uint8_t id, Lifetime send, Lifetime accept) {
  return {.send_id = id, .receive_id = id, .secret = "s", .send = send, .accept = accept};
}

// Key 1 is sent until 200 and accepted until 300; key 2 is accepted from 100 and sent from 200.
const KeyChain kRollover{key(1, {0, 200}, {0, 300}), key(2, {.from = 200}, {.from = 100})};

std::string state(const KeyChain& chain, std::int64_t now) {
  const TcpKey* sending = sending_key(chain, now);
  std::string out = sending ? std::to_string(sending->send_id) : "-";
  out += ":";
  for (const TcpKey& k : chain)
    if (accepts(chain, k, now)) out += std::to_string(k.send_id);
  return out;
}

TEST(KeyChain, RollsOverWithBothAcceptedMeanwhile) {
  EXPECT_EQ(state(kRollover, 0), "1:1");
  EXPECT_EQ(state(kRollover, 99), "1:1");
  EXPECT_EQ(state(kRollover, 100), "1:12");
  EXPECT_EQ(state(kRollover, 199), "1:12");
  EXPECT_EQ(state(kRollover, 200), "2:12");
  EXPECT_EQ(state(kRollover, 299), "2:12");
  EXPECT_EQ(state(kRollover, 300), "2:2");
}

TEST(KeyChain, NextChangeNamesEachInstant) {
  std::vector<std::int64_t> instants;
  for (auto at = next_change(kRollover, 0); at; at = next_change(kRollover, *at)) instants.push_back(*at);
  EXPECT_EQ(instants, (std::vector<std::int64_t>{100, 200, 300}));
}

TEST(KeyChain, TheNewestOfSeveralIsSent) {
  const KeyChain chain{key(7, {.from = 10}, {}), key(8, {.from = 20}, {}), key(9, {.from = 20}, {})};
  EXPECT_EQ(state(chain, 5), "-:789");
  EXPECT_EQ(state(chain, 10), "7:789");
  EXPECT_EQ(state(chain, 20), "8:789");
}

TEST(KeyChain, AKeyThatIsSentIsAcceptedToo) { EXPECT_EQ(state({key(3, {}, {0, 10})}, 50), "3:3"); }

TEST(KeyChain, FaultsNameTheKey) {
  EXPECT_EQ(find_chain_fault(kRollover), std::nullopt);
  KeyChain chain = kRollover;
  chain[1].receive_id = 1;
  EXPECT_EQ(*find_chain_fault(chain), "key 2: its send or receive ID is another key's");
  chain = kRollover;
  chain[0].secret.assign(81, 'x');
  EXPECT_EQ(*find_chain_fault(chain), "key 1 has a secret of 81 bytes; allowed: 1 to 80");
  chain = kRollover;
  chain[1].accept = {5, 5};
  EXPECT_EQ(*find_chain_fault(chain), "key 2 has a lifetime that ends before it begins");
}

}  // namespace
}  // namespace lossless::net
