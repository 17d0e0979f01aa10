// SPDX-License-Identifier: Apache-2.0
// What LLDP says of this machine, and which addresses a host announces on which ports.
#include <gtest/gtest.h>

#include "daemon/inof/host_addresses.h"
#include "daemon/lldp/local.h"

namespace {

using namespace lossless;

net::Link link(int ifindex, const std::string& name, const std::string& master = "",
               const std::string& lower = "") {
  net::Link out;
  out.ifindex = ifindex;
  out.name = name;
  out.master = master;
  out.lower = lower;
  out.up = true;
  out.address = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(ifindex)};
  return out;
}

TEST(LldpLocal, ChassisIsTheLowestAddressAndStays) {
  const std::vector<net::Link> ports{link(5, "b"), link(3, "a")};
  const Mac chosen = lldp::choose_chassis({}, ports);
  EXPECT_EQ(chosen, ports[1].address);
  EXPECT_EQ(lldp::choose_chassis(chosen, {link(1, "c")}), chosen);
  EXPECT_EQ(lldp::choose_chassis({}, {}), Mac{});
}

TEST(LldpLocal, CapabilitiesByWhatTheMachineDoes) {
  const auto enabled = [](bool routes, const std::string& master) {
    return lldp::describe_system({}, {.host_name = "h", .description = "", .routes = routes}, {},
                                 {link(1, "a", master)})
        .capabilities.enabled;
  };
  EXPECT_EQ(enabled(false, ""), lldp::kCapStation);
  EXPECT_EQ(enabled(true, ""), lldp::kCapRouter);
  EXPECT_EQ(enabled(true, "br0"), lldp::kCapRouter | lldp::kCapBridge);
}

TEST(LldpLocal, ManagementAddressIsThePortsOwnOrTheFirstOfTheMachine) {
  const std::vector<net::InterfaceAddress> addresses{
      {1, *parse_ip("10.0.0.1")}, {1, *parse_ip("fd00::1")}, {2, *parse_ip("10.0.0.2")}};
  const auto own = lldp::describe_port(link(2, "b"), addresses);
  ASSERT_EQ(own.management.size(), 1U);
  EXPECT_EQ(lldp::management_text(own.management[0]), "10.0.0.2");
  const auto other = lldp::describe_port(link(3, "c"), addresses);
  ASSERT_EQ(other.management.size(), 2U);
  EXPECT_EQ(lldp::management_text(other.management[1]), "fd00::1");
  EXPECT_TRUE(lldp::describe_port(link(3, "c"), {}).management.empty());
}

using inof::HostAddress;

std::vector<std::string> words(const std::vector<HostAddress>& plan) {
  std::vector<std::string> out;
  out.reserve(plan.size());
  for (const HostAddress& a : plan)
    out.push_back(a.port.name + " " + a.interface + " " + to_string(a.address) + " " +
                  std::to_string(a.index) + (a.up ? "" : " down"));
  return out;
}
using Words = std::vector<std::string>;

TEST(HostAddresses, PortsVlansAndBonds) {
  auto down = link(2, "p2", "bond0");
  down.up = false;
  const std::vector<net::Link> links{link(1, "p1", "bond0"),
                                     down,
                                     link(3, "eth0"),
                                     link(4, "bond0"),
                                     link(5, "mgmt"),
                                     link(6, "eth0.100", "", "eth0"),
                                     link(7, "bond0.7", "", "bond0")};
  const std::vector<net::InterfaceAddress> addresses{{3, *parse_ip("10.0.0.3")}, {3, *parse_ip("fd00::3")},
                                                     {5, *parse_ip("10.0.0.5")}, {6, *parse_ip("10.0.0.6")},
                                                     {7, *parse_ip("10.0.0.7")}, {9, *parse_ip("10.0.0.9")}};
  EXPECT_EQ(words(inof::plan_addresses(links, {"p1", "p2", "eth0"}, addresses, {})),
            (Words{"eth0 eth0 10.0.0.3 1", "eth0 eth0 fd00::3 2", "eth0 eth0.100 10.0.0.6 1",
                   "p1 bond0.7 10.0.0.7 1", "p2 bond0.7 10.0.0.7 1 down"}));
}

TEST(HostAddresses, NumbersStayWithTheirAddresses) {
  const std::vector<net::Link> links{link(3, "eth0")};
  const auto one = *parse_ip("10.0.0.1"), two = *parse_ip("10.0.0.2"), three = *parse_ip("10.0.0.3");
  const auto first = inof::plan_addresses(links, {"eth0"}, {{3, one}, {3, two}}, {});
  const auto second = inof::plan_addresses(links, {"eth0"}, {{3, two}}, first);
  EXPECT_EQ(words(second), Words{"eth0 eth0 10.0.0.2 2"});
  const auto third = inof::plan_addresses(links, {"eth0"}, {{3, three}, {3, two}}, second);
  EXPECT_EQ(words(third), (Words{"eth0 eth0 10.0.0.3 1", "eth0 eth0 10.0.0.2 2"}));
}

// Two bridges in a loop must not keep the plan from ending.
TEST(HostAddresses, LayersEnd) {
  const std::vector<net::Link> links{link(1, "a", "b"), link(2, "b", "a")};
  EXPECT_TRUE(inof::plan_addresses(links, {"eth0"}, {{1, *parse_ip("10.0.0.1")}}, {}).empty());
}

}  // namespace
