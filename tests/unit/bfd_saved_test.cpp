// SPDX-License-Identifier: Apache-2.0
// A BFD session goes on in another process, and its neighbour has the patience for it.
#include <gtest/gtest.h>

#include <deque>

#include "daemon/bfd/saved.h"

namespace lossless::bfd {
namespace {

constexpr Nanos kMs = kMillisecondNs;

struct End {
  std::deque<Bytes> wire;
  std::vector<Change> changes;
  std::uint32_t random = 0;
  Session session;

  End(const Settings& settings, std::uint32_t discriminator)
      : session(settings, discriminator, 1000, kSecondNs, source()) {}
  Session::Random source() {
    return [this] { return random += 0x9e3779b9U; };
  }
  Session::Out out() {
    return {.sends = [this](const Bytes& packet) { wire.push_back(packet); },
            .changed = [this](const Change& change) { changes.push_back(change); }};
  }
};

struct Pair {
  Settings settings;
  End a;
  End b;
  Nanos now = kSecondNs;
  bool a_runs = true;

  explicit Pair(const Settings& s) : settings(s), a(s, 1), b(s, 2) {}
  void exchange() {
    while (!a.wire.empty() || !b.wire.empty()) {
      carry(a, b, true);
      carry(b, a, a_runs);
    }
  }
  void carry(End& from, End& to, bool arrives) {
    for (; !from.wire.empty(); from.wire.pop_front())
      if (arrives) to.session.receive(*decode(from.wire.front()), from.wire.front(), now, to.out());
  }
  void run(Nanos time) {
    const Nanos end = now + time;
    for (;;) {
      exchange();
      const Nanos next = std::min(a_runs ? a.session.deadline() : kNever, b.session.deadline());
      if (next > end) break;
      now = std::max(now, next);
      if (a_runs) a.session.advance(now, a.out());
      b.session.advance(now, b.out());
    }
    now = end;
  }
  void hand_over(Nanos gap) {
    a.session.prepare_hand_over(now, a.out());
    for (Nanos limit = now + 500 * kMs; a.session.polling() && now < limit;) run(kMs);
    const auto saved = decode_saved(encode_saved({{.key = {}, .session = a.session.save()}}));
    ASSERT_TRUE(saved);
    a_runs = false;
    run(gap);
    a.session = Session(settings, saved->front().session, now, a.source());
    a_runs = true;
  }
};

class BfdSaved : public testing::TestWithParam<AuthType> {};

TEST_P(BfdSaved, TheNeighbourDoesNotNotice) {
  Settings settings{.desired_min_tx_us = 50'000, .required_min_rx_us = 50'000};
  if (GetParam() != AuthType::None) settings.key = {.type = GetParam(), .id = 1, .secret = {1, 2, 3}};
  Pair p(settings);
  p.run(3 * kSecondNs);
  ASSERT_EQ(p.b.session.state(), State::Up);
  p.b.changes.clear();
  for (int i = 0; i < 3; ++i) {
    p.hand_over(3 * kSecondNs);
    p.run(kSecondNs);
    EXPECT_EQ(p.a.session.state(), State::Up);
    EXPECT_EQ(p.a.session.discriminator(), 1U);
    EXPECT_TRUE(p.b.changes.empty());
    EXPECT_EQ(p.b.session.detection_time_us(), 150'000U) << "back to what it was";
    EXPECT_EQ(p.a.session.tx_interval_us(), 50'000U);
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, BfdSaved,
                         testing::Values(AuthType::None, AuthType::Simple, AuthType::MeticulousSha1));

TEST(BfdSavedLost, WhoDoesNotComeBackIsMissed) {
  Pair p({.desired_min_tx_us = 50'000, .required_min_rx_us = 50'000});
  p.run(3 * kSecondNs);
  p.hand_over(kSecondNs);
  p.a_runs = false;
  p.run(16 * kSecondNs);
  EXPECT_EQ(p.b.session.state(), State::Down);
}

TEST(BfdSavedLost, WithoutPreparationTheNeighbourNotices) {
  Pair p({.desired_min_tx_us = 50'000, .required_min_rx_us = 50'000});
  p.run(3 * kSecondNs);
  p.a_runs = false;
  p.run(kSecondNs);
  EXPECT_EQ(p.b.session.state(), State::Down);
}

TEST(BfdSavedLost, WhatCannotBeIsRefused) {
  Pair p({});
  p.run(3 * kSecondNs);
  const Bytes whole = encode_saved({{.key = {}, .session = p.a.session.save()}});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode_saved(ByteView(whole).first(size))) << size;
}

}  // namespace
}  // namespace lossless::bfd
