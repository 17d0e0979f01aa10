// SPDX-License-Identifier: Apache-2.0
#include "daemon/dcqcn/rdma_io.h"

#include <rdma/rdma_netlink.h>

#include <array>
#include <optional>

namespace lossless::dcqcn {
namespace {

using Attributes = std::array<nlattr*, RDMA_NLDEV_ATTR_MAX>;

// The header has no fixed part after netlink's.
int type_of(int command) { return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command); }

std::optional<std::uint32_t> number(const Attributes& attributes, int which) {
  const nlattr* at = attributes[static_cast<std::size_t>(which)];
  if (!at || nla_len(at) < static_cast<int>(sizeof(std::uint32_t))) return std::nullopt;
  return nla_get_u32(at);
}

Attributes parse(nlmsghdr* header) {
  Attributes attributes{};
  if (nlmsg_parse(header, 0, attributes.data(), RDMA_NLDEV_ATTR_MAX - 1, nullptr)) attributes.fill(nullptr);
  return attributes;
}

std::optional<Qp> read_entry(nlattr* entry, const std::map<std::uint32_t, int>& ports) {
  Attributes attributes{};
  if (nla_parse_nested(attributes.data(), RDMA_NLDEV_ATTR_MAX - 1, entry, nullptr)) return std::nullopt;
  const auto local = number(attributes, RDMA_NLDEV_ATTR_RES_LQPN);
  const auto remote = number(attributes, RDMA_NLDEV_ATTR_RES_RQPN);
  if (!local || remote.value_or(0) == 0) return std::nullopt;
  // A QP that was not bound to a port yet has none; on a device of one port it cannot be another.
  const auto port = number(attributes, RDMA_NLDEV_ATTR_PORT_INDEX);
  const auto at = port ? ports.find(*port) : ports.begin();
  if (at == ports.end() || (!port && ports.size() > 1)) return std::nullopt;
  return Qp{.ifindex = at->second, .qpn = *local, .peer_qpn = *remote};
}

}  // namespace

Result<RdmaStack> RdmaStack::open() {
  auto netlink = net::Netlink::open(NETLINK_RDMA);
  if (!netlink) return std::unexpected(netlink.error());
  return RdmaStack(std::move(*netlink));
}

Result<std::vector<std::uint32_t>> RdmaStack::list_devices() {
  std::vector<std::uint32_t> found;
  auto done = netlink_.dump(net::Message(type_of(RDMA_NLDEV_CMD_GET), 0), "cannot list RDMA devices",
                            [&](nlmsghdr* header) {
                              if (const auto index = number(parse(header), RDMA_NLDEV_ATTR_DEV_INDEX))
                                found.push_back(*index);
                            });
  if (!done) return std::unexpected(done.error());
  return found;
}

Result<std::map<std::uint32_t, int>> RdmaStack::list_ports(std::uint32_t device) {
  std::map<std::uint32_t, int> found;
  net::Message request(type_of(RDMA_NLDEV_CMD_PORT_GET), 0);
  request.attr(RDMA_NLDEV_ATTR_DEV_INDEX, device);
  auto done = netlink_.dump(request, "cannot list ports of an RDMA device", [&](nlmsghdr* header) {
    const Attributes attributes = parse(header);
    const auto port = number(attributes, RDMA_NLDEV_ATTR_PORT_INDEX);
    const auto interface = number(attributes, RDMA_NLDEV_ATTR_NDEV_INDEX);
    if (port && interface) found[*port] = static_cast<int>(*interface);
  });
  if (!done) return std::unexpected(done.error());
  return found;
}

Result<std::vector<Qp>> RdmaStack::list_qps() {
  const auto devices = list_devices();
  if (!devices) return std::unexpected(devices.error());
  std::vector<Qp> found;
  for (const std::uint32_t device : *devices) {
    const auto ports = list_ports(device);
    if (!ports) return std::unexpected(ports.error());
    if (ports->empty()) continue;
    net::Message request(type_of(RDMA_NLDEV_CMD_RES_QP_GET), 0);
    request.attr(RDMA_NLDEV_ATTR_DEV_INDEX, device);
    auto done = netlink_.dump(request, "cannot list QPs", [&](nlmsghdr* header) {
      nlattr* table = parse(header)[RDMA_NLDEV_ATTR_RES_QP];
      nlattr* entry = nullptr;
      int left = 0;
      if (!table) return;
      nla_for_each_nested(entry, table, left) if (auto qp = read_entry(entry, *ports)) found.push_back(*qp);
    });
    if (!done) return std::unexpected(done.error());
  }
  return found;
}

}  // namespace lossless::dcqcn
