// SPDX-License-Identifier: Apache-2.0
// Tables of `show flows` and `show ipcc`: every figure in its column.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/commands.h"
#include "roce.grpc.pb.h"

namespace lossless::cli {
namespace {

using Words = std::vector<std::string>;

// The words of the line that begins with `first`.
Words row_of(const std::string& text, const std::string& first) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    Words words;
    for (std::string word; in >> word;) words.push_back(word);
    if (!words.empty() && words.front() == first) return words;
  }
  ADD_FAILURE() << "no line begins with " << first << '\n' << text;
  return {};
}

v1::RoceFlow some_flow() {
  v1::RoceFlow f;
  f.set_source("10.0.0.1");
  f.set_destination("10.0.0.2");
  f.set_qp(0x222);
  f.set_ingress("swp1");
  f.set_egress("swp2");
  f.set_tc(3);
  f.set_paired_by("cm");
  f.set_peer_qp(0x111);
  f.set_packets(1234);
  f.set_bytes(2'000'000);
  f.set_rate_bps(80'000'000);
  f.set_gaps(1);
  f.set_retransmitted(2);
  f.set_ce(4);
  f.set_marked(5);
  f.set_cnps_sent(6);
  f.set_cnps_seen(7);
  f.set_last_ms_ago(1500);
  return f;
}

std::string text_of(const v1::RoceFlow& flow) {
  v1::ListFlowsReply reply;
  *reply.add_flows() = flow;
  return flows_text(reply, {});
}

TEST(CliFlows, EveryFigureInItsColumn) {
  const Words expected{"10.0.0.1", "10.0.0.2",   "0x000222", "swp1", "swp2", "3", "0x000111", "cm", "1,234",
                       "2.00MB",   "80.0Mbit/s", "1",        "2",    "4",    "5", "6",        "7",  "1.5s"};
  EXPECT_EQ(row_of(text_of(some_flow()), "10.0.0.1"), expected);
}

TEST(CliFlows, AGuessIsMarkedAndWhatIsNotKnownIsADash) {
  v1::RoceFlow f = some_flow();
  f.set_paired_by("ack");
  f.set_guess(true);
  EXPECT_EQ(row_of(text_of(f), "10.0.0.1")[7], "ack?");
  f.set_guess(false);
  EXPECT_EQ(row_of(text_of(f), "10.0.0.1")[7], "ack");
  f.clear_paired_by();
  f.clear_egress();
  const Words row = row_of(text_of(f), "10.0.0.1");
  EXPECT_EQ(row[4], "-") << "egress";
  EXPECT_EQ(row[6], "-") << "sender's QP, whatever number is in the reply";
  EXPECT_EQ(row[7], "-");
}

TEST(CliFlows, SixIsShownWhole) {
  v1::RoceFlow f = some_flow();
  f.set_source("2001:db8::1");
  f.set_qp(0xffffff);
  EXPECT_EQ(row_of(text_of(f), "2001:db8::1")[2], "0xffffff");
}

TEST(CliIpcc, SettingsCasesAndWhyThereWasNone) {
  EXPECT_EQ(ipcc_text({}, {}), "no queue has IPCC: see ipcc in lossless.toml(5)\n");
  v1::ListIpccReply reply;
  v1::Ipcc& q = *reply.add_queues();
  q.set_port("swp2");
  q.set_tc(3);
  q.set_low_bytes(20'000);
  q.set_high_bytes(80'000);
  q.set_few_bytes(3000);
  q.set_many_bytes(256);
  q.set_now("rising-high");
  q.set_packets_rising_low(1);
  q.set_packets_falling_low(2);
  q.set_packets_rising_high(3);
  q.set_packets_falling_high(4);
  q.set_sent_few(5);
  q.set_sent_many(6);
  q.set_unpaired(7);
  q.set_flow_limit(8);
  q.set_port_limit(9);
  q.set_failed(10);
  const std::string text = ipcc_text(reply, {});
  const Words row = row_of(text, "swp2");
  EXPECT_EQ(row[1], "3");
  const Words counters{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"};
  ASSERT_GT(row.size(), counters.size());
  EXPECT_EQ(Words(row.end() - static_cast<std::ptrdiff_t>(counters.size()), row.end()), counters) << text;
  for (const char* part : {"20", "80", "256", "rising-high"})
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
}

}  // namespace
}  // namespace lossless::cli
