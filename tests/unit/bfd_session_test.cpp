// SPDX-License-Identifier: Apache-2.0
// Two sessions on a simulated wire, and one against packets made by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "daemon/bfd/session.h"

namespace lossless::bfd {
namespace {

constexpr Nanos kMs = kMillisecondNs;

// A session with what it sent and what became of it.
struct End {
  Session session;
  std::vector<std::pair<Nanos, Packet>> sent;
  std::vector<Change> changes;
  std::deque<Bytes> wire;
  Nanos now = 0;

  End(const Settings& settings, std::uint32_t discriminator, Nanos at = kSecondNs)
      : session(settings, discriminator, 1000, at, [this] { return random += 0x9e3779b9U; }), now(at) {}
  std::uint32_t random = 0;

  Session::Out out() {
    return {.sends =
                [this](const Bytes& packet) {
                  sent.emplace_back(now, decode(packet)->packet);
                  wire.push_back(packet);
                },
            .changed = [this](const Change& change) { changes.push_back(change); }};
  }
  void advance(Nanos at) {
    now = at;
    session.advance(now, out());
  }
  void hear(const Bytes& bytes, Nanos at) {
    now = at;
    session.receive(*decode(bytes), bytes, now, out());
  }
  void hear(const Packet& packet, Nanos at, const AuthKey& key = {}, std::uint32_t sequence = 0) {
    hear(encode(packet, key, sequence), at);
  }
  void configure(const Settings& settings) { session.configure(settings, now, out()); }
  State state() const { return session.state(); }
  const Packet& last() const { return sent.back().second; }
};

struct Pair {
  End a;
  End b;
  Nanos now = kSecondNs;
  bool cut_ab = false;
  bool cut_ba = false;
  Nanos delay = 0;

  Pair(const Settings& left, const Settings& right) : a(left, 1), b(right, 2) {}

  void carry(End& from, End& to, bool cut) {
    while (!from.wire.empty()) {
      const Bytes packet = from.wire.front();
      from.wire.pop_front();
      if (!cut) to.hear(packet, now);
    }
  }
  void exchange() {
    while (!a.wire.empty() || !b.wire.empty()) {
      carry(a, b, cut_ab);
      carry(b, a, cut_ba);
    }
  }
  void run_until(Nanos end) {
    for (;;) {
      exchange();
      const Nanos next = std::min(a.session.deadline(), b.session.deadline());
      if (next > end) break;
      now = std::max(now, next);
      a.advance(now);
      b.advance(now);
    }
    now = end;
  }
  void run(Nanos time) { run_until(now + time); }
  bool up() const { return a.state() == State::Up && b.state() == State::Up; }
};

Settings every(std::uint32_t ms, std::uint8_t mult = 3) {
  return {.desired_min_tx_us = ms * 1000, .required_min_rx_us = ms * 1000, .detect_mult = mult};
}

// Intervals between the packets that were sent since `from`.
std::vector<double> gaps_ms(const End& end, Nanos from) {
  std::vector<double> out;
  Nanos before = 0;
  for (const auto& [at, packet] : end.sent) {
    if (at < from || packet.final) continue;
    if (before != 0) out.push_back(static_cast<double>(at - before) / static_cast<double>(kMs));
    before = at;
  }
  return out;
}

TEST(BfdSession, ComesUpAndAgreesOnTimes) {
  Pair p(every(50), every(20, 5));
  p.run(2 * kSecondNs);
  ASSERT_TRUE(p.up());
  EXPECT_EQ(p.a.session.tx_interval_us(), 50'000U) << "no more often than we wish";
  EXPECT_EQ(p.b.session.tx_interval_us(), 50'000U) << "no more often than the neighbour can take";
  EXPECT_EQ(p.a.session.detection_time_us(), 5U * 50'000) << "its multiplier";
  EXPECT_EQ(p.b.session.detection_time_us(), 3U * 50'000);
  EXPECT_FALSE(p.a.session.polling() || p.b.session.polling()) << "the Poll Sequences have ended";
  EXPECT_EQ(p.a.changes.size(), 2U) << "Init or Up at once";
}

TEST(BfdSession, SlowUntilItIsUp) {
  End alone(every(10), 1);
  for (Nanos t = kSecondNs; t < 20 * kSecondNs; t += 5 * kMs) alone.advance(t);
  for (const double gap : gaps_ms(alone, 0)) EXPECT_GE(gap, 750);
  EXPECT_EQ(alone.last().desired_min_tx_us, kSlowUs);
  EXPECT_EQ(alone.last().your_discriminator, 0U);
  EXPECT_EQ(alone.last().state, State::Down);
}

TEST(BfdSession, JitterStaysInItsRange) {
  for (const std::uint8_t mult : {std::uint8_t{1}, std::uint8_t{3}}) {
    Pair p(every(40, mult), every(40));
    p.run(2 * kSecondNs);
    const Nanos from = p.now;
    p.run(20 * kSecondNs);
    const auto gaps = gaps_ms(p.a, from);
    ASSERT_GT(gaps.size(), 400U);
    const auto [low, high] = std::ranges::minmax(gaps);
    EXPECT_GE(low, 30.0);
    EXPECT_LE(high, mult == 1 ? 36.001 : 40.001);
    EXPECT_GT(high - low, 2.0) << "there is jitter";
  }
}

TEST(BfdSession, SilenceIsFoundAfterTheDetectionTime) {
  Pair p(every(50), every(50));
  p.run(2 * kSecondNs);
  ASSERT_TRUE(p.up());
  p.a.changes.clear();
  p.b.changes.clear();
  p.cut_ba = true;
  const Nanos heard = p.a.session.last_rx();
  p.run(200 * kMs);
  ASSERT_FALSE(p.a.changes.empty());
  const Change down = p.a.changes.front();
  EXPECT_EQ(down.to, State::Down);
  EXPECT_EQ(down.diag, Diag::DetectionTimeExpired);
  EXPECT_FALSE(down.by_neighbour_admin);
  EXPECT_EQ(down.at - heard, 150 * kMs);
  ASSERT_FALSE(p.b.changes.empty()) << "which still hears us, and is told";
  EXPECT_EQ(p.b.changes.front().diag, Diag::NeighbourSignalledDown);
  EXPECT_EQ(p.b.changes.front().at, down.at) << "at once";
  p.cut_ba = false;
  p.run(4 * kSecondNs);
  EXPECT_TRUE(p.up()) << "and up again";
  EXPECT_EQ(p.a.session.counters().went_down, 1U);
  EXPECT_EQ(p.a.session.counters().went_up, 2U);
}

// 6.8.6, row by row.
TEST(BfdSession, StateMachine) {
  struct Row {
    State ours;
    State theirs;
    State then;
  };
  for (const Row& row : std::initializer_list<Row>{
           {State::Down, State::AdminDown, State::Down},
           {State::Down, State::Down, State::Init},
           {State::Down, State::Init, State::Up},
           {State::Down, State::Up, State::Down},
           {State::Init, State::AdminDown, State::Down},
           {State::Init, State::Down, State::Init},
           {State::Init, State::Init, State::Up},
           {State::Init, State::Up, State::Up},
           {State::Up, State::AdminDown, State::Down},
           {State::Up, State::Down, State::Down},
           {State::Up, State::Init, State::Up},
           {State::Up, State::Up, State::Up},
           {State::AdminDown, State::Down, State::AdminDown},
           {State::AdminDown, State::Init, State::AdminDown},
           {State::AdminDown, State::Up, State::AdminDown},
       }) {
    Settings settings = every(50);
    settings.admin_down = row.ours == State::AdminDown;
    End end(settings, 1);
    Packet packet{.my_discriminator = 2,
                  .your_discriminator = 1,
                  .desired_min_tx_us = 50'000,
                  .required_min_rx_us = 50'000};
    if (row.ours == State::Init || row.ours == State::Up) end.hear(packet, kSecondNs);
    packet.state = State::Init;
    if (row.ours == State::Up) end.hear(packet, kSecondNs);
    ASSERT_EQ(end.state(), row.ours);
    packet.state = row.theirs;
    end.changes.clear();
    end.hear(packet, kSecondNs + 1);
    EXPECT_EQ(end.state(), row.then) << to_string(row.ours) << " hears " << to_string(row.theirs);
    EXPECT_EQ(end.changes.size(), row.ours == row.then ? 0U : 1U);
  }
}

TEST(BfdSession, AdminDownIsNoFailure) {
  Pair p(every(50), every(50));
  p.run(2 * kSecondNs);
  Settings down = every(50);
  down.admin_down = true;
  p.b.changes.clear();
  p.a.now = p.now;
  p.a.configure(down);
  p.run(10 * kSecondNs);
  EXPECT_EQ(p.a.state(), State::AdminDown);
  EXPECT_EQ(p.b.state(), State::Down);
  ASSERT_EQ(p.b.changes.size(), 1U);
  EXPECT_TRUE(p.b.changes.front().by_neighbour_admin);
  p.a.now = p.now;
  p.a.configure(every(50));
  p.run(3 * kSecondNs);
  EXPECT_TRUE(p.up());
}

TEST(BfdSession, GoodbyeIsAdminDown) {
  Pair p(every(50), every(50));
  p.run(2 * kSecondNs);
  p.b.changes.clear();
  p.a.session.say_goodbye(p.now, p.a.out());
  p.carry(p.a, p.b, false);
  ASSERT_EQ(p.b.changes.size(), 1U);
  EXPECT_TRUE(p.b.changes.front().by_neighbour_admin);
  End silent({.passive = true}, 9);
  silent.session.say_goodbye(2 * kSecondNs, silent.out());
  EXPECT_TRUE(silent.sent.empty()) << "a passive end that nobody spoke to says nothing";
}

TEST(BfdSession, PassiveWaits) {
  Settings passive = every(50);
  passive.passive = true;
  Pair both(passive, passive);
  both.run(5 * kSecondNs);
  EXPECT_TRUE(both.a.sent.empty() && both.b.sent.empty());
  Pair one(passive, every(50));
  one.run(3 * kSecondNs);
  EXPECT_TRUE(one.up());
}

TEST(BfdSession, SlowerOnlyOnceTheNeighbourKnows) {
  Pair p(every(50), every(50));
  p.run(2 * kSecondNs);
  p.cut_ab = false;
  Settings slower = every(500);
  p.a.now = p.now;
  p.cut_ba = true;  // no F comes back
  p.a.configure(slower);
  EXPECT_EQ(p.a.session.tx_interval_us(), 50'000U) << "its detection time is still short";
  EXPECT_EQ(p.a.session.detection_time_us(), 1'500'000U) << "ours may be longer at once";
  EXPECT_TRUE(p.a.session.polling());
  p.cut_ba = false;
  p.run(2 * kSecondNs);
  EXPECT_EQ(p.a.session.tx_interval_us(), 500'000U);
  EXPECT_EQ(p.b.session.detection_time_us(), 1'500'000U);
  EXPECT_TRUE(p.up());
  EXPECT_EQ(p.a.session.counters().went_down + p.b.session.counters().went_down, 0U);
}

TEST(BfdSession, ShorterDetectionOnlyOnceTheNeighbourKnows) {
  Pair p(every(500), every(20));
  p.run(4 * kSecondNs);
  ASSERT_TRUE(p.up());
  EXPECT_EQ(p.a.session.detection_time_us(), 1'500'000U);
  p.a.now = p.now;
  p.a.configure(every(20));
  EXPECT_EQ(p.a.session.detection_time_us(), 1'500'000U) << "it still sends as it did";
  p.run(2 * kSecondNs);
  EXPECT_EQ(p.a.session.detection_time_us(), 60'000U);
  EXPECT_EQ(p.a.session.counters().went_down + p.b.session.counters().went_down, 0U);
}

TEST(BfdSession, ChangesDuringAPollSequenceHaveTheirOwn) {
  Pair p(every(50), every(50));
  p.run(2 * kSecondNs);
  p.a.now = p.now;
  p.a.configure(every(500));
  p.a.configure(every(700));
  EXPECT_TRUE(p.a.session.polling());
  p.run(4 * kSecondNs);
  EXPECT_EQ(p.a.session.tx_interval_us(), 700'000U);
  EXPECT_FALSE(p.a.session.polling());
  EXPECT_TRUE(p.up());
}

TEST(BfdSession, PollIsAnsweredAtOnceAndNeverWithBothBits) {
  End end(every(50), 1);
  end.hear(Packet{.my_discriminator = 2, .desired_min_tx_us = 50'000, .required_min_rx_us = 50'000},
           kSecondNs);
  end.sent.clear();
  end.hear(Packet{.state = State::Init,
                  .poll = true,
                  .my_discriminator = 2,
                  .your_discriminator = 1,
                  .desired_min_tx_us = 50'000,
                  .required_min_rx_us = 50'000},
           kSecondNs + kMs);
  ASSERT_EQ(end.sent.size(), 2U);
  EXPECT_TRUE(end.sent[0].second.final && !end.sent[0].second.poll);
  EXPECT_TRUE(!end.sent[1].second.final && end.sent[1].second.poll) << "it came up: its own Poll Sequence";
  EXPECT_EQ(end.sent[0].second.state, State::Up);
}

TEST(BfdSession, NothingPeriodicToWhoCannotReceive) {
  End end(every(50), 1);
  end.advance(kSecondNs);
  const Packet quiet{.my_discriminator = 2, .desired_min_tx_us = 100'000, .required_min_rx_us = 0};
  end.hear(quiet, kSecondNs + kMs);
  end.sent.clear();
  for (Nanos t = kSecondNs + 2 * kMs; t < kSecondNs + 90 * kMs; t += kMs) end.advance(t);
  EXPECT_TRUE(end.sent.empty());
  end.advance(kSecondNs + 400 * kMs);
  EXPECT_NE(end.session.deadline(), kNever) << "forgotten with the neighbour";
}

TEST(BfdSession, DemandModeIsQuietAndStillFindsFailures) {
  Settings demand = every(50);
  demand.demand = true;
  Pair p(demand, every(50));
  p.run(3 * kSecondNs);
  ASSERT_TRUE(p.up());
  const std::size_t before = p.b.sent.size();
  p.run(10 * kSecondNs);
  EXPECT_TRUE(p.up());
  const std::size_t answers = p.b.sent.size() - before;
  EXPECT_GE(answers, 8U) << "one for each verification";
  EXPECT_LE(answers, 12U) << "the neighbour does not send periodically";
  const Nanos cut = p.now;
  p.cut_ba = true;
  p.a.changes.clear();
  p.run(3 * kSecondNs);
  ASSERT_FALSE(p.a.changes.empty());
  EXPECT_EQ(p.a.changes.front().diag, Diag::DetectionTimeExpired);
  EXPECT_LE(p.a.changes.front().at - cut, 1200 * kMs) << "the next verification and the detection time";
}

TEST(BfdSession, DemandOnBothSides) {
  Settings demand = every(50);
  demand.demand = true;
  Pair p(demand, demand);
  p.run(3 * kSecondNs);
  ASSERT_TRUE(p.up());
  const std::size_t before = p.a.sent.size() + p.b.sent.size();
  p.run(10 * kSecondNs);
  EXPECT_TRUE(p.up());
  EXPECT_LE(p.a.sent.size() + p.b.sent.size() - before, 60U);
}

class BfdSessionAuthenticated : public testing::TestWithParam<AuthType> {};

TEST_P(BfdSessionAuthenticated, UpWithTheSameKeyOnly) {
  Settings with = every(50);
  with.key = {.type = GetParam(), .id = 1, .secret = {'k', 'e', 'y'}};
  Pair good(with, with);
  good.run(3 * kSecondNs);
  EXPECT_TRUE(good.up());
  Settings other = with;
  other.key.secret.back() = 'x';
  Pair bad(with, other);
  bad.run(3 * kSecondNs);
  EXPECT_EQ(bad.a.state(), State::Down);
  EXPECT_GT(bad.a.session.counters().auth, 0U);
  Pair none(with, every(50));
  none.run(3 * kSecondNs);
  EXPECT_EQ(none.a.state(), State::Down);
  EXPECT_EQ(none.b.state(), State::Down) << "a section that was not agreed on";
  EXPECT_GT(none.b.session.counters().auth, 0U);
}

INSTANTIATE_TEST_SUITE_P(Types, BfdSessionAuthenticated,
                         testing::Values(AuthType::Simple, AuthType::KeyedMd5, AuthType::MeticulousMd5,
                                         AuthType::KeyedSha1, AuthType::MeticulousSha1));

TEST(BfdSession, SequenceNumbers) {
  for (const AuthType type : {AuthType::KeyedSha1, AuthType::MeticulousSha1}) {
    Settings settings = every(50);
    settings.key = {.type = type, .id = 1, .secret = {'k'}};
    const bool meticulous = type == AuthType::MeticulousSha1;
    End end(settings, 1);
    const Packet packet{
        .detect_mult = 3, .my_discriminator = 2, .desired_min_tx_us = 50'000, .required_min_rx_us = 50'000};
    const auto taken = [&](std::uint32_t sequence) {
      const auto before = end.session.counters().in;
      end.hear(packet, end.now + kMs, settings.key, sequence);
      return end.session.counters().in > before;
    };
    EXPECT_TRUE(taken(0xfffffffe)) << "the first is taken as it is";
    EXPECT_EQ(taken(0xfffffffe), !meticulous) << "again";
    EXPECT_FALSE(taken(0xfffffffd)) << "behind";
    EXPECT_TRUE(taken(3)) << "ahead, beyond the end of the numbers";
    EXPECT_TRUE(taken(12)) << "3 * multiplier ahead";
    EXPECT_FALSE(taken(22)) << "further";
    EXPECT_GE(end.session.counters().replayed, 2U);
    end.advance(end.now + 3100 * kMs);  // the detection time: 3 * 50 ms
    EXPECT_TRUE(taken(5)) << "forgotten after twice the detection time";
  }
}

TEST(BfdSession, OurSequenceNumbersRise) {
  Settings with = every(50);
  with.key = {.type = AuthType::MeticulousMd5, .id = 1, .secret = {'k'}};
  Pair p(with, with);
  p.run(5 * kSecondNs);
  EXPECT_TRUE(p.up());
  EXPECT_EQ(p.a.session.counters().replayed + p.b.session.counters().replayed, 0U);
}

TEST(BfdSession, AnotherDiscriminatorIsARestart) {
  Pair p(every(50), every(50));
  p.run(2 * kSecondNs);
  End again(every(50), 77, p.now);
  p.a.wire.clear();
  again.advance(p.now);
  p.a.changes.clear();
  p.a.hear(again.wire.front(), p.now);
  EXPECT_EQ(p.a.state(), State::Down) << "Down was signalled";
  EXPECT_EQ(p.a.session.remote_discriminator(), 77U);
}

}  // namespace
}  // namespace lossless::bfd
