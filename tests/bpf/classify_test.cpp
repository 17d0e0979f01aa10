// SPDX-License-Identifier: Apache-2.0
// The ingress program: trust, tables, remarking, bad input.
#include <gtest/gtest.h>

#include <map>

#include "tests/bpf/golden.h"
#include "tests/bpf/scratch_io.h"

namespace lossless::test {
namespace {

Bytes frame(std::initializer_list<int> tags, int ethertype, std::initializer_list<int> ip) {
  Bytes bytes = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
  for (const int tci : tags)
    for (const int v : {0x81, 0x00, tci >> 8, tci & 0xff}) bytes.push_back(static_cast<std::uint8_t>(v));
  bytes.push_back(static_cast<std::uint8_t>(ethertype >> 8));
  bytes.push_back(static_cast<std::uint8_t>(ethertype));
  for (const int v : ip) bytes.push_back(static_cast<std::uint8_t>(v));
  bytes.resize(bytes.size() + 60);
  return bytes;
}

struct Case {
  const char* description;
  ll_trust trust;
  Bytes packet;
  unsigned tc;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"dscp 26 over IPv4", LL_TRUST_DSCP, frame({}, 0x0800, {0x45, 26 << 2}), 3},
      {"dscp 48 over IPv6", LL_TRUST_DSCP, frame({}, 0x86dd, {0x60 | (48 >> 2), 0}), 6},
      {"ECN bits are no part of it", LL_TRUST_DSCP, frame({}, 0x0800, {0x45, (26 << 2) | 3}), 3},
      {"dscp wins over a tag", LL_TRUST_DSCP, frame({7 << 13}, 0x0800, {0x45, 26 << 2}), 3},
      {"dscp behind two tags", LL_TRUST_DSCP, frame({7 << 13, 1 << 13}, 0x0800, {0x45, 40 << 2}), 5},
      {"trust dscp, ARP: port", LL_TRUST_DSCP, frame({5 << 13}, 0x0806, {}), 1},
      {"dot1p of a tag", LL_TRUST_DOT1P, frame({5 << 13}, 0x0800, {0x45, 26 << 2}), 5},
      {"dot1p of the outer of two", LL_TRUST_DOT1P, frame({4 << 13, 2 << 13}, 0x0800, {0x45, 0}), 4},
      {"dot1p, not IP", LL_TRUST_DOT1P, frame({6 << 13}, 0x0806, {}), 6},
      {"trust dot1p, no tag: port", LL_TRUST_DOT1P, frame({}, 0x0800, {0x45, 26 << 2}), 1},
      {"untrusted: port", LL_TRUST_PORT, frame({5 << 13}, 0x0800, {0x45, 26 << 2}), 1},
  };
  return kCases;
}

TEST(Classify, TrustTable) {
  ScratchPort port;
  std::map<unsigned, std::uint64_t> expected;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.description);
    ll_port row = default_port_row();
    row.trust = static_cast<__u8>(c.trust);
    row.port_tc = 1;
    port.set_port(row);
    const RunResult out = port.ingress(c.packet);
    EXPECT_EQ(out.verdict, -1);
    EXPECT_EQ(out.priority, LL_PRIORITY(c.tc));
    EXPECT_EQ(to_hex(out.packet), to_hex(c.packet));
    expected[c.tc]++;
  }
  for (const auto& [tc, packets] : expected) EXPECT_EQ(port.classes(tc).packets, packets) << "TC " << tc;
  EXPECT_EQ(port.errors().untrusted, 2U);
}

TEST(Classify, EgressClassifiesWhatIngressDidNotSee) {
  ScratchPort port;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.description);
    ll_port row = default_port_row();
    row.trust = static_cast<__u8>(c.trust);
    row.port_tc = 1;
    port.set_port(row);
    const auto out =
        run_program(port.datapath().program(Hook::Egress), c.packet, {.ifindex = port.ifindex()});
    ASSERT_TRUE(out);
    EXPECT_EQ(out->priority, LL_PRIORITY(c.tc));
  }
}

TEST(Classify, OtherPortsAreLeftAlone) {
  ScratchPort port;
  const auto out = run_program(port.datapath().program(Hook::Ingress), cases()[0].packet,
                               {.ifindex = port.ifindex() + 1, .priority = 5});
  if (out) {
    EXPECT_EQ(out->priority, 5U);
  }
  port.datapath().maps().ports.erase(port.ifindex());
  EXPECT_EQ(port.ingress(cases()[0].packet).priority, 0U);
}

TEST(Classify, DscpRemarkGoldens) {
  ScratchPort port;
  std::uint64_t remarked = 0;
  for (const Row& golden : read_golden("remark.tsv")) {
    SCOPED_TRACE(golden[0]);
    ll_port row = default_port_row();
    row.dscp_new[std::stoul(golden[1])] = static_cast<__u8>(std::stoul(golden[2]));
    row.remark = 1;
    port.set_port(row);
    EXPECT_EQ(to_hex(port.ingress(from_hex(golden[3])).packet), golden[4]);
    if (golden[1] != golden[2]) remarked++;
  }
  EXPECT_GT(remarked, 100U);
  EXPECT_EQ(port.errors().remarked, remarked);
  EXPECT_EQ(port.errors().bad[LL_BAD_REMARK], 0U);
}

TEST(Classify, MalformedPacketsAreCountedByKind) {
  static const std::map<std::string, unsigned> kKinds = {{"l2_short", LL_BAD_L2_SHORT},
                                                         {"ip_short", LL_BAD_IP_SHORT},
                                                         {"ip_version", LL_BAD_IP_VERSION},
                                                         {"ip_hlen", LL_BAD_IP_HLEN}};
  ScratchPort port;
  unsigned ran = 0;
  for (const Row& golden : read_golden("malformed.tsv")) {
    SCOPED_TRACE(golden[0]);
    port.clear_counters();
    const auto out =
        run_program(port.datapath().program(Hook::Ingress), from_hex(golden[1]), {.ifindex = port.ifindex()});
    if (!out) continue;  // shorter than the kernel lets a test run be
    ran++;
    EXPECT_EQ(out->verdict, -1);
    const ll_port_stats stats = port.errors();
    const auto kind = kKinds.find(golden[2]);
    for (unsigned k = 0; k < LL_BAD_KINDS; ++k)
      EXPECT_EQ(stats.bad[k], kind != kKinds.end() && kind->second == k ? 1U : 0U) << "kind " << k;
    if (kind != kKinds.end()) {
      EXPECT_EQ(out->priority, LL_PRIORITY(0));
    }
  }
  EXPECT_GT(ran, 100U);
}

// A port that trusts the application table: TCP and UDP by destination port, anything by EtherType.
TEST(Classify, ApplicationTable) {
  ScratchPort port;
  ll_port row = default_port_row();
  row.trust = LL_TRUST_APPLICATION;
  row.port_tc = 1;
  row.dot1p_tc[2] = 5;
  port.set_port(row);
  const auto& apps = port.datapath().maps().apps;
  ASSERT_TRUE(apps.set(LL_APP_KEY(LL_APP_UDP, 4791), 3));
  ASSERT_TRUE(apps.set(LL_APP_KEY(LL_APP_PORT, 4420), 2));
  ASSERT_TRUE(apps.set(LL_APP_KEY(LL_APP_TCP, 4420), 4));
  ASSERT_TRUE(apps.set(LL_APP_KEY(LL_APP_ETHERTYPE, 0x88a7), 6));
  const auto v4 = [](int protocol, int to, int fragment = 0, int ihl = 5) {
    Bytes bytes =
        frame({}, 0x0800, {0x40 | ihl, 26 << 2, 0, 40, 0, 0, fragment >> 8, fragment & 0xff, 64, protocol});
    const std::size_t at = 14 + static_cast<std::size_t>(ihl) * 4 + 2;
    bytes[at] = static_cast<std::uint8_t>(to >> 8);
    bytes[at + 1] = static_cast<std::uint8_t>(to);
    return bytes;
  };
  Bytes v6 = frame({}, 0x86dd, {0x60, 0, 0, 0, 0, 8, 17});
  v6[14 + 40 + 2] = 4791 >> 8;
  v6[14 + 40 + 3] = 4791 & 0xff;
  Bytes tagged = v4(17, 4791);
  tagged.insert(tagged.begin() + 12, {0x81, 0x00, 0xe0, 0x01});
  struct AppCase {
    const char* description;
    Bytes packet;
    unsigned tc;
  };
  const AppCase cases[] = {
      {"RoCEv2 over IPv4", v4(17, 4791), 3},
      {"RoCEv2 over IPv6", v6, 3},
      {"behind a tag", tagged, 3},
      {"IPv4 options", v4(17, 4791, 0, 8), 3},
      {"TCP goes before any", v4(6, 4420), 4},
      {"any port, and dot1p_tc", v4(17, 4420), 5},
      {"no entry: port", v4(17, 4792), 1},
      {"TCP is not UDP", v4(6, 4791), 1},
      {"later fragments have no port", v4(17, 4791, 5), 1},
      {"EtherType", frame({}, 0x88a7, {}), 6},
      {"another EtherType", frame({}, 0x88a8 + 1, {}), 1},
  };
  for (const AppCase& c : cases) {
    SCOPED_TRACE(c.description);
    EXPECT_EQ(port.ingress(c.packet).priority, LL_PRIORITY(c.tc));
  }
  EXPECT_EQ(port.errors().untrusted, 4U);

  // A table of the port's own, instead of the common one.
  row.apps = 1;
  port.set_port(row);
  ASSERT_TRUE(apps.set(LL_APP_TABLE(row.slot) | LL_APP_KEY(LL_APP_UDP, 4791), 7));
  EXPECT_EQ(port.ingress(v4(17, 4791)).priority, LL_PRIORITY(7));
  EXPECT_EQ(port.ingress(v4(6, 4420)).priority, LL_PRIORITY(1));
}

}  // namespace
}  // namespace lossless::test
