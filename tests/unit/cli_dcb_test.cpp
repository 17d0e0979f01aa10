// SPDX-License-Identifier: Apache-2.0
// Tables of `show dcb`, `show ets`, `show application` and `show ecmp`.
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "dcb.grpc.pb.h"

namespace lossless::cli {
namespace {

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
}

TEST(CliDcb, PartsAndForeignChanges) {
  v1::ListDcbReply reply;
  EXPECT_EQ(dcb_text(reply, {}), "no ports\n");
  auto* port = reply.add_ports();
  port->set_port("swp1");
  port->set_state("refused");
  port->set_reason("pfc: PFC on 5 priorities");
  port->set_use("auto");
  port->set_foreign_changes(2);
  port->set_put_back(1);
  port->set_let_be(true);
  port->set_last_foreign("pfc is 5 instead of 3");
  auto* part = port->add_parts();
  part->set_name("pfc");
  part->set_where("both");
  part->set_state("ok");
  part->set_wanted("3");
  expect_parts(dcb_text(reply, {}),
               {"swp1: refused (pfc: PFC on 5 priorities)", "2 times, put back 1 times, let be now",
                "pfc is 5 instead of 3", "both", "ok"});
}

TEST(CliDcb, Ets) {
  v1::ListEtsReply reply;
  auto* strict = reply.add_classes();
  strict->set_port("swp1");
  strict->set_tc(7);
  strict->set_schedule("strict");
  strict->set_served(1);
  auto* wrr = reply.add_classes();
  wrr->set_port("swp1");
  wrr->set_schedule("wrr");
  wrr->set_group(1);
  wrr->set_share(37);
  wrr->set_sent_share(36.62);
  expect_parts(ets_text(reply, {}), {"strict", "37%", "36.6%"});
}

TEST(CliDcb, Applications) {
  v1::ListApplicationsReply reply;
  auto* entry = reply.add_entries();
  entry->set_field("ethertype");
  entry->set_protocol(0x88a7);
  entry->set_priority(5);
  auto* port = reply.add_ports();
  port->set_port("swp1");
  port->set_trust("application");
  port->set_used(true);
  port->add_tc(4);
  expect_parts(applications_text(reply, {}), {"0x88a7", "5", "swp1", "used", "4"});
  port->set_agreed(true);
  auto* own = port->add_own();
  own->set_field("tcp");
  own->set_protocol(3260);
  own->set_priority(4);
  expect_parts(applications_text(reply, {}), {"tcp 3260 = 4"});
}

TEST(CliDcb, Ecmp) {
  v1::GetEcmpReply reply;
  reply.set_wanted("l4");
  expect_parts(ecmp_text(reply, {}), {"hash l4: NOT in force"});
  auto* hop = reply.add_next_hops();
  hop->set_gateway("10.0.0.2");
  hop->set_device("swp1");
  hop->set_flows(3);
  for (int i = 0; i < 4; ++i) reply.add_flows();
  expect_parts(ecmp_text(reply, {}), {"10.0.0.2 dev swp1", "75.0%"});
}

}  // namespace
}  // namespace lossless::cli
