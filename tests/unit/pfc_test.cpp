// SPDX-License-Identifier: Apache-2.0
// PFC and PAUSE frames: the codec the datapath, the daemon and the endpoint share.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "bpf/stages/pfc.h"

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes from_hex(std::string_view text) {
  Bytes out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return out;
}

// Exactly as long as it is: a sanitizer sees a byte read too much.
ll_pause_frame parse(const Bytes& frame) {
  Bytes exact(frame);
  exact.shrink_to_fit();
  ll_pause_frame f;
  ll_pfc_parse(exact.data(), exact.data() + exact.size(), &f);
  return f;
}

// As switches and NICs send them, with padding and without FCS.
const std::string kSource = "020000000001";
const std::string kPad26(52, '0');
const Bytes kPfcXoff3 = from_hex("0180c2000001" + kSource +
                                 "8808"
                                 "0101"
                                 "0008"
                                 "000000000000ffff0000000000000000" +
                                 kPad26);
const Bytes kPfcTwo = from_hex("0180c2000001" + kSource +
                               "8808"
                               "0101"
                               "0018"
                               "00000000000000010000000000000000" +
                               kPad26);
const Bytes kPause = from_hex("0180c2000001" + kSource +
                              "8808"
                              "0001"
                              "1234" +
                              std::string(84, '0'));

TEST(Pfc, Vectors) {
  ASSERT_EQ(kPfcXoff3.size(), LL_PFC_FRAME_LEN);
  ll_pause_frame f = parse(kPfcXoff3);
  EXPECT_EQ(f.kind, LL_PFC_OK);
  EXPECT_EQ(f.classes, 0x08);
  EXPECT_EQ(f.time[3], 0xffff);
  EXPECT_EQ(f.time[4], 0);

  f = parse(kPfcTwo);
  EXPECT_EQ(f.classes, 0x18);
  EXPECT_EQ(f.time[3], 1);
  EXPECT_EQ(f.time[4], 0);  // named, with time 0: go on

  ASSERT_EQ(kPause.size(), LL_PFC_FRAME_LEN);
  f = parse(kPause);
  EXPECT_EQ(f.kind, LL_PFC_PAUSE);
  EXPECT_EQ(f.classes, 0xff);
  for (const auto time : f.time) EXPECT_EQ(time, 0x1234);
}

TEST(Pfc, TimesOfClassesThatAreNotNamedDontCount) {
  Bytes frame = kPfcXoff3;
  frame[18] = 0x77;  // class 0
  EXPECT_EQ(parse(frame).time[0], 0);
  EXPECT_EQ(parse(frame).classes, 0x08);
}

TEST(Pfc, CutShortAtEveryByte) {
  for (const Bytes& whole : {kPfcXoff3, kPause}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const ll_pause_frame f =
          parse(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
      EXPECT_EQ(f.kind, length < 14 ? LL_PFC_NONE : LL_PFC_BAD_SHORT) << length;
      EXPECT_EQ(f.classes, 0) << length;
    }
  }
}

TEST(Pfc, MalformedByKind) {
  Bytes frame = kPfcXoff3;
  frame[5] = 0x00;
  EXPECT_EQ(parse(frame).kind, LL_PFC_BAD_ADDRESS);
  frame = kPfcXoff3;
  frame[15] = 0x02;
  EXPECT_EQ(parse(frame).kind, LL_PFC_BAD_OPCODE);
  frame = kPfcXoff3;
  frame[16] = 0x01;
  EXPECT_EQ(parse(frame).kind, LL_PFC_BAD_VECTOR);
  frame = kPfcXoff3;
  frame[12] = 0x08;
  frame[13] = 0x00;
  EXPECT_EQ(parse(frame).kind, LL_PFC_NONE);
}

TEST(Pfc, LongerFramesAreFine) {
  Bytes frame = kPfcXoff3;
  frame.resize(1500, 0xaa);
  EXPECT_EQ(parse(frame).kind, LL_PFC_OK);
  EXPECT_EQ(parse(frame).time[3], 0xffff);
}

RC_GTEST_PROP(Pfc, WhatIsBuiltIsRead, (std::uint8_t classes, std::uint16_t quanta)) {
  const std::uint8_t source[6] = {2, 1, 2, 3, 4, 5};
  Bytes frame(LL_PFC_FRAME_LEN, 0xee);
  ll_pfc_build(frame.data(), source, classes, quanta);
  const ll_pause_frame f = parse(frame);
  RC_ASSERT(f.kind == LL_PFC_OK);
  RC_ASSERT(f.classes == classes);
  for (unsigned tc = 0; tc < LL_TCS; ++tc) RC_ASSERT(f.time[tc] == ((classes >> tc & 1) ? quanta : 0));
  RC_ASSERT(std::equal(source, source + 6, frame.begin() + 6));
}

RC_GTEST_PROP(Pfc, AnyBytesAreSafe, (const Bytes& bytes)) {
  const ll_pause_frame f = parse(bytes);
  RC_ASSERT(f.kind < LL_PFC_KINDS || f.kind == LL_PFC_NONE);
  RC_ASSERT(f.kind <= LL_PFC_PAUSE || f.classes == 0);
}

TEST(Pfc, TimeAndQuanta) {
  EXPECT_EQ(ll_pfc_time_ns(1, 1'000'000'000), 512U);
  EXPECT_EQ(ll_pfc_time_ns(0xffff, 100'000'000), 335'539'200U);
  EXPECT_EQ(ll_pfc_time_ns(0xffff, 100'000'000'000), 335'539U);
  EXPECT_EQ(ll_pfc_quanta(10'000'000, 1'000'000'000), 19532);
  EXPECT_EQ(ll_pfc_quanta(10'000'000, 400'000'000'000), 0xffff);
  EXPECT_EQ(ll_pfc_quanta(1, 10'000'000), 1);
}

RC_GTEST_PROP(Pfc, QuantaLastAtLeastTheTimeOrAreTheMost, ()) {
  const auto ns = *rc::gen::inRange<std::uint64_t>(1000, 1'000'000'000);
  const auto mbit = *rc::gen::inRange<std::uint64_t>(1, 400'000);
  const auto quanta = ll_pfc_quanta(ns, mbit * 1'000'000);
  // Times are taken in whole microseconds' worth of bits.
  RC_ASSERT(quanta == 0xffff || ll_pfc_time_ns(quanta, mbit * 1'000'000) + 1000 >= ns);
}

TEST(PfcAsked, TheSumOfWhatThePeerAsksForGrowsAsItRuns) {
  ll_pause row{};
  ll_pause_ask(&row, 1000, 500);
  EXPECT_EQ(ll_pause_asked(&row, 1200), 200U);
  ll_pause_ask(&row, 1400, 500);  // prolonged before it was over: one pause
  EXPECT_EQ(ll_pause_asked(&row, 1800), 800U);
  EXPECT_EQ(ll_pause_asked(&row, 5000), 900U) << "it ran out";
  ll_pause_ask(&row, 6000, 100);
  EXPECT_EQ(ll_pause_asked(&row, 6050), 950U);
  ll_pause_ask(&row, 6060, 0);
  EXPECT_EQ(ll_pause_asked(&row, 7000), 960U) << "let go";
  EXPECT_EQ(row.until_ns, 0U);
  ll_pause_ask(&row, 8000, 0);
  EXPECT_EQ(ll_pause_asked(&row, 9000), 960U);
}

TEST(PfcAsked, AQuantumLasts512BitTimes) {
  EXPECT_EQ(ll_pfc_quantum_ps(100'000'000), 5'120'000U);
  EXPECT_EQ(ll_pfc_quantum_ps(400'000'000'000), 1280U);
  EXPECT_EQ(0xffffU * ll_pfc_quantum_ps(1'000'000'000) / 1000, ll_pfc_time_ns(0xffff, 1'000'000'000));
}

}  // namespace
