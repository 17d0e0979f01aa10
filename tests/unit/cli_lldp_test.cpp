// SPDX-License-Identifier: Apache-2.0
// Tables of `show lldp`, `show bfd`, `show dcbx` and `show inof-host`.
#include <gtest/gtest.h>

#include "bfd.grpc.pb.h"
#include "cli/commands.h"
#include "cli/show_dcbx.h"
#include "inof_host.grpc.pb.h"
#include "lldp.grpc.pb.h"

namespace lossless::cli {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CliLldp, Neighbours) {
  v1::ListLldpNeighborsReply reply;
  EXPECT_EQ(lldp_neighbors_text(reply, {}), "no neighbours\n");
  auto* n = reply.add_neighbors();
  n->set_port("swp1");
  n->set_expires_ms(119'600);
  n->set_frames(1234);
  auto* p = n->mutable_packet();
  p->set_chassis_id("02:00:00:00:00:01");
  p->set_port_id("eth0");
  p->mutable_capabilities()->add_enabled("bridge");
  p->mutable_capabilities()->add_enabled("router");
  p->add_management()->set_address("10.0.0.1");
  const std::string text = lldp_neighbors_text(reply, {});
  for (const char* part : {"swp1", "02:00:00:00:00:01", "eth0", "bridge,router", "10.0.0.1", "120s", "1,234"})
    EXPECT_TRUE(has(text, part)) << part << '\n' << text;
}

TEST(CliLldp, LocalAndStatistics) {
  v1::ListLldpLocalReply local;
  EXPECT_TRUE(has(lldp_local_text(local, {}), "LLDP is off"));
  local.set_enabled(true);
  local.set_interval_s(30);
  auto* port = local.add_ports();
  port->set_port("swp1");
  port->set_mode("rx");
  EXPECT_TRUE(has(lldp_local_text(local, {}), "every 30 s"));
  EXPECT_TRUE(has(lldp_local_text(local, {}), "rx"));

  v1::ListLldpStatisticsReply statistics;
  auto* s = statistics.add_ports();
  s->set_port("swp1");
  s->set_neighbors(16);
  s->set_full(true);
  s->set_drops(1985);
  EXPECT_TRUE(has(lldp_statistics_text(statistics, {}), "16 (full)"));
  EXPECT_TRUE(has(lldp_statistics_text(statistics, {}), "1,985"));
}

TEST(CliBfd, PeersAndCounters) {
  v1::ListBfdPeersReply reply;
  EXPECT_EQ(bfd_peers_text(reply, {}), "no BFD peers\n");
  reply.set_error("cannot listen on UDP port 3784");
  EXPECT_TRUE(has(bfd_peers_text(reply, {}), "cannot listen on UDP port 3784"));
  reply.set_real_time(true);
  auto* p = reply.add_peers();
  p->set_address("10.0.0.2");
  p->set_interface("swp1");
  p->set_state("down");
  p->set_transmit_us(50'000);
  p->set_detection_us(9'900);
  p->add_owners("static");
  p->add_owners("bgp");
  p->set_last_down("detection time expired");
  p->set_send_error("Network is unreachable");
  p->mutable_remote()->set_multiplier(3);
  p->mutable_counters()->set_in(12'345);
  p->mutable_counters()->set_bad_authentication(77);
  (*reply.mutable_strays()->mutable_malformed())["length"] = 5;
  const std::string peers = bfd_peers_text(reply, {});
  for (const char* part :
       {"10.0.0.2", "swp1", "50ms", "9.9ms", "static,bgp", "detection time expired, 00:00:00 ago",
        "10.0.0.2: cannot send: Network is unreachable"})
    EXPECT_TRUE(has(peers, part)) << part << '\n' << peers;
  EXPECT_FALSE(has(peers, "real-time"));
  const std::string counters = bfd_counters_text(reply, {});
  for (const char* part : {"12,345", "77", "malformed: length", "5"})
    EXPECT_TRUE(has(counters, part)) << part << '\n' << counters;
  reply.set_real_time(false);
  EXPECT_TRUE(has(bfd_peers_text(reply, {}), "real-time"));
}

TEST(CliDcbx, ThreeColumns) {
  v1::ListDcbxReply reply;
  EXPECT_EQ(dcbx_text(reply, {}), "no port has DCBX\n");
  auto* port = reply.add_ports();
  port->set_port("swp1");
  port->set_version("auto");
  port->set_dialect("cee");
  port->mutable_cee()->set_sequence(7);
  port->mutable_cee()->set_acknowledged(true);
  EXPECT_TRUE(has(dcbx_text(reply, {}), "swp1: DCBX cee (auto), no neighbour, sequence 7 (acknowledged)"));
  auto* alarm = port->add_alarms();
  alarm->set_kind("PFC mismatch");
  alarm->set_what("3 here, 4 there");
  port->set_refused("PFC of TC 4: no room");
  for (const unsigned tc : {0U, 0U, 1U, 15U}) port->mutable_peer()->mutable_ets()->add_priority_tc(tc);
  for (const unsigned share : {40U, 60U, 0U}) port->mutable_peer()->mutable_ets()->add_share(share);
  port->mutable_peer()->set_source("02:00:00:00:00:01");
  port->mutable_peer()->mutable_pfc()->set_willing(true);
  auto* holds = port->mutable_operational();
  holds->mutable_pfc()->add_priorities(4);
  holds->mutable_pfc()->set_by("peer");
  holds->mutable_apps()->add_entries("udp 4791 = 3");
  const std::string text = dcbx_text(reply, {});
  for (const char* part : {"neighbour 02:00:00:00:00:01", "PFC mismatch: 3 here, 4 there",
                           "not applied to the port: PFC of TC 4: no room", "0:0,1 1:2 15:3", "0:40% 1:60%",
                           "4 (peer)", "udp 4791 = 3", "LOCAL", "PEER", "OPERATIONAL"})
    EXPECT_TRUE(has(text, part)) << part << '\n' << text;
}

TEST(CliInofHost, EachView) {
  v1::GetInofHostReply reply;
  EXPECT_TRUE(has(inof_host_text(reply, "", {}), "is off"));
  reply.set_enabled(true);
  reply.set_dialect("odcc");
  auto* a = reply.add_addresses();
  a->set_port("eth0");
  a->set_port_id("snsd_eth0_01");
  auto* m = reply.add_members();
  m->set_address("10.77.0.9");
  m->set_state("offline");
  m->set_hook("failed");
  m->set_hook_result("exit 1: refused");
  auto* e = reply.add_events();
  e->set_sequence(42);
  reply.mutable_statistics()->set_hooks_killed(3);
  const std::string overview = inof_host_text(reply, "", {});
  for (const char* part : {"odcc", "snsd_eth0_01", "10.77.0.9", "exit 1: refused"})
    EXPECT_TRUE(has(overview, part)) << part << '\n' << overview;
  EXPECT_FALSE(has(inof_host_text(reply, "addresses", {}), "10.77.0.9"));
  EXPECT_FALSE(has(inof_host_text(reply, "members", {}), "snsd"));
  EXPECT_TRUE(has(inof_host_text(reply, "events", {}), "42"));
  EXPECT_TRUE(has(inof_host_text(reply, "statistics", {}), "hooks killed"));
}

}  // namespace
}  // namespace lossless::cli
