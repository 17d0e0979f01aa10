// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/link_io.h"

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <map>

#include "loader/fd.h"

namespace lossless::net {
namespace {

struct Parsed {
  Link link;
  int master = 0;
  int lower = 0;
};

std::optional<Parsed> read_link(nlmsghdr* header) {
  nlattr* attrs[IFLA_MAX + 1];
  if (header->nlmsg_type != RTM_NEWLINK || nlmsg_parse(header, sizeof(ifinfomsg), attrs, IFLA_MAX, nullptr) ||
      !attrs[IFLA_IFNAME])
    return std::nullopt;
  const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(header));
  Parsed out;
  out.link.ifindex = info->ifi_index;
  out.link.name = nla_get_string(attrs[IFLA_IFNAME]);
  out.link.up = (info->ifi_flags & IFF_UP) && (info->ifi_flags & IFF_RUNNING);
  out.link.ethernet = info->ifi_type == ARPHRD_ETHER;
  out.link.loopback = info->ifi_flags & IFF_LOOPBACK;
  if (attrs[IFLA_MTU]) out.link.mtu = nla_get_u32(attrs[IFLA_MTU]);
  if (attrs[IFLA_ADDRESS] && nla_len(attrs[IFLA_ADDRESS]) == static_cast<int>(out.link.address.size()))
    nla_memcpy(out.link.address.data(), attrs[IFLA_ADDRESS], static_cast<int>(out.link.address.size()));
  if (attrs[IFLA_NUM_TX_QUEUES]) out.link.tx_queues = nla_get_u32(attrs[IFLA_NUM_TX_QUEUES]);
  if (attrs[IFLA_MASTER]) out.master = static_cast<int>(nla_get_u32(attrs[IFLA_MASTER]));
  // The other end of a veth is named too; a namespace beside it says that the number is not one of ours.
  if (attrs[IFLA_LINK] && !attrs[IFLA_LINK_NETNSID])
    out.lower = static_cast<int>(nla_get_u32(attrs[IFLA_LINK]));
  nlattr* nested[IFLA_INFO_MAX + 1];
  if (attrs[IFLA_LINKINFO] && nla_parse_nested(nested, IFLA_INFO_MAX, attrs[IFLA_LINKINFO], nullptr) == 0 &&
      nested[IFLA_INFO_KIND])
    out.link.kind = nla_get_string(nested[IFLA_INFO_KIND]);
  return out;
}

}  // namespace

std::optional<LinkNews> read_link_news(nlmsghdr* event) {
  if (event->nlmsg_type != RTM_NEWLINK && event->nlmsg_type != RTM_DELLINK) return std::nullopt;
  const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(event));
  // AF_BRIDGE has news of the same link as a bridge port, with other flags.
  if (info->ifi_family != AF_UNSPEC) return std::nullopt;
  const bool up = (info->ifi_flags & IFF_UP) && (info->ifi_flags & IFF_RUNNING);
  return LinkNews{.ifindex = info->ifi_index, .up = event->nlmsg_type == RTM_NEWLINK && up};
}

Result<std::vector<Link>> list_links(Netlink& netlink) {
  std::vector<Parsed> parsed;
  Message request(RTM_GETLINK, 0);
  ifinfomsg header{};
  header.ifi_family = AF_UNSPEC;
  request.header(header);
  auto done = netlink.dump(request, "cannot list interfaces", [&](nlmsghdr* message) {
    if (auto link = read_link(message)) parsed.push_back(std::move(*link));
  });
  if (!done) return std::unexpected(done.error());

  std::map<int, std::string> names;
  for (const Parsed& p : parsed) names[p.link.ifindex] = p.link.name;
  std::vector<Link> links;
  for (Parsed& p : parsed) {
    if (p.master) p.link.master = names[p.master];
    if (p.lower && p.link.kind == "vlan") p.link.lower = names[p.lower];
    links.push_back(std::move(p.link));
  }
  return links;
}

std::string driver_of(const std::string& name) {
  const Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_data = reinterpret_cast<char*>(&info);
  if (!fd || ioctl(fd.get(), SIOCETHTOOL, &request)) return {};
  return info.driver;
}

}  // namespace lossless::net
