// SPDX-License-Identifier: Apache-2.0
// Requester and responder against each other, without frames.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <random>
#include <variant>

#include "bpf/stages/roce.h"
#include "veth-topo/endpoint/receiver.h"
#include "veth-topo/endpoint/sender.h"

namespace lossless::endpoint {
namespace {

Arrival arrival_of(const DataPacket& p, std::uint16_t order = 0) {
  return {p.opcode, p.psn, p.payload, static_cast<std::uint32_t>(p.message_bytes), p.ack_request, order};
}

// What was answered; a syndrome that does not exist if nothing was.
AckPacket ack_of(const ArrivalResult& r) { return r.ack.value_or(AckPacket{0, 0xff, 0}); }

SenderParams params(std::uint32_t psn = 0, bool write = true) {
  SenderParams p;
  p.mtu = 1024;
  p.write = write;
  p.first_psn = psn;
  return p;
}

TEST(Sender, OpcodesAndSizesOfAMessage) {
  QpSender s(params());
  s.post(2500, 1);
  const DataPacket a = s.take(1);
  const DataPacket b = s.take(1);
  const DataPacket c = s.take(1);
  EXPECT_EQ(a.opcode, LL_OP_WRITE_FIRST);
  EXPECT_EQ(b.opcode, LL_OP_WRITE_MIDDLE);
  EXPECT_EQ(c.opcode, LL_OP_WRITE_LAST);
  EXPECT_EQ(c.payload, 2500u - 2048u);
  EXPECT_TRUE(c.ack_request);
  EXPECT_FALSE(s.can_send());
  s.post(1024, 1);
  EXPECT_EQ(s.take(1).opcode, LL_OP_WRITE_ONLY);
  QpSender send(params(0, false));
  send.post(1, 1);
  EXPECT_EQ(send.take(1).opcode, LL_OP_SEND_ONLY);
}

TEST(Sender, WindowClosesAndAsksForAnAck) {
  SenderParams p = params();
  p.window_packets = 3;
  p.ack_every = 100;
  QpSender s(p);
  s.post(100ull * 1024, 1);
  EXPECT_FALSE(s.take(1).ack_request);
  EXPECT_FALSE(s.take(1).ack_request);
  EXPECT_TRUE(s.take(1).ack_request);
  EXPECT_FALSE(s.can_send());
  s.on_ack(0, LL_ACK_NO_CREDIT, 2);
  EXPECT_TRUE(s.can_send());
}

TEST(Sender, NakGoesBack) {
  QpSender s(params());
  s.post(10ull * 1024, 1);
  for (int i = 0; i < 8; i++) s.take(1);
  s.on_ack(3, LL_NAK_SEQUENCE, 2);
  EXPECT_EQ(s.peek().psn, 3u);
  EXPECT_TRUE(s.peek().retransmit);
  for (int i = 0; i < 5; i++) EXPECT_TRUE(s.take(2).retransmit);
  EXPECT_FALSE(s.take(2).retransmit);
  EXPECT_EQ(s.retransmitted(), 5u);
}

TEST(Sender, TimeoutGoesBackToTheOldest) {
  QpSender s(params());
  EXPECT_EQ(s.deadline(), kNever);
  s.post(4ull * 1024, 1000);
  for (int i = 0; i < 4; i++) s.take(1000);
  s.on_ack(0, LL_ACK_NO_CREDIT, 2000);
  EXPECT_EQ(s.deadline(), 2000 + params().timeout_ns);
  s.on_timer(s.deadline() - 1);
  EXPECT_FALSE(s.can_send());
  s.on_timer(s.deadline());
  EXPECT_EQ(s.timeouts(), 1u);
  EXPECT_EQ(s.peek().psn, 1u);
}

TEST(Sender, NonsenseAcksChangeNothing) {
  QpSender s(params(5));
  s.post(4ull * 1024, 1);
  s.take(1);
  s.take(1);
  for (const std::uint32_t psn : {0u, 4u, 7u, 8u, 0x800000u, 0xffffffu}) {
    EXPECT_TRUE(s.on_ack(psn, LL_ACK_NO_CREDIT, 2).empty());
    EXPECT_TRUE(s.on_ack(psn, LL_NAK_SEQUENCE, 2).empty());
    EXPECT_EQ(s.peek().psn, 7u);
  }
  EXPECT_EQ(s.stale_acks(), 12u);
}

TEST(Sender, InvalidRequestStopsIt) {
  QpSender s(params());
  s.post(4ull * 1024, 1);
  s.take(1);
  s.on_ack(0, LL_NAK_INVALID, 2);
  EXPECT_TRUE(s.failed());
  EXPECT_FALSE(s.can_send());
  EXPECT_EQ(s.deadline(), kNever);
}

TEST(Receiver, OneNakPerGapAndOneMoreForANewPass) {
  QpReceiver r(0, 1024);
  QpSender s(params());
  s.post(10ull * 1024, 1);
  std::vector<DataPacket> p;
  p.reserve(10);
  for (int i = 0; i < 10; i++) p.push_back(s.take(1));
  r.on_data(arrival_of(p[0], 0));
  const auto first = r.on_data(arrival_of(p[2], 2));
  ASSERT_TRUE(first.ack);
  EXPECT_EQ(ack_of(first).syndrome, LL_NAK_SEQUENCE);
  EXPECT_EQ(ack_of(first).psn, 1u);
  EXPECT_FALSE(r.on_data(arrival_of(p[3], 3)).ack);
  EXPECT_FALSE(r.on_data(arrival_of(p[4], 4)).ack);
  // The requester has started over and packet 1 was lost again.
  const auto second = r.on_data(arrival_of(p[2], 6));
  ASSERT_TRUE(second.ack);
  EXPECT_EQ(ack_of(second).syndrome, LL_NAK_SEQUENCE);
  EXPECT_EQ(r.delivered_bytes(), 1024u);
  EXPECT_EQ(r.reordered(), 0u);
}

TEST(Receiver, DuplicateIsAckedAgainAndNotDelivered) {
  QpReceiver r(0xffffff, 1024);
  Arrival a{LL_OP_SEND_ONLY, 0xffffff, 10, 0, true, 0};
  EXPECT_EQ(r.on_data(a).delivered, 10u);
  a.wire_order = 1;
  const auto again = r.on_data(a);
  EXPECT_EQ(again.delivered, 0u);
  ASSERT_TRUE(again.ack);
  EXPECT_EQ(ack_of(again).psn, 0xffffffu);
  EXPECT_EQ(ack_of(again).msn, 1u);
  EXPECT_EQ(r.duplicates(), 1u);
}

TEST(Receiver, SeesReorderingByTheOrderOnTheWire) {
  QpReceiver r(0, 1024);
  std::uint32_t psn = 0;
  for (const std::uint16_t order : {65533, 65534, 0, 65535, 1, 2})
    r.on_data({LL_OP_SEND_ONLY, psn++, 1, 0, false, order});
  EXPECT_EQ(r.reordered(), 1u);
}

TEST(Receiver, RefusesWhatDoesNotFitTheMessage) {
  struct Case {
    const char* what;
    std::vector<Arrival> before;
    Arrival bad;
  };
  const std::vector<Case> cases = {
      {"middle without first", {}, {LL_OP_WRITE_MIDDLE, 0, 1024, 0, false, 0}},
      {"last without first", {}, {LL_OP_SEND_LAST, 0, 5, 0, false, 0}},
      {"first short of the MTU", {}, {LL_OP_WRITE_FIRST, 0, 1000, 5000, false, 0}},
      {"only above the MTU", {}, {LL_OP_SEND_ONLY, 0, 1025, 0, false, 0}},
      {"only with another length than announced", {}, {LL_OP_WRITE_ONLY, 0, 100, 101, false, 0}},
      {"a READ", {}, {LL_OP_READ_REQUEST, 0, 0, 0, false, 0}},
      {"first inside of a message",
       {{LL_OP_SEND_FIRST, 0, 1024, 0, false, 0}},
       {LL_OP_SEND_FIRST, 1, 1024, 0, false, 0}},
      {"SEND ends a WRITE",
       {{LL_OP_WRITE_FIRST, 0, 1024, 1030, false, 0}},
       {LL_OP_SEND_LAST, 1, 6, 0, false, 0}},
      {"less than announced",
       {{LL_OP_WRITE_FIRST, 0, 1024, 1030, false, 0}},
       {LL_OP_WRITE_LAST, 1, 5, 0, false, 0}},
      {"empty last", {{LL_OP_SEND_FIRST, 0, 1024, 0, false, 0}}, {LL_OP_SEND_LAST, 1, 0, 0, false, 0}},
  };
  for (const Case& c : cases) {
    QpReceiver r(0, 1024);
    for (const Arrival& a : c.before) EXPECT_EQ(r.on_data(a).delivered, a.payload) << c.what;
    const auto out = r.on_data(c.bad);
    EXPECT_EQ(out.delivered, 0u) << c.what;
    ASSERT_TRUE(out.ack) << c.what;
    EXPECT_EQ(ack_of(out).syndrome, LL_NAK_INVALID) << c.what;
    EXPECT_EQ(r.invalid(), 1u) << c.what;
  }
}

// A link that loses, duplicates and reorders in both directions.
struct BadLink {
  double loss;
  double duplicate;
  double reorder;
  std::mt19937 random;
  std::multimap<Nanos, std::variant<Arrival, AckPacket>> under_way;

  bool chance(double p) { return std::uniform_real_distribution(0.0, 1.0)(random) < p; }
  void put(Nanos now, const std::variant<Arrival, AckPacket>& what) {
    const int copies = chance(loss) ? 0 : (chance(duplicate) ? 2 : 1);
    for (int i = 0; i < copies; i++)
      under_way.emplace(now + 1000 + (chance(reorder) ? random() % 20'000 : 0), what);
  }
};

// Sends until every message is completed; false if that takes more than `limit`.
bool exchange(QpSender& s, QpReceiver& r, BadLink& link, std::size_t messages, std::size_t& completed,
              Nanos limit) {
  std::uint16_t order = 0;
  Nanos now = 1;
  while (completed < messages && now < limit) {
    if (s.can_send()) link.put(now, arrival_of(s.take(now), order++));
    now += 100;
    while (!link.under_way.empty() && link.under_way.begin()->first <= now) {
      const auto what = link.under_way.begin()->second;
      link.under_way.erase(link.under_way.begin());
      if (const auto* data = std::get_if<Arrival>(&what)) {
        if (const auto out = r.on_data(*data); out.ack) link.put(now, *out.ack);
      } else {
        const auto& ack = std::get<AckPacket>(what);
        completed += s.on_ack(ack.psn, ack.syndrome, now).size();
      }
    }
    s.on_timer(now);
    if (!s.can_send() && link.under_way.empty()) now = std::max(now, std::min(s.deadline(), limit));
  }
  return completed == messages;
}

TEST(Qp, EveryMessageIsDeliveredInOrderExactlyOnce) {
  rc::check("over a link that loses, duplicates and reorders", [] {
    SenderParams p =
        params(*rc::gen::inRange<std::uint32_t>(0xffff00, 0x1000000), *rc::gen::arbitrary<bool>());
    p.mtu = 256;
    p.window_packets = *rc::gen::inRange<std::uint32_t>(1, 200);
    p.ack_every = *rc::gen::inRange<std::uint32_t>(1, 40);
    p.timeout_ns = 100'000;
    const auto sizes =
        *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 20'000));
    BadLink link{*rc::gen::inRange(0, 30) / 100.0,
                 *rc::gen::inRange(0, 20) / 100.0,
                 *rc::gen::inRange(0, 20) / 100.0,
                 std::mt19937(*rc::gen::arbitrary<std::uint32_t>()),
                 {}};
    QpSender s(p);
    QpReceiver r(p.first_psn, p.mtu);
    std::uint64_t bytes = 0;
    for (const std::uint32_t size : sizes) s.post(size, 1), bytes += size;
    std::size_t completed = 0;
    RC_ASSERT(exchange(s, r, link, sizes.size(), completed, 1000 * kSecond));
    RC_ASSERT(r.delivered_bytes() == bytes);
    RC_ASSERT(r.messages() == sizes.size());
    RC_ASSERT(r.invalid() == 0u);
    RC_ASSERT(s.pending_messages() == 0u);
    RC_ASSERT(!s.failed());
  });
}

TEST(Qp, CompletionsComeInOrderOverTheWrapOfThePsn) {
  SenderParams p = params(0xfffff0);
  p.window_packets = 64;
  QpSender s(p);
  QpReceiver r(p.first_psn, p.mtu);
  for (std::uint64_t i = 1; i <= 100; i++) s.post(i * 100, i);
  std::vector<std::uint64_t> sizes;
  std::uint16_t order = 0;
  while (s.can_send()) {
    const auto out = r.on_data(arrival_of(s.take(1), order++));
    if (!out.ack) continue;
    for (const Completion& c : s.on_ack(out.ack->psn, out.ack->syndrome, 2)) sizes.push_back(c.bytes);
  }
  ASSERT_EQ(sizes.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(sizes));
  EXPECT_EQ(s.retransmitted(), 0u);
}

TEST(Qp, NoLossNoRetransmission) {
  QpSender s(params(0xffffff));
  QpReceiver r(0xffffff, 1024);
  BadLink link{0, 0, 0, std::mt19937(1), {}};
  for (int i = 0; i < 50; i++) s.post(100'000, 1);
  std::size_t completed = 0;
  EXPECT_TRUE(exchange(s, r, link, 50, completed, kSecond));
  EXPECT_EQ(s.retransmitted(), 0u);
  EXPECT_EQ(s.timeouts(), 0u);
  EXPECT_EQ(r.out_of_order() + r.duplicates() + r.reordered(), 0u);
}

}  // namespace
}  // namespace lossless::endpoint
