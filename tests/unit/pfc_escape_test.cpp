// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <utility>

#include "daemon/pfc/watchdog_escape.h"

namespace {

using namespace lossless::pfc;
using Ports = std::map<std::string, TcMask>;

TEST(Escape, OffAndOnGivesBackWhatWas) {
  Escape escape;
  escape.turn_on({{"swp1", 0x18}, {"swp2", 0}}, 1000);
  EXPECT_TRUE(escape.on());
  EXPECT_EQ(escape.turn_off(), (Ports{{"swp1", 0x18}, {"swp2", 0}}));
  EXPECT_FALSE(escape.on());
  EXPECT_EQ(escape, Escape{});
  EXPECT_TRUE(escape.turn_off().empty());
}

// The second time the ports have PFC off already: what they had before must not get lost.
TEST(Escape, TurningItOnTwiceKeepsTheFirst) {
  Escape escape;
  escape.turn_on({{"swp1", 0x18}}, 1000);
  escape.turn_on({{"swp1", 0}, {"swp2", 0x08}}, 2000);
  EXPECT_EQ(escape.since_s(), 1000U);
  EXPECT_EQ(escape.turn_off(), (Ports{{"swp1", 0x18}, {"swp2", 0x08}}));
}

TEST(Escape, ConfigurationWhileOnIsGivenBack) {
  Escape escape;
  escape.set_port("swp1", 0xff);  // off: nothing to keep
  escape.turn_on({{"swp1", 0x18}, {"swp2", 0x18}}, 1);
  escape.set_port("swp1", 0x08);
  escape.set_port("swp3", 0x10);
  escape.remove_port("swp2");
  EXPECT_EQ(escape.turn_off(), (Ports{{"swp1", 0x08}, {"swp3", 0x10}}));
}

TEST(Escape, Text) {
  Escape escape;
  EXPECT_EQ(escape.to_text(), "escape 1\noff\n");
  escape.turn_on({{"swp1", 0x18}}, 1'767'225'600);
  EXPECT_EQ(escape.to_text(), "escape 1\non 1767225600\nport swp1 24\n");
}

TEST(Escape, BadTextIsRefusedWithItsLine) {
  const auto error = [](std::string_view text) { return parse_escape(text).error(); };
  EXPECT_EQ(error(""), "line 1: must be \"escape 1\"");
  EXPECT_EQ(error("escape 2\noff\n"), "line 1: must be \"escape 1\"");
  EXPECT_EQ(error("escape 1\n"), "line 2: the text ends too early");
  EXPECT_EQ(error("escape 1\non 5\nport swp1 2"), "line 3: the text ends too early");
  EXPECT_EQ(error("escape 1\non x\n"), "line 2: the time is not a number");
  EXPECT_EQ(error("escape 1\non 99999999999999999999\n"), "line 2: the time is not a number");
  EXPECT_EQ(error("escape 1\nperhaps\n"), "line 2: must be \"on SECONDS\" or \"off\"");
  EXPECT_EQ(error("escape 1\non 5\nport swp1 256\n"), "line 3: the mask must be 0 to 255");
  EXPECT_EQ(error("escape 1\non 5\nport swp1 1\nport swp1 1\n"), "line 4: port swp1 is there twice");
  const std::string form = "line 3: must be \"port NAME MASK\", and none while it is off";
  EXPECT_EQ(error("escape 1\noff\nport swp1 1\n"), form);
  EXPECT_EQ(error("escape 1\non 5\nport  1\n"), form);
  EXPECT_EQ(error("escape 1\non 5\nport a/b 1\n"), form);
  EXPECT_EQ(error("escape 1\non 5\nport 0123456789abcdef 1\n"), form);
  EXPECT_EQ(error("escape 1\non 5\n\n"), form);
}

RC_GTEST_PROP(Escape, SurvivesARestart, (std::uint64_t now_s)) {
  const auto masks = *rc::gen::arbitrary<std::map<std::uint16_t, TcMask>>();
  Ports ports;
  for (const auto& [index, mask] : masks) ports["swp" + std::to_string(index)] = mask;
  Escape escape;
  escape.turn_on(ports, now_s);
  auto again = parse_escape(escape.to_text());
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == escape);
  RC_ASSERT(again->turn_off() == ports);
}

RC_GTEST_PROP(Escape, AnyTextIsReadOrRefused, ()) {
  const auto text = *rc::gen::arbitrary<std::string>();
  const auto escape = parse_escape(text);
  RC_ASSERT((escape ? parse_escape(escape->to_text()) == escape : !escape.error().empty()));
  const auto headed = parse_escape("escape 1\non 5\n" + text);
  RC_ASSERT((headed ? parse_escape(headed->to_text()) == headed : !headed.error().empty()));
}

}  // namespace
