// SPDX-License-Identifier: Apache-2.0
// Tables and numbers as people see them.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "cli/format.h"
#include "cli/table.h"

namespace lossless::cli {
namespace {

TEST(CliFormat, CountsHaveSeparators) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(CliFormat, CountsKeepEveryDigit) {
  EXPECT_TRUE(rc::check([](std::uint64_t n) {
    std::string text = format_count(n);
    std::erase(text, ',');
    RC_ASSERT(text == std::to_string(n));
  }));
}

TEST(CliFormat, SizesHaveThreeDigits) {
  EXPECT_EQ(human_size(0), "0B");
  EXPECT_EQ(human_size(999), "999B");
  EXPECT_EQ(human_size(1000), "1.00KB");
  EXPECT_EQ(human_size(12345), "12.3KB");
  EXPECT_EQ(human_size(99'949), "99.9KB");
  EXPECT_EQ(human_size(99'951), "100KB");
  EXPECT_EQ(human_size(999'499), "999KB");
  EXPECT_EQ(human_size(999'500), "1.00MB");
  EXPECT_EQ(human_size(UINT64_MAX), "18.4EB");
}

TEST(CliFormat, Rates) {
  EXPECT_EQ(human_rate(0), "0bit/s");
  EXPECT_EQ(human_rate(100e6), "100Mbit/s");
  EXPECT_EQ(human_rate(2.5e9), "2.50Gbit/s");
}

TEST(CliFormat, ProbabilityAndUptime) {
  EXPECT_EQ(format_probability(0.2), "20%");
  EXPECT_EQ(format_probability(0.005), "0.5%");
  EXPECT_EQ(format_probability(1), "100%");
  EXPECT_EQ(format_uptime(0), "00:00:00");
  EXPECT_EQ(format_uptime(93'784'999), "1d 02:03:04");
}

TEST(CliFormat, ControlCharactersDoNotReachTheTerminal) {
  EXPECT_EQ(text_cell("eth\x1b[31m0\n").text, "eth?[31m0?");
  EXPECT_EQ(text_cell("Größe").text, "Größe");
}

TEST(CliFormat, JsonStrings) {
  EXPECT_EQ(json_string("a\"b\\c\n"), R"("a\"b\\c\u000a")");
  EXPECT_EQ(json_string(""), "\"\"");
  EXPECT_EQ(json_string("Größe \xff"), "\"Größe ?\"");
}

Table small_table() {
  Table table({{"PORT", "", true}, {"STATE", ""}, {"PACKETS", "sent"}, {"BYTES", "sent"}});
  table.add({text_cell("eth0"), text_cell("up", Tone::Good), count_cell(1'000'000), bytes_cell(12'345)});
  table.add({text_cell("longname0"), text_cell("down"), count_cell(0), bytes_cell(0)});
  return table;
}

TEST(CliTable, AlignsNumbersRightAndTextLeft) {
  EXPECT_EQ(small_table().text({}),
            "                  sent ------------\n"
            "PORT       STATE    PACKETS   BYTES\n"
            "eth0       up     1,000,000  12.3KB\n"
            "longname0  down           0      0B\n");
}

TEST(CliTable, ColoursOnlyWhenAsked) {
  EXPECT_EQ(small_table().text({}).find('\x1b'), std::string::npos);
  const std::string text = small_table().text({.color = true});
  EXPECT_NE(text.find("\x1b[32mup\x1b[0m"), std::string::npos) << text;
  // The row whose counters are all zero is dim, cell by cell.
  EXPECT_NE(text.find("\x1b[2mlongname0\x1b[0m"), std::string::npos) << text;
  EXPECT_EQ(text.find("\x1b[2meth0"), std::string::npos) << text;
}

TEST(CliTable, ColourDoesNotMoveAnything) {
  std::string text = small_table().text({.color = true});
  for (auto at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b')) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  EXPECT_EQ(text, small_table().text({}));
}

TEST(CliTable, IsCutBetweenGroupsWhenTooWide) {
  EXPECT_EQ(small_table().text({.columns = 30}),
            "PORT       STATE\n"
            "eth0       up\n"
            "longname0  down\n"
            "\n"
            "           sent ------------\n"
            "PORT         PACKETS   BYTES\n"
            "eth0       1,000,000  12.3KB\n"
            "longname0          0      0B\n");
}

TEST(CliTable, FitsAnyWidthThatHoldsItsWidestGroup) {
  EXPECT_TRUE(rc::check([] {
    const auto columns = *rc::gen::inRange(29U, 200U);
    const std::string text = small_table().text({.columns = columns});
    for (std::size_t at = 0; at < text.size();) {
      const auto end = text.find('\n', at);
      RC_ASSERT(end - at <= columns);
      RC_ASSERT(end == at || text[end - 1] != ' ');
      at = end + 1;
    }
  }));
}

TEST(CliTable, CountsCharactersNotBytes) {
  Table table({{"NAME", ""}, {"N", ""}});
  table.add({text_cell("äöü"), number_cell(1)});
  table.add({text_cell("abcd"), number_cell(2)});
  EXPECT_EQ(table.text({}), "NAME  N\näöü   1\nabcd  2\n");
}

TEST(CliListing, ValuesStandInOneColumn) {
  Listing list;
  list.add("pid", number_cell(1));
  list.add("configuration", text_cell("x.toml"));
  EXPECT_EQ(list.text({}), "pid            1\nconfiguration  x.toml\n");
}

}  // namespace
}  // namespace lossless::cli
