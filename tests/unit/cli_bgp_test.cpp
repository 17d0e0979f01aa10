// SPDX-License-Identifier: Apache-2.0
// Tables of `show bgp summary|neighbors|policy` and of routes.
#include <gtest/gtest.h>

#include "bgp.grpc.pb.h"
#include "cli/commands.h"

namespace lossless::cli {
namespace {

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
}

void expect_none(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_EQ(text.find(part), std::string::npos) << part << '\n' << text;
}

v1::BgpNeighbor* add_neighbor(v1::ListBgpNeighborsReply& reply) {
  reply.set_on(true);
  reply.set_asn(65001);
  auto* n = reply.add_neighbors();
  n->set_address("fe80::2%swp1");
  n->set_asn(65002);
  n->set_state("Established");
  n->set_state_ms(3'600'000);
  return n;
}

TEST(CliBgp, Off) {
  EXPECT_EQ(bgp_summary_text({}, {}), "BGP is off\n");
  EXPECT_EQ(bgp_neighbors_text({}, {}), "BGP is off\n");
}

TEST(CliBgp, Summary) {
  v1::ListBgpNeighborsReply reply;
  auto* n = add_neighbor(reply);
  n->set_description("spine");
  auto* counts = n->add_routes();
  counts->set_family("inof");
  counts->set_received(1234);
  auto* down = reply.add_neighbors();
  down->set_address("10.0.0.3");
  down->set_state("Idle");
  down->set_held_down("max-prefix");
  reply.set_listen_error("cannot listen on 10.0.0.1 port 179: in use");
  expect_parts(bgp_summary_text(reply, {}), {"AS 65001", "fe80::2%swp1", "65002", "Established", "spine",
                                             "Idle (max-prefix)", "cannot listen on 10.0.0.1"});
}

TEST(CliBgp, NoNeighbors) {
  v1::ListBgpNeighborsReply reply;
  reply.set_on(true);
  expect_parts(bgp_summary_text(reply, {}), {"no neighbours\n"});
  EXPECT_EQ(bgp_neighbors_text(reply, {}), "no neighbours\n");
}

TEST(CliBgp, NeighborInFull) {
  v1::ListBgpNeighborsReply reply;
  auto* n = add_neighbor(reply);
  n->set_client(true);
  n->set_hold_s(9);
  n->add_families("inof");
  n->add_capabilities("route-refresh");
  n->set_ttl_security(2);
  n->set_import_filter("storage");
  n->set_filtered_routes(7);
  n->mutable_received()->set_updates(42);
  n->mutable_authentication()->set_kind("none");
  n->set_connect_error("cannot connect: refused");
  const std::string text = bgp_neighbors_text(reply, {});
  expect_parts(text, {"9s", "inof", "route-refresh", "2 hops", "storage", "7", "42", "none",
                      "cannot connect: refused"});
  expect_none(text, {"does not match", "keys in use"});
}

TEST(CliBgp, Md5ThatDoesNotMatch) {
  v1::ListBgpNeighborsReply reply;
  auto* a = add_neighbor(reply)->mutable_authentication();
  a->set_kind("md5");
  a->set_trouble("the kernel dropped segments, of whichever neighbour here: 2 with a wrong signature");
  expect_parts(bgp_neighbors_text(reply, {}), {"TCP-MD5", "does not match", "2 with a wrong signature"});
}

TEST(CliBgp, KeysOfTcpAo) {
  v1::ListBgpNeighborsReply reply;
  auto* a = add_neighbor(reply)->mutable_authentication();
  a->set_kind("tcp-ao");
  a->set_key_chain("fabric");
  expect_parts(bgp_neighbors_text(reply, {}), {"TCP-AO, key chain fabric", "keys in use", "none"});
  auto* key = a->add_keys();
  key->set_send_id(1);
  key->set_receive_id(2);
  key->set_algorithm("hmac-sha-256");
  key->set_sends(true);
  key = a->add_keys();
  key->set_send_id(3);
  key->set_receive_id(3);
  key->set_algorithm("aes-128-cmac");
  a->set_next_change("2026-12-01T00:00:00Z");
  a->set_connected(true);
  a->set_current_id(1);
  a->set_wanted_id(2);
  a->set_good_segments(99);
  expect_parts(bgp_neighbors_text(reply, {}), {"1/2 hmac-sha-256 (sends), 3/3 aes-128-cmac",
                                               "signs with 1, asks for 2", "2026-12-01T00:00:00Z", "99"});
}

TEST(CliBgp, Policy) {
  v1::ListBgpPolicyReply reply;
  EXPECT_EQ(bgp_policy_text(reply, {}), "no filters\n");
  auto* filter = reply.add_filters();
  filter->set_name("storage");
  filter->add_import("10.0.0.2");
  filter->add_import("10.0.0.3");
  auto* rule = filter->add_rules();
  rule->set_action("permit");
  rule->set_match("kind host, in 10.0.0.0/8");
  rule->set_import_hits(12);
  rule = filter->add_rules();
  rule->set_action("deny");
  rule->set_match("all others");
  rule->set_export_hits(34);
  expect_parts(bgp_policy_text(reply, {}), {"storage: in from 10.0.0.2, 10.0.0.3, out to none", "permit",
                                            "kind host, in 10.0.0.0/8", "12", "deny", "all others", "34"});
}

TEST(CliBgp, Routes) {
  v1::ListBgpRoutesReply reply;
  EXPECT_EQ(bgp_routes_text(reply, {}), "no routes\n");
  auto* route = reply.add_routes();
  route->set_kind("zone");
  route->set_route("gold at 10.0.0.1");
  auto* path = route->add_paths();
  path->set_neighbor("10.0.0.2");
  path->set_used(true);
  path->set_reason("local-pref");
  auto* attribute = path->add_attributes();
  attribute->set_name("origin");
  attribute->set_value("igp");
  path = route->add_paths();
  path->set_neighbor("10.0.0.3");
  path->set_stale(true);
  reply.set_left_out(5);
  expect_parts(bgp_routes_text(reply, {}),
               {"gold at 10.0.0.1", "yes, local-pref", "origin igp", "no, stale", "and 5 more; see --limit"});
}

}  // namespace
}  // namespace lossless::cli
