// SPDX-License-Identifier: Apache-2.0
// What people see of priority flow control and of the buffer model.
#include <gtest/gtest.h>

#include "cli/commands.h"

namespace lossless::cli {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(CliPfc, ThresholdsFramesAndReactionTimes) {
  v1::ListPfcReply reply;
  auto* on = reply.add_queues();
  on->set_port("eth0");
  on->set_tc(3);
  on->set_enabled(true);
  on->set_xoff_bytes(50'000);
  on->set_xon_bytes(31'250);
  on->set_headroom_bytes(60'000);
  on->set_needed_headroom_bytes(17'000);
  on->set_quanta(19'532);
  on->set_tx_xoff(1234);
  on->set_paused(true);
  on->set_peer_stopped(true);
  on->set_transitions(7);
  on->set_last_pause_ms_ago(1500);
  auto* port = reply.add_ports();
  port->set_port("eth0");
  port->set_rx_pfc(42);
  port->set_bad_opcode(3);
  reply.mutable_send()->set_count(10);
  reply.mutable_send()->set_p99_us(5);
  const std::string text = pfc_text(reply, {});
  for (const char* part :
       {"50KB", "31250B", "60KB", "17KB", "19532", "1,234", "stopped", "paused", "1.5s", "42",
        "XOFF crossed to frame sent: p50 0 us, p99 5 us", "frame received to queue stopped: none yet"})
    EXPECT_TRUE(has(text, part)) << part << '\n' << text;
}

TEST(CliPfc, AQueueWithoutPfcHasNoThresholds) {
  v1::ListPfcReply reply;
  reply.add_queues()->set_port("eth0");
  EXPECT_TRUE(has(pfc_text(reply, {}), "off"));
  EXPECT_FALSE(has(pfc_text(reply, {}), "0B"));
}

TEST(CliPfc, HookFlowsAndWhatBecameOfThem) {
  EXPECT_EQ(hook_flows_text({}, {}), "no port groups: see [[port_group]] in lossless.toml(5)\n");
  v1::ListHookFlowsReply reply;
  auto* group = reply.add_groups();
  group->set_name("uplinks");
  group->add_ports("eth0");
  group->add_ports("eth1");
  reply.set_moved(1234);
  EXPECT_TRUE(has(hook_flows_text(reply, {}), "group uplinks: eth0, eth1\n"));
  EXPECT_TRUE(has(hook_flows_text(reply, {}), "no hook flows"));
  auto* flow = reply.add_flows();
  flow->set_source("192.0.2.1");
  flow->set_destination("2001:db8::1");
  flow->set_ingress("eth0");
  flow->set_egress("eth1");
  flow->set_dscp(26);
  flow->set_new_dscp(34);
  flow->set_tc(4);
  flow->set_moved(true);
  flow->set_packets(56'789);
  flow->set_last_ms_ago(2500);
  const std::string text = hook_flows_text(reply, {});
  for (const char* part : {"1,234 moved", "192.0.2.1", "2001:db8::1", "eth1", "26", "34", "56,789", "2.5s"})
    EXPECT_TRUE(has(text, part)) << part << '\n' << text;
}

TEST(CliPfc, BothViewsOfTheBuffer) {
  v1::ListBufferReply reply;
  reply.set_cell_bytes(208);
  auto* q = reply.add_queues();
  q->set_port("eth0");
  q->set_lossless(true);
  q->set_ingress_bytes(12'345);
  q->set_ingress_cells(60);
  q->set_egress_peak_bytes(98'700);
  q->set_over_limit(5);
  q->set_limit_bytes(2'000'000);
  const std::string text = buffer_text(reply, {});
  for (const char* part : {"12.3KB", "60", "98.7KB", "2MB", "lossless", "a cell is 208 bytes"})
    EXPECT_TRUE(has(text, part)) << part << '\n' << text;
}

TEST(CliPfc, DropsByReason) {
  v1::ListPacketDropsReply reply;
  auto* q = reply.add_queues();
  q->set_port("eth0");
  q->set_tail(1000);
  q->set_wred(7);
  const std::string text = packet_drops_text(reply, {});
  EXPECT_TRUE(has(text, "1,000")) << text;
  EXPECT_TRUE(has(text, "7")) << text;
}

TEST(CliPfc, NothingAttached) {
  EXPECT_EQ(pfc_text({}, {}), "no queues: no port is attached\n");
  EXPECT_EQ(buffer_text({}, {}), "no queues: no port is attached\n");
  EXPECT_EQ(packet_drops_text({}, {}), "no queues: no port is attached\n");
}

}  // namespace
}  // namespace lossless::cli
