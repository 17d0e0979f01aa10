// SPDX-License-Identifier: Apache-2.0
// The state machine of priority flow control, and the thresholds it works with.
#include <gtest/gtest.h>

#include <set>

#include "bpf/stages/pfc.h"
#include "daemon/core/units.h"
#include "daemon/pfc/pause_table.h"
#include "daemon/pfc/plan.h"

namespace lossless::pfc {
namespace {

constexpr std::uint64_t kRate = 1'000'000'000;
constexpr unsigned kTc = 3;
constexpr std::uint32_t kSlot = 5;
constexpr Nanos kStart = 1'000'000'000;

class PauseTableTest : public testing::Test {
 protected:
  PauseTableTest() { table_.set_port(port(), {}, kStart, out_); }

  static PortInfo port() {
    PortInfo info;
    info.slot = kSlot;
    info.ifindex = 7;
    info.up = true;
    info.rate_bps = kRate;
    info.plans[kTc] = Plan{.xoff_bytes = 100'000,
                           .xon_bytes = 90'000,
                           .headroom_bytes = 50'000,
                           .needed_bytes = 40'000,
                           .quanta = 19'532,
                           .pause_ns = 10'000'000};
    info.limits[kTc] = 1'000'000;
    return info;
  }
  // A frame that names `classes`, all with `quanta`, as the datapath notes and tells it.
  ll_pfc_event rx(std::uint8_t classes, std::uint16_t quanta, Nanos at) {
    ll_pfc_event e{};
    e.ns = at;
    e.slot = kSlot;
    e.kind = LL_EVENT_RX;
    e.classes = classes;
    for (unsigned tc = 0; tc < kTcs; ++tc)
      if (classes >> tc & 1) ll_pause_ask(&rows_[tc], at, ll_pfc_time_ns(quanta, kRate));
    return e;
  }
  static ll_pfc_event level(std::uint8_t kind, Nanos at, bool sent = true) {
    ll_pfc_event e{};
    e.ns = at;
    e.slot = kSlot;
    e.kind = kind;
    e.tc = kTc;
    e.sent = sent;
    return e;
  }
  Actions event(const ll_pfc_event& e, Nanos now) {
    Actions out;
    table_.on_event(e, now, out);
    return out;
  }
  Actions timer(Nanos now) {
    Actions out;
    table_.on_timer(now, out);
    return out;
  }
  static Action close_gate() { return {.kind = Action::Kind::Close, .slot = kSlot, .tc = kTc}; }
  static Action open_gate() { return {.kind = Action::Kind::Open, .slot = kSlot, .tc = kTc}; }
  static Action frame(std::uint8_t classes, std::uint16_t quanta) {
    return {.kind = Action::Kind::Send, .slot = kSlot, .classes = classes, .quanta = quanta};
  }
  static Action kick() { return frame(0, 0); }
  static Action xoff() { return frame(1U << kTc, 19'532); }
  static Action xon() { return frame(1U << kTc, 0); }

  std::set<std::uint32_t> off_;
  std::array<ll_pause, kTcs> rows_{};
  PauseTable table_{
      {.is_off = [this](std::uint32_t row) { return off_.contains(row); },
       .asked_until = [this](std::uint32_t row) { return Nanos{rows_[row - LL_ROW(kSlot, 0)].until_ns}; }}};
  Actions out_;
};

TEST_F(PauseTableTest, AFrameClosesTheGateUntilItsTimeIsOver) {
  EXPECT_EQ(event(rx(1U << kTc, 1000, kStart), kStart), Actions{close_gate()});
  EXPECT_EQ(table_.next_deadline(), kStart + 512'000);
  EXPECT_EQ(timer(kStart + 511'999), Actions{});
  EXPECT_EQ(timer(kStart + 512'000), (Actions{open_gate(), kick()}));
  EXPECT_EQ(table_.next_deadline(), kNever);
  EXPECT_EQ(table_.gate(kSlot, kTc).paused_ns, 512'000U);
  EXPECT_EQ(table_.gate(kSlot, kTc).transitions, 1U);
}

// The datapath tells nothing of frames that only prolong a pause.
TEST_F(PauseTableTest, AProlongedPauseIsFoundWhenTheOldOneIsOver) {
  event(rx(1U << kTc, 1000, kStart), kStart);
  (void)rx(1U << kTc, 1000, kStart + 300'000);
  EXPECT_EQ(timer(kStart + 512'000), Actions{});
  EXPECT_EQ(table_.next_deadline(), kStart + 812'000);
  EXPECT_EQ(timer(kStart + 812'000), (Actions{open_gate(), kick()}));
}

TEST_F(PauseTableTest, PfcThatIsWithheldOpensTheGateAndComesBackIntoThePause) {
  event(rx(1U << kTc, 0xffff, kStart), kStart);
  PortInfo off = port();
  off.withheld = 1U << kTc;
  Actions out;
  table_.set_port(off, {}, kStart + 1000, out);
  EXPECT_EQ(out, (Actions{open_gate(), kick()}));
  EXPECT_EQ(event(rx(1U << kTc, 0xffff, kStart + 2000), kStart + 2000), Actions{});
  out.clear();
  table_.set_port(port(), {}, kStart + 3000, out);
  EXPECT_EQ(out, Actions{close_gate()});
}

TEST_F(PauseTableTest, TimeZeroOpensAtOnce) {
  event(rx(1U << kTc, 1000, kStart), kStart);
  EXPECT_EQ(event(rx(1U << kTc, 0, kStart + 100), kStart + 100), (Actions{open_gate(), kick()}));
  EXPECT_EQ(event(rx(1U << kTc, 0, kStart + 200), kStart + 200), Actions{}) << "it is open already";
}

TEST_F(PauseTableTest, AClosedGateIsNotClosedAgain) {
  event(rx(1U << kTc, 0xffff, kStart), kStart);
  for (Nanos t = kStart; t < kStart + 1'000'000'000; t += 10'000'000) {
    EXPECT_EQ(event(rx(1U << kTc, 0xffff, t), t), Actions{});
    EXPECT_EQ(timer(t), Actions{});
  }
  EXPECT_EQ(table_.gate(kSlot, kTc).transitions, 1U);
}

TEST_F(PauseTableTest, ClassesWithoutPfcAreLeftAlone) {
  EXPECT_EQ(event(rx(0xff & ~(1U << kTc), 1000, kStart), kStart), Actions{});
  EXPECT_EQ(event(rx(0xff, 1000, kStart), kStart), Actions{close_gate()});
}

TEST_F(PauseTableTest, AFrameThatWaitedLongerThanItsPauseStopsNothing) {
  EXPECT_EQ(event(rx(1U << kTc, 1000, kStart), kStart + 600'000), Actions{});
}

TEST_F(PauseTableTest, PortDownInMidPauseOpensTheGate) {
  event(rx(1U << kTc, 0xffff, kStart), kStart);
  PortInfo down = port();
  down.up = false;
  Actions out;
  table_.set_port(down, {}, kStart + 1000, out);
  EXPECT_EQ(out, Actions{open_gate()});
  EXPECT_EQ(table_.gate(kSlot, kTc).since_ns, 0U);
  EXPECT_EQ(event(rx(1U << kTc, 0xffff, kStart + 2000), kStart + 2000), Actions{})
      << "a late event of a dead port";
}

TEST_F(PauseTableTest, PfcSwitchedOffInMidPauseOpensTheGate) {
  event(rx(1U << kTc, 0xffff, kStart), kStart);
  PortInfo without = port();
  without.plans[kTc].reset();
  Actions out;
  table_.set_port(without, {}, kStart + 1000, out);
  EXPECT_EQ(out, (Actions{open_gate(), kick()}));
}

TEST_F(PauseTableTest, APortThatGoesOpensItsGates) {
  event(rx(1U << kTc, 0xffff, kStart), kStart);
  Actions out;
  table_.remove_port(kSlot, kStart + 1000, out);
  EXPECT_EQ(out, (Actions{open_gate(), kick()}));
  table_.forget(kSlot);
  EXPECT_EQ(table_.port(kSlot), nullptr);
}

TEST_F(PauseTableTest, AGateLeftClosedByAnEarlierDaemonIsTakenOver) {
  PauseTable next({.is_off = [](std::uint32_t) { return false; },
                   .asked_until = [](std::uint32_t) { return kStart + 5'000'000; }});
  std::array<Gate, kTcs> rows{};
  rows[kTc] = {.since_ns = kStart, .paused_ns = 0, .transitions = 9};
  Actions out;
  next.set_port(port(), rows, kStart + 1'000'000, out);
  EXPECT_EQ(out, Actions{});
  next.on_timer(kStart + 5'000'000, out);
  EXPECT_EQ(out, (Actions{open_gate(), kick()}));
  EXPECT_EQ(next.gate(kSlot, kTc).transitions, 9U);
}

TEST_F(PauseTableTest, AStoppedPeerIsTakenOver) {
  PauseTable next(
      {.is_off = [](std::uint32_t) { return true; }, .asked_until = [](std::uint32_t) { return Nanos{0}; }});
  Actions out;
  next.set_port(port(), {}, kStart, out);
  EXPECT_EQ(out, Actions{xoff()});
  EXPECT_EQ(next.next_deadline(), kStart + 5'000'000);
}

TEST_F(PauseTableTest, AStoppedPeerIsRefreshedUntilTheLevelFalls) {
  off_.insert(LL_ROW(kSlot, kTc));
  EXPECT_EQ(event(level(LL_EVENT_XOFF, kStart), kStart), Actions{}) << "the datapath has sent it";
  EXPECT_EQ(timer(kStart + 4'999'999), Actions{});
  EXPECT_EQ(timer(kStart + 5'000'000), Actions{xoff()});
  EXPECT_EQ(timer(kStart + 10'000'000), Actions{xoff()});
  off_.clear();
  EXPECT_EQ(event(level(LL_EVENT_XON, kStart + 11'000'000), kStart + 11'000'000), Actions{xon()});
  EXPECT_EQ(table_.next_deadline(), kNever);
}

TEST_F(PauseTableTest, AFrameTheDatapathCouldNotMakeIsSent) {
  off_.insert(LL_ROW(kSlot, kTc));
  EXPECT_EQ(event(level(LL_EVENT_XOFF, kStart, false), kStart), Actions{xoff()});
}

TEST_F(PauseTableTest, XonIsNotSentOverANewXoff) {
  off_.insert(LL_ROW(kSlot, kTc));  // above once more before we got to it
  EXPECT_EQ(event(level(LL_EVENT_XON, kStart), kStart + 100), Actions{});
}

TEST_F(PauseTableTest, AnXoffThatOurXonOvertookIsRepeated) {
  EXPECT_EQ(event(level(LL_EVENT_XON, kStart), kStart + 100), Actions{xon()});
  off_.insert(LL_ROW(kSlot, kTc));
  EXPECT_EQ(event(level(LL_EVENT_XOFF, kStart + 50), kStart + 200), Actions{xoff()});
}

TEST_F(PauseTableTest, UnknownSlotsAndClassesAreIgnored) {
  ll_pfc_event e = level(LL_EVENT_XOFF, kStart, false);
  e.slot = 99;
  EXPECT_EQ(event(e, kStart), Actions{});
  e = level(LL_EVENT_XOFF, kStart, false);
  e.tc = 200;
  EXPECT_EQ(event(e, kStart), Actions{});
}

QueueConfig lossless_queue(std::uint32_t limit, const PfcConfig& pfc = {}) {
  QueueConfig queue;
  queue.limit_bytes = limit;
  queue.lossless = true;
  queue.pfc = pfc;
  return queue;
}

TEST(PfcPlan, DefaultsFillTheLimit) {
  const auto plan =
      plan_pfc(lossless_queue(1'000'000), {.rate_bps = kRate, .mtu = 1500, .ports = 5, .mac = {}});
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->headroom_bytes, plan->needed_bytes);
  EXPECT_EQ(plan->xoff_bytes + plan->headroom_bytes, 250'000U) << "four other ports share the limit";
  EXPECT_LT(plan->xon_bytes, plan->xoff_bytes);
  EXPECT_EQ(plan->quanta, 19'532);
}

TEST(PfcPlan, HeadroomCoversWireReactionAndFrames) {
  PfcConfig config;
  config.cable_m = 0;
  config.reaction_us = 0;
  const std::uint64_t frames = needed_headroom(config, kRate, 1500);
  EXPECT_EQ(frames, 3U * 1522 + 2 * 64);
  config.reaction_us = 100;
  EXPECT_EQ(needed_headroom(config, kRate, 1500), frames + 12'500);
  config.cable_m = 1980;  // 20 us there and back
  EXPECT_EQ(needed_headroom(config, kRate, 1500), frames + 12'500 + 2'500);
}

TEST(PfcPlan, TooLittleHeadroomIsRefusedWithBothValues) {
  PfcConfig config;
  config.headroom_bytes = 1000;
  const auto plan =
      plan_pfc(lossless_queue(1'000'000, config), {.rate_bps = kRate, .mtu = 1500, .ports = 2, .mac = {}});
  ASSERT_FALSE(plan);
  EXPECT_NE(
      plan.error().find("headroom 1KB is below the " + format_size(needed_headroom(config, kRate, 1500))),
      std::string::npos)
      << plan.error();
}

TEST(PfcPlan, ALimitThatDoesNotHoldAllPortsIsRefused) {
  PfcConfig config;
  config.xoff_bytes = 100'000;
  const auto facts = [](unsigned ports) {
    return PortFacts{.rate_bps = kRate, .mtu = 1500, .ports = ports, .mac = {}};
  };
  EXPECT_TRUE(plan_pfc(lossless_queue(1'000'000, config), facts(9)));
  const auto plan = plan_pfc(lossless_queue(1'000'000, config), facts(10));
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().find("limit 1MB does not hold what 9 other ports may send"), std::string::npos)
      << plan.error();
  EXPECT_FALSE(plan_pfc(lossless_queue(20'000), facts(3))) << "nothing is left for xoff";
}

TEST(PfcPlan, EcnBeginsBeforePfc) {
  QueueConfig queue = lossless_queue(100'000);
  queue.ecn = EcnConfig{.kmin_bytes = 10'000, .kmax_bytes = 85'000, .pmax = 0.5};
  const auto plan = plan_pfc(queue, {.rate_bps = kRate, .mtu = 1500, .ports = 2, .mac = {}});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().find("kmax 85KB is not below xoff"), std::string::npos) << plan.error();
}

TEST(PfcPlan, RowOfNoPlanIsOff) {
  EXPECT_EQ(make_pfc_row(nullptr, {}, kRate).on, 0);
  const auto plan =
      plan_pfc(lossless_queue(1'000'000), {.rate_bps = kRate, .mtu = 1500, .ports = 2, .mac = {}});
  const ll_pfc row = make_pfc_row(&*plan, {2, 0, 0, 0, 0, 9}, kRate);
  EXPECT_EQ(row.on, 1);
  EXPECT_EQ(row.limit, 1'000'000U);
  EXPECT_EQ(row.mac[5], 9);
  EXPECT_LT(row.refresh_ns, plan->pause_ns);
  EXPECT_GT(row.refresh_ns, plan->pause_ns / 2) << "the daemon comes first";
}

}  // namespace
}  // namespace lossless::pfc
