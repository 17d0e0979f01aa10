// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/endpoint/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "veth-topo/endpoint/report.h"

namespace lossless::endpoint {
namespace {

using Json = nlohmann::json;

Json good() {
  return Json::parse(R"({
    "seed": 3, "duration_s": 2, "cpu": 0,
    "hosts": [{"name":"h1","netns":"n1","dev":"eth0","mac":"02:00:0a:00:00:01","ip":"10.0.0.1","link_mbps":100},
              {"name":"h2","netns":"n2","dev":"eth0","mac":"02:00:0A:00:00:02","ip":"10.0.0.2","link_mbps":2.5}],
    "flows": [{"from":"h1","to":"h2","qps":2,"op":"send","size":{"dist":"websearch"},
               "arrival":{"mode":"poisson","load":0.5},"dscp":24,"ecn":"ect1","vlan_pcp":3,"mtu":4096,
               "start_ms":10,"messages":null,"window_packets":7}],
    "dcqcn": {"np":false,"rp":true,"ai_mbps":0.5,"alpha_interval_us":100}})");
}

TEST(EndpointConfig, ReadsEveryField) {
  const auto c = parse_config(good().dump());
  ASSERT_TRUE(c) << c.error();
  EXPECT_EQ(c->seed, 3u);
  EXPECT_EQ(c->duration_ns, 2 * kSecond);
  EXPECT_EQ(c->warmup_ns, kSecond / 2);
  EXPECT_EQ(c->cpu, 0u);
  ASSERT_EQ(c->hosts.size(), 2u);
  EXPECT_EQ(c->hosts[1].address.mac, (std::array<std::uint8_t, 6>{2, 0, 10, 0, 0, 2}));
  EXPECT_EQ(c->hosts[1].link_bps, 2'500'000u);
  const FlowConfig& f = c->flows[0];
  EXPECT_EQ(f.from, 0u);
  EXPECT_EQ(f.to, 1u);
  EXPECT_EQ(f.qps, 2u);
  EXPECT_FALSE(f.write);
  EXPECT_EQ(f.load, 0.5);
  EXPECT_EQ(f.dscp, 24);
  EXPECT_EQ(f.ecn, 1);
  EXPECT_EQ(f.pcp, std::uint8_t{3});
  EXPECT_EQ(f.mtu, 4096u);
  EXPECT_EQ(f.start_ns, 10 * kMillisecond);
  EXPECT_FALSE(f.messages);
  EXPECT_EQ(f.window_packets, 7u);
  EXPECT_FALSE(c->dcqcn.np);
  const auto p = dcqcn_for_link(c->dcqcn, 100'000'000);
  EXPECT_EQ(p.ai_bps, 500'000u);
  EXPECT_EQ(p.alpha_interval_ns, 100'000u);
}

TEST(EndpointConfig, DcqcnDefaultsFollowTheLink) {
  const auto fast = dcqcn_for_link({}, 25'000'000'000);
  EXPECT_EQ(fast.ai_bps, 40'000'000u);
  EXPECT_EQ(fast.hai_bps, 200'000'000u);
  EXPECT_EQ(fast.cut_interval_ns, 50'000u);
  EXPECT_EQ(fast.rate_interval_ns, 300'000u);
  const auto slow = dcqcn_for_link({}, 100'000'000);
  EXPECT_EQ(slow.ai_bps, 160'000u);
  EXPECT_EQ(slow.cnp_interval_ns, 50'000u);
  EXPECT_EQ(slow.cut_interval_ns, 8 * kMillisecond);
}

struct BadCase {
  const char* pointer;  // where the value goes
  const char* value;    // JSON; nullptr: the key is removed
  const char* error;    // a part of what is said
};

TEST(EndpointConfig, ErrorsNameThePathAndWhatIsAllowed) {
  const BadCase cases[] = {
      {"/duration_s", "0", "duration_s: is 0, must be a number from 0.01 to 86400"},
      {"/duration_s", "\"5\"", "duration_s: is \"5\""},
      {"/duration_s", "null", ""},
      {"/seed", "-1", "seed: is -1, must be an integer from 0"},
      {"/seed", "1.5", "seed: is 1.5"},
      {"/cpu", "5000", "cpu: is 5000"},
      {"/rt_priority", "100", "rt_priority: is 100, must be an integer from 0 to 99"},
      {"/warmup_s", "2", "warmup_s: must be shorter than duration_s"},
      {"/nonsense", "1", "nonsense: is not known; known keys are: "},
      {"/hosts", "[]", "hosts: must be an array with at least one element"},
      {"/hosts", nullptr, "hosts: is missing"},
      {"/hosts/0", "3", "hosts[0]: is 3, must be an object"},
      {"/hosts/0/name", nullptr, "hosts[0].name: is missing"},
      {"/hosts/1/name", "\"h1\"", "hosts[1].name: is \"h1\", which another host has"},
      {"/hosts/1/ip", "\"10.0.0.1\"", "hosts[1].ip: is the one of host h1"},
      {"/hosts/1/ip", "\"10.0.0.256\"", "hosts[1].ip: is \"10.0.0.256\", must be an IPv4 or IPv6 address"},
      {"/hosts/1/ip", "\"fe80::1\"", "flows[0].to: has another IP version"},
      {"/hosts/0/mac", "\"02:00:0a:00:00\"", "hosts[0].mac: "},
      {"/hosts/0/mac", "\"03:00:0a:00:00:01\"", "unicast"},
      {"/hosts/0/mac", "\"02:00:0a:00:00:+1\"", "hosts[0].mac: "},
      {"/hosts/0/netns", "\"../x\"", "hosts[0].netns: "},
      {"/hosts/0/dev", "\"a-name-that-is-too-long\"", "hosts[0].dev: "},
      {"/hosts/0/link_mbps", "-3", "hosts[0].link_mbps: is -3"},
      {"/hosts/0/link_mbps", "1e300", "hosts[0].link_mbps: is 1e+300"},
      {"/hosts/0/link_mbps", nullptr, "hosts[0].link_mbps: is missing"},
      {"/flows/0/from", "\"h9\"", "flows[0].from: is \"h9\", which is no host"},
      {"/flows/0/to", "\"h1\"", "flows[0].to: is the sender itself"},
      {"/flows/0/op", "\"read\"", "flows[0].op: is \"read\", must be one of: write, send"},
      {"/flows/0/mtu", "1000", "flows[0].mtu: is 1000, must be 256"},
      {"/flows/0/dscp", "64", "flows[0].dscp: is 64, must be an integer from 0 to 63"},
      {"/flows/0/ecn", "\"ce\"", "flows[0].ecn: is \"ce\", must be one of: not-ect, ect1, ect0"},
      {"/flows/0/vlan_pcp", "8", "flows[0].vlan_pcp: is 8"},
      {"/flows/0/size", "{\"dist\":\"fixed\",\"bytes\":0}", "flows[0].size.bytes: is 0"},
      {"/flows/0/size", "{\"dist\":\"pareto\"}", "flows[0].size.dist: is \"pareto\""},
      {"/flows/0/size", "{\"dist\":\"cdf\"}", "flows[0].size.points: must be an array"},
      {"/flows/0/size", "{\"dist\":\"cdf\",\"points\":[[10,0.5],[5,1]]}", "flows[0].size.points: has [5,1]"},
      {"/flows/0/size", "{\"dist\":\"cdf\",\"points\":[[10,0.5]]}", "flows[0].size.points: ends at 0.5"},
      {"/flows/0/arrival", "{\"mode\":\"poisson\"}", "flows[0].arrival.load: is missing"},
      {"/flows/0/arrival", "{\"mode\":\"poisson\",\"load\":0}", "flows[0].arrival.load: is 0"},
      {"/flows/0/messages", "0", "flows[0].messages: is 0"},
      {"/flows/0/window_packets", "0", "flows[0].window_packets: is 0"},
      {"/dcqcn/g_shift", "0", "dcqcn.g_shift: is 0"},
      {"/dcqcn/rate_interval_us", "0", "dcqcn.rate_interval_us: is 0"},
      {"/dcqcn/rp", "1", "dcqcn.rp: is 1, must be true or false"},
      {"/dcqcn/kmin", "1", "dcqcn.kmin: is not known"},
  };
  for (const BadCase& c : cases) {
    Json json = good();
    const Json::json_pointer at(c.pointer);
    if (c.value == nullptr) {
      json.at(at.parent_pointer()).erase(at.back());
    } else {
      json[at] = Json::parse(c.value);
    }
    const auto parsed = parse_config(json.dump());
    if (*c.error == '\0') {
      EXPECT_TRUE(parsed) << c.pointer;  // null asks for the default
    } else if (parsed) {
      ADD_FAILURE() << c.pointer << " = " << (c.value == nullptr ? "(none)" : c.value) << " was accepted";
    } else {
      EXPECT_NE(parsed.error().find(c.error), std::string::npos) << parsed.error() << "\nwanted: " << c.error;
    }
  }
}

TEST(EndpointConfig, NotJsonAtAll) {
  for (const char* text : {"", "{", "[1,2", "{\"seed\": 1e999}", "{\"seed\": NaN}", "\xff\xfe"}) {
    const auto parsed = parse_config(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().find("JSON"), std::string::npos) << parsed.error();
  }
  const auto list = parse_config("[]");
  ASSERT_FALSE(list);
  EXPECT_NE(list.error().find("must be an object"), std::string::npos);
}

TEST(EndpointReport, IsJsonWithTheKeysOfTheReference) {
  Results r;
  r.host_names = {"a", "b"};
  r.hosts.resize(2);
  r.hosts[0].tx_dscp[26] = 10;
  r.hosts[1].rx_dscp[26] = 7;
  r.hosts[1].bad[LL_ROCE_ICRC] = 2;
  r.flows.push_back({.from = 0, .to = 1});
  for (int i = 1; i <= 100; i++) r.fct.push_back({i <= 50 ? 10u : 1'000'000u, static_cast<double>(i)});
  r.mice_bytes = 100'000;
  const Json j = Json::parse(to_json(r));
  EXPECT_EQ(j["lost"]["by_dscp"], Json::parse(R"({"26":3})"));
  EXPECT_EQ(j["hosts"][1]["icrc_bad"], 2);
  EXPECT_EQ(j["hosts"][1]["bad"], Json::parse(R"({"icrc":2})"));
  EXPECT_EQ(j["fct_ms"]["all"], Json::parse(R"({"n":100,"p50":50.0,"p99":99.0})"));
  EXPECT_EQ(j["fct_ms"]["mice"], Json::parse(R"({"n":50,"p50":25.0,"p99":50.0})"));
  EXPECT_EQ(j["fct_ms"]["elephants"]["p50"], 75.0);
  EXPECT_EQ(j["flows"][0]["to"], "b");
  EXPECT_FALSE(j.contains("error"));
}

TEST(EndpointWorkload, SizesFollowTheDistribution) {
  const auto points = web_search_sizes();
  const SizeDistribution d({points.begin(), points.end()});
  EXPECT_EQ(d.at(0), 1u);
  EXPECT_EQ(d.at(0.2), 20'000u);
  EXPECT_EQ(d.at(0.25), 25'000u);
  EXPECT_EQ(d.at(0.9), 5'000'000u);
  EXPECT_LE(d.at(0.999999999), 30'000'000u);
  double sum = 0;
  FlowRandom random(1, 2);
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; i++) sum += static_cast<double>(d.at(random.uniform()));
  EXPECT_NEAR(sum / kDraws, d.mean_bytes(), d.mean_bytes() * 0.03);
  EXPECT_EQ(SizeDistribution::fixed(777).at(0.3), 777u);
  EXPECT_EQ(SizeDistribution::fixed(777).mean_bytes(), 777);
}

TEST(EndpointWorkload, SeedsAndFlowsGiveDifferentStreams) {
  FlowRandom a(1, 0);
  FlowRandom same(1, 0);
  FlowRandom flow(1, 1);
  FlowRandom seed(2, 0);
  const double x = a.uniform();
  EXPECT_EQ(x, same.uniform());
  EXPECT_NE(x, flow.uniform());
  EXPECT_NE(x, seed.uniform());
}

TEST(EndpointWorkload, PoissonGapsHaveTheirMean) {
  FlowRandom random(5, 5);
  double sum = 0;
  for (int i = 0; i < 100'000; i++) sum += static_cast<double>(random.exponential(1e6));
  EXPECT_NEAR(sum / 100'000, 1e6, 2e4);
}

}  // namespace
}  // namespace lossless::endpoint
