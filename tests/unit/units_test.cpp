// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/units.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace lossless {
namespace {

constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();

struct Good {
  std::string_view text;
  std::uint64_t value;
};
struct Bad {
  std::string_view text;
  std::string_view error;
};

TEST(Size, Reads) {
  const std::vector<Good> cases{
      {"0", 0},
      {"18446744073709551615", kTop},
      {"3000", 3000},
      {"0B", 0},
      {"17B", 17},
      {"100KB", 100'000},
      {"100 KB", 100'000},
      {"2MB", 2'000'000},
      {"1GB", 1'000'000'000},
      {"1KiB", 1024},
      {"3MiB", 3U << 20U},
      {"1GiB", 1U << 30U},
      {"1.5KB", 1500},
      {"1.5KiB", 1536},
      {"0.001KB", 1},
      {"2.50MB", 2'500'000},
      {"1.000000000000000000000MB", 1'000'000},  // zeros at the end are no decimals
      {"0000000000000000000000001B", 1},         // nor do zeros in front count
      {"18446744073.709551615GB", kTop},
  };
  for (const Good& c : cases) {
    const auto size = parse_size(c.text);
    ASSERT_TRUE(size) << c.text << " " << size.error();
    EXPECT_EQ(*size, c.value) << c.text;
  }
}

TEST(Size, Refuses) {
  constexpr std::string_view kUnits = "has no known unit (units are B, KB, MB, GB, KiB, MiB, GiB)";
  const std::vector<Bad> cases{
      {"", "is empty"},
      {"KB", "does not begin with a number"},
      {" 1KB", "does not begin with a number"},
      {".5KB", "does not begin with a number"},
      {"+1KB", "does not begin with a number"},
      {"nan", "does not begin with a number"},
      {"-5KB", "is negative"},
      {"-0", "is negative"},
      {"1.KB", "has no digit after the point"},
      {"1.5", "is not a whole number of bytes"},
      {"0.5B", "is not a whole number of bytes"},
      {"1.0005KB", "is not a whole number of bytes"},
      {"0.1KiB", "is not a whole number of bytes"},
      {"100kb", kUnits},
      {"100Kb", kUnits},
      {"100k", kUnits},
      {"100mbit", kUnits},
      {"1e3KB", kUnits},
      {"1.2.3KB", kUnits},
      {"1  KB", kUnits},
      {"1KB ", kUnits},
      {"0x10", kUnits},
      {"18446744073709551616", "is too large"},
      {"18446744073.709551616GB", "is too large"},
      {"99999999999999999999999999999GB", "is too large"},
      {"0.123456789012345678901GB", "has too many decimals"},
  };
  for (const Bad& c : cases) {
    const auto size = parse_size(c.text);
    ASSERT_FALSE(size) << c.text << " gave " << *size;
    EXPECT_EQ(size.error(), c.error) << c.text;
  }
}

TEST(Rate, Reads) {
  const std::vector<Good> cases{
      {"1000000", 1'000'000},      {"64kbit", 64'000},           {"100mbit", 100'000'000},
      {"100Mbit", 100'000'000},    {"100MBIT", 100'000'000},     {"2.5gbit", 2'500'000'000},
      {"2.5 Gbit", 2'500'000'000}, {"800gbit", 800'000'000'000}, {"7bit", 7},
      {"0.000000001gbit", 1},
  };
  for (const Good& c : cases) {
    const auto rate = parse_rate(c.text);
    ASSERT_TRUE(rate) << c.text << " " << rate.error();
    EXPECT_EQ(*rate, c.value) << c.text;
  }
}

TEST(Rate, Refuses) {
  const std::vector<Bad> cases{
      {"100KB", "has no known unit (units are bit, kbit, mbit, gbit)"},
      {"100m", "has no known unit (units are bit, kbit, mbit, gbit)"},
      {"1tbit", "has no known unit (units are bit, kbit, mbit, gbit)"},
      {"0.5bit", "is not a whole number of bit/s"},
      {"-1mbit", "is negative"},
  };
  for (const Bad& c : cases) {
    const auto rate = parse_rate(c.text);
    ASSERT_FALSE(rate) << c.text << " gave " << *rate;
    EXPECT_EQ(rate.error(), c.error) << c.text;
  }
}

TEST(Format, TakesTheLargestUnitThatDivides) {
  EXPECT_EQ(format_size(0), "0B");
  EXPECT_EQ(format_size(1), "1B");
  EXPECT_EQ(format_size(1500), "1500B");
  EXPECT_EQ(format_size(1536), "1536B");
  EXPECT_EQ(format_size(2048), "2KiB");
  EXPECT_EQ(format_size(100'000), "100KB");
  EXPECT_EQ(format_size(1'048'576), "1MiB");
  EXPECT_EQ(format_size(1'000'000'000), "1GB");
  EXPECT_EQ(format_size(kTop), "18446744073709551615B");
  EXPECT_EQ(format_rate(0), "0bit");
  EXPECT_EQ(format_rate(100'000'000), "100mbit");
  EXPECT_EQ(format_rate(2'500'000'000), "2500mbit");
  EXPECT_EQ(format_rate(1'000'001), "1000001bit");
}

// Any value, and values with many factors so that every unit comes up.
std::uint64_t some_value() {
  const auto factor = *rc::gen::element<std::uint64_t>(1, 1000, 1024, 1'000'000, 1'048'576, 1'000'000'000);
  const auto n =
      *rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(), rc::gen::inRange<std::uint64_t>(0, 5000));
  return n > kTop / factor ? n : n * factor;
}

RC_GTEST_PROP(Format, SizeReadsBack, ()) {
  const std::uint64_t bytes = some_value();
  const auto again = parse_size(format_size(bytes));
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == bytes);
}

RC_GTEST_PROP(Format, RateReadsBack, ()) {
  const std::uint64_t rate = some_value();
  const auto again = parse_rate(format_rate(rate));
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == rate);
}

// A decimal with a unit is what long division says it is, or refused as not whole.
RC_GTEST_PROP(Size, DecimalsAreExact, ()) {
  const auto whole = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  const auto thousandths = *rc::gen::inRange<std::uint64_t>(0, 1000);
  std::string decimals = std::to_string(1000 + thousandths).substr(1);
  const auto size = parse_size(std::to_string(whole) + "." + decimals + "KiB");
  const std::uint64_t scaled = (whole * 1000 + thousandths) * 1024;
  RC_ASSERT(size.has_value() == (scaled % 1000 == 0));
  if (size) RC_ASSERT(*size == scaled / 1000);
}

}  // namespace
}  // namespace lossless
