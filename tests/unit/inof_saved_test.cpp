// SPDX-License-Identifier: Apache-2.0
// An iNOF switch goes on in another process: hosts are told nothing that they know, and all that happened
// since.
#include <gtest/gtest.h>

#include "daemon/inof/saved.h"
#include "tests/unit/inof_sim.h"

namespace lossless::inof::test {
namespace {

using std::chrono::seconds;
using List = std::vector<Seen>;

const std::string kA = "10.0.0.1";
const std::string kB = "10.0.0.2";
const std::string kC = "10.0.0.3";

class InofSaved : public testing::Test {
 protected:
  InofSaved() {
    before.announce(host(0, kA));
    before.announce(host(1, kB, Dialect::ChinaMobile));
    before.announce(host(2, kC));
    for (const std::string& h : {kA, kB, kC}) before.told(h);
  }
  // Into a switch that has the same ports, under the same numbers or others.
  void go_on(bool current = true) {
    auto saved = decode_saved(encode_saved(before.sw.save()));
    ASSERT_TRUE(saved) << saved.error();
    after.now = before.now;
    after.sw.configure(*parse_inof(saved->running, "test"), after.now);
    after.sw.restore(*saved, current, after.now);
    after.settle();
  }
  Sim before;
  Sim after;
};

TEST_F(InofSaved, NobodyIsToldAnything) {
  const auto last = before.last[kA].sequence;
  go_on();
  for (const std::string& h : {kA, kB, kC}) {
    EXPECT_EQ(after.told(h), List{});
    EXPECT_EQ(after.state(h), HostState::Online);
  }
  EXPECT_TRUE(after.sw.notifier().idle());
  EXPECT_TRUE(after.changes.empty());
  EXPECT_TRUE(after.rows.contains(ip(kA)));
  after.announce(host(0, kA));
  EXPECT_EQ(after.told(kB), List{});
  // What happens from now on is told, with the next number.
  after.sw.goodbye(1, host(1, kB).chassis, host(1, kB, Dialect::ChinaMobile).port_id, Reason::Normal,
                   after.now);
  after.settle();
  EXPECT_EQ(after.told(kA), List{offline(kB, Reason::Normal)});
  EXPECT_EQ(after.last[kA].sequence, last + 1);
}

TEST_F(InofSaved, WhatIsUnderWayIsRepeatedWithItsNumber) {
  before.mute = {kA};
  before.sw.goodbye(2, host(2, kC).chassis, host(2, kC).port_id, Reason::Normal, before.now);
  before.settle();
  const auto sequence = before.last[kA].sequence;
  go_on();
  EXPECT_EQ(after.sw.notifier().under_way(), 1U);
  EXPECT_EQ(after.told(kA), List{}) << "not before its time";
  after.pass(seconds(2));
  EXPECT_EQ(after.told(kA), List{offline(kC, Reason::Normal)});
  EXPECT_EQ(after.last[kA].sequence, sequence);
  EXPECT_EQ(after.sw.notifier().under_way(), 0U);
}

TEST_F(InofSaved, WhatWasNotSavedLastIsToldAnew) {
  const auto sequence = before.last[kA].sequence;
  go_on(false);
  EXPECT_EQ(after.told(kA), (List{online(kB), online(kC)}));
  EXPECT_GT(after.last[kA].sequence, sequence + 1000) << "numbers that may have been used are left out";
}

TEST_F(InofSaved, AgesGoOn) {
  before.pass(seconds(100));
  before.announce(host(0, kA));
  go_on();
  after.pass(seconds(21));
  EXPECT_EQ(after.state(kA), HostState::Online);
  EXPECT_EQ(after.state(kB), HostState::Offline);
  const List told = after.told(kA);
  EXPECT_NE(std::ranges::find(told, offline(kB, Reason::LldpTimeout)), told.end());
}

TEST_F(InofSaved, AHostWhosePortIsNotWhatItWasLeaves) {
  auto saved = *decode_saved(encode_saved(before.sw.save()));
  after.now = before.now;
  after.sw.set_port(1, "p1", false, after.now);
  after.sw.remove_port(2, after.now);
  after.sw.restore(saved, true, after.now);
  after.settle();
  List told = after.told(kA);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_NE(std::ranges::find(told, offline(kB, Reason::LinkDown)), told.end());
  EXPECT_NE(std::ranges::find(told, offline(kC, Reason::LinkDown)), told.end());
}

TEST_F(InofSaved, AConflictStaysOne) {
  Announcement second = host(3, kA);
  second.chassis.value[5] ^= 0x55;
  before.announce(second);
  go_on();
  EXPECT_TRUE(after.changes.empty());
  const HostId owner = after.sw.hosts().owner(ip(kA));
  ASSERT_NE(owner, kNoHost);
  EXPECT_EQ(after.sw.hosts().at(owner).key.port, 0U);
}

TEST_F(InofSaved, ZonesOfOperators) {
  ASSERT_TRUE(before.sw.add_zone("z", before.now));
  ASSERT_TRUE(before.sw.add_member("z", AddressRange::of(ip(kA)), before.now));
  before.settle();
  go_on();
  EXPECT_EQ(after.told(kB), List{});
  EXPECT_TRUE(after.sw.zones().by_name().contains("z"));
}

TEST_F(InofSaved, WhatCannotBeIsRefused) {
  const Bytes whole = encode_saved(before.sw.save());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode_saved(ByteView(whole).first(size))) << size;
}

}  // namespace
}  // namespace lossless::inof::test
