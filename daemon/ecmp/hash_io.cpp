// SPDX-License-Identifier: Apache-2.0
#include "daemon/ecmp/hash_io.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>

namespace lossless::ecmp {
namespace {

constexpr const char* kIpv4 = "/proc/sys/net/ipv4/fib_multipath_hash_policy";
constexpr const char* kIpv6 = "/proc/sys/net/ipv6/fib_multipath_hash_policy";

Result<unsigned> read_number(const char* path) {
  std::ifstream file(path);
  unsigned value = 0;
  if (!(file >> value)) return fail(std::string("cannot read ") + path);
  return value;
}

Status write_number(const char* path, unsigned value) {
  std::ofstream file(path);
  file << value << '\n' << std::flush;
  if (!file) return fail("cannot write " + std::to_string(value) + " to " + path);
  return {};
}

Status write_policy(const Policy& policy) {
  if (auto ok = write_number(kIpv4, policy.ipv4); !ok) return ok;
  return write_number(kIpv6, policy.ipv6);
}

// Documentation/networking/ip-sysctl.rst: 0 layer 3, 1 layer 4, 2 layer 3 or inner layer 3.
unsigned number_of(EcmpHash hash) {
  switch (hash) {
    case EcmpHash::L4:
      return 1;
    case EcmpHash::Inner:
      return 2;
    default:
      return 0;
  }
}

struct Address {
  std::array<std::uint8_t, 16> bytes{};
  int family = 0;
  std::uint8_t length() const { return family == AF_INET ? 4 : 16; }
};

std::optional<Address> parse_address(const std::string& text) {
  Address out;
  for (const int family : {AF_INET, AF_INET6}) {
    out.family = family;
    if (inet_pton(family, text.c_str(), out.bytes.data()) == 1) return out;
  }
  return std::nullopt;
}

void put(net::Message& message, int type, const Address& address) {
  nla_put(message.raw(), type, address.length(), address.bytes.data());
}

std::string text_of(const nlattr* attr) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = nla_len(attr) == 4 ? AF_INET : AF_INET6;
  inet_ntop(family, nla_data(attr), text.data(), text.size());
  return text.data();
}

// A next hop of the other family (RFC 5549) comes as RTA_VIA.
std::string gateway_of(nlattr* const* attrs) {
  if (attrs[RTA_GATEWAY]) return text_of(attrs[RTA_GATEWAY]);
  if (!attrs[RTA_VIA] || nla_len(attrs[RTA_VIA]) < static_cast<int>(sizeof(rtvia) + 16)) return {};
  const auto* via = static_cast<const rtvia*>(nla_data(attrs[RTA_VIA]));
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(via->rtvia_family, via->rtvia_addr, text.data(), text.size());
  return text.data();
}

NextHop read_route(nlmsghdr* answer) {
  NextHop out;
  nlattr* attrs[RTA_MAX + 1];
  if (nlmsg_parse(answer, sizeof(rtmsg), attrs, RTA_MAX, nullptr)) return out;
  out.gateway = gateway_of(attrs);
  std::array<char, IF_NAMESIZE> name{};
  if (attrs[RTA_OIF] && if_indextoname(nla_get_u32(attrs[RTA_OIF]), name.data())) out.device = name.data();
  return out;
}

}  // namespace

Result<Policy> read_policy() {
  const auto ipv4 = read_number(kIpv4);
  if (!ipv4) return std::unexpected(ipv4.error());
  const auto ipv6 = read_number(kIpv6);
  if (!ipv6) return std::unexpected(ipv6.error());
  return Policy{.ipv4 = *ipv4, .ipv6 = *ipv6};
}

void HashPolicy::apply(const EcmpConfig& config) {
  const bool is_new = config != config_ || !original_;
  if (is_new && config.hash == EcmpHash::Keep) leave();
  config_ = config;
  error_.clear();
  if (config.hash == EcmpHash::Keep) return;
  const auto now = read_policy();
  if (!now) {
    error_ = now.error();
    return;
  }
  const Policy wanted{.ipv4 = number_of(config.hash), .ipv6 = number_of(config.hash)};
  if (!original_) original_ = *now;
  if (*now == wanted) return;
  if (!is_new) {
    ++repaired_;
    spdlog::warn("ECMP: the hash policy was {} (IPv4) and {} (IPv6); it is set to {} again", now->ipv4,
                 now->ipv6, wanted.ipv4);
  }
  written_ = true;
  if (auto ok = write_policy(wanted); !ok) error_ = ok.error();
  if (const auto after = read_policy(); error_.empty() && after && *after != wanted)
    error_ = "the kernel keeps " + std::to_string(after->ipv4) + " (IPv4) and " +
             std::to_string(after->ipv6) + " (IPv6)";
  if (!error_.empty() && is_new) spdlog::error("ECMP: {}", error_);
}

void HashPolicy::leave() {
  if (original_ && written_)
    if (auto ok = write_policy(*original_); !ok) spdlog::warn("ECMP: {}", ok.error());
  original_.reset();
  written_ = false;
}

Result<NextHop> route_of(net::Netlink& netlink, const FlowQuery& flow) {
  const auto to = parse_address(flow.destination);
  if (!to) return fail("destination '" + flow.destination + "'; allowed: an IPv4 or IPv6 address");
  const auto from = parse_address(flow.source);
  if (!flow.source.empty() && (!from || from->family != to->family))
    return fail("source '" + flow.source + "'; allowed: an address of the destination's family");
  net::Message request(RTM_GETROUTE, 0);
  rtmsg header{};
  header.rtm_family = static_cast<unsigned char>(to->family);
  header.rtm_dst_len = static_cast<unsigned char>(to->length() * 8);
  header.rtm_src_len = from ? header.rtm_dst_len : 0;
  request.header(header);
  put(request, RTA_DST, *to);
  if (from) put(request, RTA_SRC, *from);
  request.attr(RTA_IP_PROTO, flow.protocol)
      .attr(RTA_SPORT, htons(flow.source_port))
      .attr(RTA_DPORT, htons(flow.destination_port));
  NextHop out;
  const int error = netlink.query_errno(request, [&](nlmsghdr* answer) { out = read_route(answer); });
  if (error) return fail_errno("no route to " + flow.destination, error);
  return out;
}

}  // namespace lossless::ecmp
