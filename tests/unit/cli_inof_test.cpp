// SPDX-License-Identifier: Apache-2.0
// Tables of `show inof`.
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "inof.grpc.pb.h"

namespace lossless::cli {
namespace {

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
}

TEST(CliInof, Hosts) {
  v1::ListInofHostsReply reply;
  EXPECT_EQ(inof_hosts_text(reply, {}), "no host is known\n");
  auto* h = reply.add_hosts();
  h->set_address("10.77.0.9");
  h->add_zones("red");
  h->add_zones("blue");
  h->set_role("client");
  h->set_subscribed(true);
  h->set_port("swp1");
  h->set_state("conflict");
  h->set_reason("normal");
  h->set_detail("the address belongs to a host on swp2");
  h->set_learned_from("lldp");
  h->set_changed_ms_ago(1'550);
  expect_parts(inof_hosts_text(reply, {}),
               {"10.77.0.9", "red, blue", "client", "yes", "swp1", "conflict", "1.6s", "lldp",
                "10.77.0.9 on swp1: the address belongs to a host on swp2\n"});
}

TEST(CliInof, Zones) {
  v1::ListInofZonesReply reply;
  EXPECT_EQ(inof_zones_text(reply, {}), "nothing to show\n");
  auto* z = reply.add_zones();
  z->set_name("red");
  z->add_members("10.77.0.0/24");
  z->add_hosts("10.77.0.9");
  z->set_online(1);
  z->add_inconsistent("10.77.0.9 sees nobody");
  reply.add_zones()->set_name("default");
  expect_parts(inof_zones_text(reply, {}),
               {"10.77.0.0/24", "10.77.0.9", "red: 10.77.0.9 sees nobody\n", "all others"});
}

TEST(CliInof, Status) {
  v1::GetInofStatusReply reply;
  reply.set_on(true);
  reply.set_dialects("both");
  reply.set_age_s(120);
  reply.set_memberships(32'000);
  reply.add_full_ports("swp7");
  expect_parts(inof_status_text(reply, {}), {"both", "120s", "32000", "full ports", "swp7"});
  reply.clear_full_ports();
  EXPECT_EQ(inof_status_text(reply, {}).find("full ports"), std::string::npos);
}

TEST(CliInof, Statistics) {
  v1::GetInofStatisticsReply reply;
  auto* n = reply.add_hosts();
  n->set_address("10.77.0.9");
  n->set_sent(1'001);
  n->set_expired(1'002);
  reply.mutable_total()->set_sent(1'003);
  auto* d = reply.add_drops();
  d->set_port("swp1");
  d->set_isolated(1'004);
  d->set_denied(1'005);
  reply.set_acks_wrong_port(1'006);
  expect_parts(inof_statistics_text(reply, {}), {"10.77.0.9", "1,001", "1,002", "all", "1,003", "swp1",
                                                 "1,004", "1,005", "on another port", "1,006"});
}

TEST(CliInof, WhiteList) {
  v1::GetInofWhitelistReply reply;
  expect_parts(inof_whitelist_text(reply, {}), {"the white list is off", "no host is denied"});
  reply.set_on(true);
  reply.add_exceptions("swp9");
  auto* allow = reply.add_allow();
  allow->set_port("swp1");
  allow->add_hosts("10.77.0.0/24");
  auto* denied = reply.add_denied();
  denied->set_address("10.99.0.1");
  denied->set_port("swp1");
  denied->set_detail("not allowed on this port");
  const std::string text = inof_whitelist_text(reply, {});
  expect_parts(text,
               {"swp9", "any host (exception)", "10.77.0.0/24", "10.99.0.1", "not allowed on this port"});
  EXPECT_EQ(text.find("is off"), std::string::npos);
}

}  // namespace
}  // namespace lossless::cli
