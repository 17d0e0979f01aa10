// SPDX-License-Identifier: Apache-2.0
// Pins, adoption, upgrade and detaching.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "daemon/net/qdisc_io.h"
#include "loader/pins_io.h"
#include "tests/bpf/golden.h"
#include "tests/bpf/scratch_io.h"

namespace lossless::test {
namespace {

bool exists(const std::string& path) {
  struct stat st{};
  return stat(path.c_str(), &st) == 0;
}

std::uint32_t program_of_link(const std::string& path) {
  const Fd fd(bpf_obj_get(path.c_str()));
  bpf_link_info info{};
  __u32 size = sizeof info;
  return fd && bpf_link_get_info_by_fd(fd.get(), &info, &size) == 0 ? info.prog_id : 0;
}

// Makes the pins look as if another build, or another namespace, had left them.
void edit_meta(const Pins& pins, const std::function<void(ll_meta&)>& edit) {
  const Fd fd(bpf_obj_get((pins.maps + "/meta").c_str()));
  const Map<std::uint32_t, ll_meta> meta(fd.get());
  std::optional<ll_meta> value = meta.get(0);
  ASSERT_TRUE(value);
  edit(*value);
  ASSERT_TRUE(meta.set(0, *value));
}

TEST(Loader, ASecondStartAdoptsMapsCountersAndLinks) {
  ScratchPort port;
  const Bytes packet = from_hex(read_golden("ecn.tsv")[2][1]);
  port.ingress(packet);
  const Pins pins(port.instance());
  const std::uint32_t before = program_of_link(pins.link(port.ifindex(), Hook::Egress));
  ASSERT_NE(before, 0U);

  auto next = Datapath::open(port.instance(), "next");
  ASSERT_TRUE(next) << next.error();
  EXPECT_EQ(next->origin(), Datapath::Origin::Adopted);
  EXPECT_TRUE(next->is_attached(port.ifindex()));
  EXPECT_EQ(next->maps().class_stats.sum(LL_ROW(0, 0)).packets, 1U);
  ASSERT_TRUE(next->attach(port.ifindex()));
  EXPECT_NE(program_of_link(pins.link(port.ifindex(), Hook::Egress)), before)
      << "the programs were not exchanged";
  EXPECT_EQ(next->linked(), std::vector<unsigned>{port.ifindex()});
}

TEST(Loader, AnotherAbiIsReplacedWithoutDetaching) {
  ScratchPort port;
  const Pins pins(port.instance());
  edit_meta(pins, [](ll_meta& value) { value.abi = LL_ABI_VERSION + 1; });

  auto next = Datapath::open(port.instance(), "next");
  ASSERT_TRUE(next) << next.error();
  EXPECT_EQ(next->origin(), Datapath::Origin::Replacing);
  EXPECT_TRUE(next->is_attached(port.ifindex())) << "the old links must run until they are exchanged";
  ASSERT_TRUE(next->maps().ports.set(port.ifindex(), default_port_row()));
  ASSERT_TRUE(next->attach(port.ifindex()));
  ASSERT_TRUE(next->commit());
  EXPECT_FALSE(exists(pins.maps_next));
  const auto again = Datapath::open(port.instance(), "again");
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(again->origin(), Datapath::Origin::Adopted);
}

TEST(Loader, DetachAllLeavesNothing) {
  ScratchPort port;
  const Pins pins(port.instance());
  ASSERT_TRUE(exists(pins.root));
  ASSERT_TRUE(port.datapath().detach_all());
  EXPECT_FALSE(exists(pins.root));
  EXPECT_FALSE(port.datapath().is_attached(port.ifindex()));
}

TEST(Loader, TwoInstancesDoNotMeet) {
  ScratchPort port;
  auto other = Datapath::open(port.instance() + "-b", "other");
  ASSERT_TRUE(other) << other.error();
  EXPECT_EQ(other->origin(), Datapath::Origin::Fresh);
  EXPECT_FALSE(other->is_attached(port.ifindex()));
  ASSERT_TRUE(other->detach_all());
  EXPECT_TRUE(port.datapath().is_attached(port.ifindex()));
}

TEST(Loader, AnInstanceOfAnotherNamespaceIsRefused) {
  ScratchPort port;
  const Pins pins(port.instance());
  edit_meta(pins, [](ll_meta& value) { value.netns += 1; });
  const auto next = Datapath::open(port.instance(), "next");
  ASSERT_FALSE(next);
  EXPECT_NE(next.error().find("another network namespace"), std::string::npos) << next.error();
}

TEST(PortTable, InterfacesWithTheSamePlaceFindOneAnother) {
  ScratchPort port;
  const PortTable& table = port.datapath().maps().ports;
  const std::uint32_t base = port.ifindex() + 100;
  ll_port row = default_port_row();
  for (std::uint32_t i = 0; i < LL_INDEX_PROBES; ++i) {
    row.slot = 1 + i;
    ASSERT_TRUE(table.set(base + i * LL_INDEX_SIZE, row));
  }
  row.slot = 100;
  const auto refused = table.set(base + LL_INDEX_PROBES * LL_INDEX_SIZE, row);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find(std::to_string(base + LL_INDEX_PROBES * LL_INDEX_SIZE)), std::string::npos);
  table.erase(base + LL_INDEX_SIZE);
  EXPECT_FALSE(table.get(base + LL_INDEX_SIZE));
  for (std::uint32_t i = 2; i < LL_INDEX_PROBES; ++i) {
    ASSERT_TRUE(table.get(base + i * LL_INDEX_SIZE)) << i;
    EXPECT_EQ(table.get(base + i * LL_INDEX_SIZE)->slot, 1 + i);
  }
  EXPECT_TRUE(table.set(base + LL_INDEX_PROBES * LL_INDEX_SIZE, row));
  EXPECT_EQ(table.interfaces().size(), LL_INDEX_PROBES + 1U);
}

TEST(QueueTree, ForeignQdiscIsNeverTouched) {
  ScratchPort port;
  ASSERT_TRUE(net::remove_tree(port.netlink(), static_cast<int>(port.ifindex())));
  ASSERT_EQ(std::system("tc qdisc add dev p0 root handle 7: pfifo limit 10"), 0);
  PortConfig config;
  for (QueueConfig& queue : config.queues) queue.limit_bytes = 100'000;
  const auto applied = net::apply_tree(port.netlink(), static_cast<int>(port.ifindex()),
                                       port::plan_tree(config, 1500), std::nullopt);
  ASSERT_FALSE(applied);
  EXPECT_NE(applied.error().find("pfifo"), std::string::npos) << applied.error();
  ASSERT_TRUE(net::remove_tree(port.netlink(), static_cast<int>(port.ifindex())));
  const auto qdiscs = net::list_qdiscs(port.netlink());
  ASSERT_TRUE(qdiscs);
  EXPECT_EQ(net::find_root(*qdiscs, static_cast<int>(port.ifindex()))->kind, "pfifo");
}

}  // namespace
}  // namespace lossless::test
