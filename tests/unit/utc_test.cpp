// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/utc.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lossless {
namespace {

TEST(Utc, Reads) {
  EXPECT_EQ(parse_utc("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_utc("2000-02-29T12:34:56Z"), 951827696);
  EXPECT_EQ(parse_utc("2026-12-01T00:00:00Z"), 1796083200);
  EXPECT_EQ(parse_utc("9999-12-31T23:59:59Z"), 253402300799);
}

TEST(Utc, Refuses) {
  for (const char* text :
       {"", "2026-12-01", "2026-12-01 00:00:00", "2026-12-01T00:00:00", "2026-12-01T00:00:00+01:00",
        "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-12-32T00:00:00Z", "2026-12-01T24:00:00Z",
        "2026-12-01T00:60:00Z", "2026-12-01T00:00:60Z", "1969-12-31T23:59:59Z", " 2026-12-01T00:00:00Z",
        "2026-12-01T00:00:0xZ", "-026-12-01T00:00:00Z"})
    EXPECT_EQ(parse_utc(text), std::nullopt) << text;
}

RC_GTEST_PROP(Utc, ComesBackAsWritten, ()) {
  const auto seconds = *rc::gen::inRange<std::int64_t>(0, 253402300800);
  RC_ASSERT(parse_utc(utc_text(seconds)) == seconds);
}

}  // namespace
}  // namespace lossless
