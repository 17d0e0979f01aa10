// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/detach_io.h"

#include <bpf/bpf.h>
#include <net/if.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <set>

#include "bpf/abi.h"
#include "daemon/net/dcb_record_io.h"
#include "daemon/net/qdisc_io.h"
#include "loader/datapath_io.h"
#include "loader/pins_io.h"
#include "loader/run_dir_io.h"

namespace lossless::net {
namespace {

// Interfaces of the instance: those in its map, and those with a link.
std::set<unsigned> interfaces_of(const Pins& pins) {
  std::set<unsigned> all;
  const Fd index(bpf_obj_get((pins.maps + "/port_index").c_str()));
  if (index)
    for (const std::uint32_t ifindex : PortTable(index.get(), -1).interfaces()) all.insert(ifindex);
  for (const LinkPin& pin : list_links(pins)) all.insert(pin.ifindex);
  return all;
}

}  // namespace

Result<std::vector<std::string>> detach_instance(const std::string& instance) {
  const Pins pins(instance);
  struct stat st{};
  if (stat(pins.root.c_str(), &st)) return fail("nothing is attached: there is no " + pins.root);
  auto lock = InstanceLock::take(instance);
  if (!lock) return std::unexpected(lock.error());
  if (auto here = check_namespace(pins); !here) return std::unexpected(here.error());
  auto netlink = Netlink::open();
  if (!netlink) return std::unexpected(netlink.error());

  std::vector<std::string> names;
  const std::set<unsigned> interfaces = interfaces_of(pins);
  if (auto gone = remove_dir(pins.links); !gone) return std::unexpected(gone.error());
  for (const unsigned ifindex : interfaces) {
    std::array<char, IF_NAMESIZE> name{};
    if (!if_indextoname(ifindex, name.data())) continue;  // the interface is gone, its tree with it
    if (auto removed = remove_tree(*netlink, static_cast<int>(ifindex)); !removed)
      return std::unexpected(removed.error());
    names.emplace_back(name.data());
  }
  const DcbRecords records(run_dir(instance));
  for (const std::string& name : records.interfaces())
    if (auto back = records.restore(*netlink, name); !back)
      return fail("DCB settings of " + name + " cannot go back to what they were: " + back.error());
  if (auto gone = remove_instance(pins); !gone) return std::unexpected(gone.error());
  lock->remove();
  return names;
}

}  // namespace lossless::net
