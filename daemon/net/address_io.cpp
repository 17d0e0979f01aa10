// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/address_io.h"

#include <linux/if_addr.h>
#include <sys/socket.h>

#include <optional>

namespace lossless::net {
namespace {

std::optional<InterfaceAddress> read_address(nlmsghdr* header) {
  nlattr* attrs[IFA_MAX + 1];
  if (header->nlmsg_type != RTM_NEWADDR || nlmsg_parse(header, sizeof(ifaddrmsg), attrs, IFA_MAX, nullptr))
    return std::nullopt;
  const auto* info = static_cast<const ifaddrmsg*>(nlmsg_data(header));
  if (info->ifa_scope != RT_SCOPE_UNIVERSE) return std::nullopt;
  const std::uint32_t flags = attrs[IFA_FLAGS] ? nla_get_u32(attrs[IFA_FLAGS]) : info->ifa_flags;
  if (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) return std::nullopt;
  // On a point-to-point link IFA_ADDRESS is the peer's; IFA_LOCAL is ours.
  const nlattr* own = attrs[IFA_LOCAL] ? attrs[IFA_LOCAL] : attrs[IFA_ADDRESS];
  const std::size_t size = info->ifa_family == AF_INET6 ? 16 : 4;
  if (!own || static_cast<std::size_t>(nla_len(own)) != size) return std::nullopt;
  const ByteView bytes(static_cast<const std::uint8_t*>(nla_data(own)), size);
  return InterfaceAddress{.ifindex = static_cast<int>(info->ifa_index),
                          .address = size == 16 ? IpAddress::v6_of(bytes) : IpAddress::v4_of(bytes)};
}

}  // namespace

Result<std::vector<InterfaceAddress>> list_addresses(Netlink& netlink) {
  std::vector<InterfaceAddress> out;
  Message request(RTM_GETADDR, 0);
  ifaddrmsg header{};
  header.ifa_family = AF_UNSPEC;
  request.header(header);
  auto done = netlink.dump(request, "cannot list addresses", [&](nlmsghdr* message) {
    if (auto address = read_address(message)) out.push_back(*address);
  });
  if (!done) return std::unexpected(done.error());
  return out;
}

}  // namespace lossless::net
