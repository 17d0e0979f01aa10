// SPDX-License-Identifier: Apache-2.0
// Notifications under way: batches, pacing, repetition, acknowledgements that are none.
#include <gtest/gtest.h>

#include "tests/unit/inof_sim.h"

namespace lossless::inof::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string address(unsigned n) {
  return "10.1." + std::to_string(n / 250) + "." + std::to_string(1 + n % 250);
}

std::size_t notifications(const std::vector<OutFrame>& frames) {
  std::size_t count = 0;
  for (const OutFrame& frame : frames) count += frame.messages.size();
  return count;
}

// A notifier of its own, with facts made by hand.
struct Direct {
  Notifier notifier{[](SubscriberId, Cursor&, bool) { return std::optional<Fact>(); }};
  Micros now = seconds(5);
  Direct() { notifier.subscribe(1, 0, Dialect::Odcc, ip("10.0.0.1"), now); }
  static Fact fact(unsigned n, State state = State::Online) {
    return {.subject = ip(address(n)), .state = state, .reason = Reason::Normal, .attached = nullptr};
  }
  std::vector<OutFrame> at(Micros time) {
    now = time;
    return notifier.flush(now);
  }
};

TEST(InofNotifier, BatchesUpToAFullFrame) {
  Direct d;
  for (unsigned n = 0; n < 100; ++n) d.notifier.tell(1, Direct::fact(n));
  const auto frames = d.notifier.flush(d.now);
  ASSERT_EQ(frames.size(), 4U);
  EXPECT_EQ(notifications(frames), 100U);
  for (const OutFrame& frame : frames) {
    const Bytes bytes = encode_frame(frame.dialect, Mac{2}, frame.messages);
    EXPECT_LE(bytes.size(), kMaxFrame);
    EXPECT_TRUE(decode_frame(bytes));
  }
  EXPECT_GT(frames.front().messages.size(), 26U);
}

TEST(InofNotifier, SequenceNumbersGrowByOneAndOutlastASubscription) {
  Direct d;
  d.notifier.tell(1, Direct::fact(1));
  EXPECT_EQ(std::get<Notify>(d.notifier.flush(d.now)[0].messages[0]).sequence, 1U);
  d.notifier.unsubscribe(1);
  d.notifier.subscribe(1, 0, Dialect::Odcc, ip("10.0.0.1"), d.now);
  d.notifier.tell(1, Direct::fact(1));
  EXPECT_EQ(std::get<Notify>(d.notifier.flush(d.now)[0].messages[0]).sequence, 2U);
}

TEST(InofNotifier, RepeatsWithBackoffUpToTheLimit) {
  Direct d;
  d.notifier.tell(1, Direct::fact(1));
  EXPECT_EQ(notifications(d.notifier.flush(d.now)), 1U);
  std::vector<Micros> times;
  Micros last = d.now;
  while (const auto due = d.notifier.due(d.now)) {
    if (notifications(d.at(*due)) == 0) continue;
    times.push_back(d.now - last);
    last = d.now;
  }
  EXPECT_EQ(times, (std::vector<Micros>{seconds(1), seconds(2), seconds(4), seconds(8), seconds(8)}));
  EXPECT_EQ(d.notifier.total().expired, 1U);
  EXPECT_EQ(d.notifier.total().retransmitted, 5U);
  EXPECT_TRUE(d.notifier.idle());
}

TEST(InofNotifier, ALaterStateTakesThePlaceOfAnEarlierOne) {
  Direct d;
  d.notifier.tell(1, Direct::fact(1));
  d.notifier.flush(d.now);
  d.notifier.tell(1, Direct::fact(1, State::Offline));
  d.notifier.tell(1, Direct::fact(1, State::Online));
  d.notifier.tell(1, Direct::fact(1, State::Offline));
  const auto frames = d.notifier.flush(d.now);
  ASSERT_EQ(notifications(frames), 1U);
  EXPECT_EQ(std::get<Notify>(frames[0].messages[0]).state, State::Offline);
  EXPECT_FALSE(d.notifier.ack(1, 0, {ip(address(1)), ip("10.0.0.1"), 1})) << "its ACK is taken all the same";
  const auto again = d.at(d.now + seconds(1));
  ASSERT_EQ(notifications(again), 1U) << "the earlier one is not repeated";
  EXPECT_EQ(std::get<Notify>(again[0].messages[0]).sequence, 2U);
}

TEST(InofNotifier, AcksThatAcknowledgeNothing) {
  Direct d;
  d.notifier.tell(1, Direct::fact(1));
  d.notifier.flush(d.now);
  const Ack good{ip(address(1)), ip("10.0.0.1"), 1};
  Ack bad = good;
  EXPECT_EQ(d.notifier.ack(2, 0, good), BadAck::NotAsked);
  EXPECT_EQ(d.notifier.ack(1, 7, good), BadAck::WrongPort);
  for (const std::uint32_t sequence : {0U, 2U, UINT32_MAX}) {
    bad.sequence = sequence;
    EXPECT_EQ(d.notifier.ack(1, 0, bad), BadAck::WrongSequence) << sequence;
  }
  bad = good;
  bad.subject = ip(address(2));
  EXPECT_EQ(d.notifier.ack(1, 0, bad), BadAck::WrongSequence);
  EXPECT_FALSE(d.notifier.idle());
  EXPECT_FALSE(d.notifier.ack(1, 0, good));
  EXPECT_EQ(d.notifier.ack(1, 0, good), BadAck::Duplicate);
  EXPECT_TRUE(d.notifier.idle());
  EXPECT_EQ(d.notifier.bad_acks(), (std::array<std::uint64_t, kBadAcks>{1, 1, 4, 1}));
}

// Counts frames in any window of 500 ms.
std::size_t most_in_half_a_second(const std::vector<Micros>& times) {
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; last < times.size(); ++last) {
    while (times[last] - times[first] >= milliseconds(500)) ++first;
    most = std::max(most, last - first + 1);
  }
  return most;
}

TEST(InofNotifier, PacesAPort) {
  Notifier notifier([](SubscriberId, Cursor&, bool) { return std::optional<Fact>(); });
  Micros now = seconds(5);
  std::map<IpAddress, SubscriberId> ids;
  for (SubscriberId id = 0; id < 2000; ++id) {
    ids[ip(address(id))] = id;
    notifier.subscribe(id, 0, Dialect::Odcc, ip(address(id)), now);
    notifier.tell(id, Direct::fact(id));
  }
  std::vector<Micros> times;
  for (;; now += milliseconds(1)) {
    const auto frames = notifier.flush(now);
    times.insert(times.end(), frames.size(), now);
    for (const OutFrame& frame : frames) {
      const auto& notify = std::get<Notify>(frame.messages[0]);
      (void)notifier.ack(ids[notify.notified], 0, {notify.subject, notify.notified, notify.sequence});
    }
    if (notifier.idle()) break;
  }
  EXPECT_EQ(times.size(), 2000U);
  EXPECT_LT(most_in_half_a_second(times), 500U);
  EXPECT_LT(times.back() - times.front(), seconds(4)) << "as fast as the budget allows";
}

TEST(InofNotifier, AHostThatNeverAcknowledgesDoesNotHoldUpOthers) {
  Sim sim;
  sim.mute.insert("10.0.0.1");
  sim.announce(host(0, "10.0.0.1"));
  sim.announce(host(0, "10.0.0.2"));
  sim.told("10.0.0.2");
  for (unsigned n = 0; n < 400; ++n) {
    sim.announce(host(1, address(n)));
    ASSERT_EQ(sim.told("10.0.0.2"), std::vector<Seen>{online(address(n))}) << n;
    sim.pass(milliseconds(10));
  }
  EXPECT_GT(sim.sw.notifier().total().retransmitted, 0U);
}

TEST(InofNotifier, TooMuchWaitingBecomesAFullState) {
  Sim sim({}, 40);
  InofConfig config = sim.sw.config();
  config.max_hosts_per_port = 8192;
  sim.sw.configure(config, sim.now);
  sim.mute.insert("10.0.0.1");
  sim.announce(host(0, "10.0.0.1"));
  for (unsigned n = 0; n < 600; ++n) sim.sw.announced(host(1 + n % 39, address(n)), sim.now);
  for (unsigned n = 0; n < 600; n += 2)
    sim.sw.goodbye(1 + n % 39, host(0, address(n)).chassis, host(0, address(n)).port_id, Reason::Normal,
                   sim.now);
  sim.settle();
  sim.mute.clear();
  sim.pass(seconds(60));
  std::map<std::string, State> knows;
  for (const Seen& seen : sim.told("10.0.0.1")) knows[seen.subject] = seen.state;
  ASSERT_EQ(knows.size(), 600U);
  for (unsigned n = 0; n < 600; ++n)
    ASSERT_EQ(knows[address(n)], n % 2 == 0 ? State::Offline : State::Online) << n;
}

}  // namespace
}  // namespace lossless::inof::test
