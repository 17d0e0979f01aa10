// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/sampler/sampler_io.h"

#include <fcntl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include "bpf/abi.h"

namespace lossless::lab {
namespace {

std::string errno_text(const std::string& what) {
  return what + ": " + std::error_code(errno, std::generic_category()).message();
}

using Message = std::unique_ptr<nl_msg, decltype(&nlmsg_free)>;

// RTM_GETQDISC of one leaf. NLM_F_ECHO: older kernels answer the asker only with it.
Message leaf_request(int ifindex, unsigned tc) {
  Message message(nlmsg_alloc_simple(RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO), nlmsg_free);
  tcmsg header{};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = ifindex;
  header.tcm_handle = LL_LEAF_HANDLE(tc);
  if (message && nlmsg_append(message.get(), &header, sizeof header, NLMSG_ALIGNTO) < 0) message.reset();
  return message;
}

template <typename T>
T copy_of(nlattr* attribute) {
  T value{};
  nla_memcpy(&value, attribute, sizeof value);
  return value;
}

QueueSample parse_stats(nlattr* stats) {
  std::array<nlattr*, TCA_STATS_MAX + 1> fields{};
  QueueSample sample;
  if (nla_parse_nested(fields.data(), TCA_STATS_MAX, stats, nullptr) < 0) return sample;
  if (fields[TCA_STATS_BASIC] != nullptr) {
    const auto basic = copy_of<gnet_stats_basic>(fields[TCA_STATS_BASIC]);
    sample.sent_bytes = basic.bytes;
    sample.sent_packets = basic.packets;
  }
  if (fields[TCA_STATS_PKT64] != nullptr) sample.sent_packets = nla_get_u64(fields[TCA_STATS_PKT64]);
  if (fields[TCA_STATS_QUEUE] != nullptr) {
    const auto queue = copy_of<gnet_stats_queue>(fields[TCA_STATS_QUEUE]);
    sample.backlog_bytes = queue.backlog;
    sample.backlog_packets = queue.qlen;
    sample.dropped_packets = queue.drops;
  }
  return sample;
}

// What one request waits for.
struct Pending {
  std::uint32_t handle = 0;
  std::optional<QueueSample> sample;
};

}  // namespace

std::expected<QueueId, std::string> parse_queue_id(const std::string& text) {
  const auto colon = text.rfind(':');
  QueueId id;
  if (colon != std::string::npos && colon > 0 && colon < IFNAMSIZ) {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, id.tc);
    if (error == std::errc{} && rest == end && id.tc < LL_TCS) {
      id.port = text.substr(0, colon);
      return id;
    }
  }
  return std::unexpected("queue '" + text + "': must be PORT:TC with an interface name and a TC of 0 to 7");
}

std::expected<void, std::string> enter_netns(const std::string& name) {
  const std::string path = "/run/netns/" + name;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::unexpected(errno_text(path));
  const bool entered = ::setns(fd, CLONE_NEWNET) == 0;
  const std::string error = entered ? "" : errno_text("entering " + path);
  ::close(fd);
  if (!entered) return std::unexpected(error);
  return {};
}

void QueueReader::SocketFree::operator()(nl_sock* s) const { nl_socket_free(s); }

std::expected<QueueReader, std::string> QueueReader::open() {
  QueueReader reader(nl_socket_alloc());
  if (!reader.socket_) return std::unexpected("no memory for a netlink socket");
  if (const int error = nl_connect(reader.socket_.get(), NETLINK_ROUTE); error < 0) {
    return std::unexpected(std::string("netlink: ") + nl_geterror(error));
  }
  nl_socket_disable_auto_ack(reader.socket_.get());
  nl_socket_disable_seq_check(reader.socket_.get());
  return reader;
}

int QueueReader::on_reply(nl_msg* message, void* pending_arg) {
  auto* pending = static_cast<Pending*>(pending_arg);
  nlmsghdr* header = nlmsg_hdr(message);
  if (header->nlmsg_type != RTM_NEWQDISC) return NL_SKIP;
  const auto* tc = static_cast<const tcmsg*>(nlmsg_data(header));
  if (tc->tcm_handle != pending->handle) return NL_SKIP;
  nlattr* stats = nlmsg_find_attr(header, sizeof(tcmsg), TCA_STATS2);
  if (stats != nullptr) pending->sample = parse_stats(stats);
  return NL_OK;
}

std::optional<QueueSample> QueueReader::read(const QueueId& queue) {
  const unsigned ifindex = if_nametoindex(queue.port.c_str());
  if (ifindex == 0) return std::nullopt;
  Message request = leaf_request(static_cast<int>(ifindex), queue.tc);
  if (!request) return std::nullopt;
  Pending pending{.handle = LL_LEAF_HANDLE(queue.tc), .sample = {}};
  nl_socket_modify_cb(socket_.get(), NL_CB_VALID, NL_CB_CUSTOM, &QueueReader::on_reply, &pending);
  if (nl_send_auto(socket_.get(), request.get()) < 0) return std::nullopt;
  // One answer comes for one request: the qdisc, or an error (no such leaf).
  if (nl_recvmsgs_default(socket_.get()) < 0) return std::nullopt;
  return pending.sample;
}

}  // namespace lossless::lab
