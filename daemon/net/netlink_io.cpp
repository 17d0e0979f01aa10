// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/netlink_io.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <netlink/socket.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "bpf/abi.h"

namespace lossless::net {
namespace {

constexpr std::size_t kMessageBytes = 4096;
constexpr int kBufferBytes = 1 << 20;

// The reply to one request: libnl's callbacks collect into it.
struct Reply {
  int error = 0;
  std::string* words = nullptr;
  const std::function<void(nlmsghdr*)>* each = nullptr;
};

void read_extended_ack(const nlmsgerr* error, const nlmsghdr* header, std::string& words) {
  if (!(header->nlmsg_flags & NLM_F_ACK_TLVS)) return;
  std::size_t offset = sizeof(*error);
  if (!(header->nlmsg_flags & NLM_F_CAPPED)) offset += error->msg.nlmsg_len - sizeof(nlmsghdr);
  const auto* data = reinterpret_cast<const char*>(error);
  const auto length = static_cast<std::size_t>(header->nlmsg_len - NLMSG_HDRLEN);
  if (offset >= length) return;
  auto* head = reinterpret_cast<nlattr*>(const_cast<char*>(data + offset));
  if (const nlattr* text = nla_find(head, static_cast<int>(length - offset), NLMSGERR_ATTR_MSG))
    words.assign(static_cast<const char*>(nla_data(text)));
}

int on_error(sockaddr_nl*, nlmsgerr* error, void* arg) {
  auto* reply = static_cast<Reply*>(arg);
  reply->error = -error->error;
  const auto* header = reinterpret_cast<const nlmsghdr*>(reinterpret_cast<const char*>(error) - NLMSG_HDRLEN);
  read_extended_ack(error, header, *reply->words);
  return NL_STOP;
}

int on_ack(nl_msg*, void*) { return NL_STOP; }

int on_valid_sequence(nl_msg*, void*) { return NL_OK; }

int on_valid(nl_msg* msg, void* arg) {
  auto* reply = static_cast<Reply*>(arg);
  if (reply->each) (*reply->each)(nlmsg_hdr(msg));
  return NL_OK;
}

using Callbacks = std::unique_ptr<nl_cb, void (*)(nl_cb*)>;

Callbacks make_callbacks(Reply& reply) {
  Callbacks callbacks(nl_cb_alloc(NL_CB_DEFAULT), nl_cb_put);
  nl_cb_err(callbacks.get(), NL_CB_CUSTOM, on_error, &reply);
  nl_cb_set(callbacks.get(), NL_CB_ACK, NL_CB_CUSTOM, on_ack, nullptr);
  nl_cb_set(callbacks.get(), NL_CB_VALID, NL_CB_CUSTOM, on_valid, &reply);
  return callbacks;
}

}  // namespace

Message::Message(int type, int flags) : msg_(nlmsg_alloc_size(kMessageBytes), nlmsg_free) {
  nlmsg_put(msg_.get(), NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, NLM_F_REQUEST | flags);
}

Message& Message::text(int type, std::string_view value) {
  nla_put_string(msg_.get(), type, std::string(value).c_str());
  return *this;
}

Message& Message::nest(int type, const std::function<void(Message&)>& fill) {
  nlattr* start = nla_nest_start(msg_.get(), type);
  fill(*this);
  nla_nest_end(msg_.get(), start);
  return *this;
}

Netlink::Netlink()
    : socket_(nl_socket_alloc(), nl_socket_free), kernel_words_(std::make_unique<std::string>()) {}

Result<Netlink> Netlink::open(int protocol) {
  Netlink netlink;
  if (!netlink.socket_) return fail("out of memory for a netlink socket");
  if (const int error = nl_connect(netlink.socket_.get(), protocol))
    return fail(std::string("cannot open a netlink socket: ") + nl_geterror(error));
  nl_socket_set_buffer_size(netlink.socket_.get(), kBufferBytes, kBufferBytes);
  const int on = 1;
  setsockopt(netlink.fd(), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
  setsockopt(netlink.fd(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
  return netlink;
}

int Netlink::transact(const Message& message) {
  kernel_words_->clear();
  if (nl_send_auto(socket_.get(), message.raw()) < 0) return EIO;
  return 0;
}

int Netlink::request_errno(const Message& message) {
  nlmsg_hdr(message.raw())->nlmsg_flags |= NLM_F_ACK;
  if (const int error = transact(message)) return error;
  Reply reply{.error = 0, .words = kernel_words_.get(), .each = nullptr};
  const int got = nl_recvmsgs(socket_.get(), make_callbacks(reply).get());
  if (reply.error) return reply.error;
  return got < 0 ? EIO : 0;
}

Status Netlink::request(const Message& message, const std::string& what) {
  const int error = request_errno(message);
  if (error == 0) return {};
  return fail(what + ": " + errno_text(error) + (kernel_words_->empty() ? "" : " (" + *kernel_words_ + ")"));
}

Status Netlink::dump(const Message& message, const std::string& what,
                     const std::function<void(nlmsghdr*)>& each) {
  nlmsg_hdr(message.raw())->nlmsg_flags |= NLM_F_DUMP;
  if (const int error = transact(message)) return fail_errno(what, error);
  Reply reply{.error = 0, .words = kernel_words_.get(), .each = &each};
  const int got = nl_recvmsgs(socket_.get(), make_callbacks(reply).get());
  if (reply.error) return fail_errno(what, reply.error);
  if (got < 0 && got != -NLE_DUMP_INTR) return fail(what + ": " + nl_geterror(got));
  return {};
}

Status Netlink::subscribe(std::initializer_list<int> groups) {
  for (const int group : groups)
    if (const int error = nl_socket_add_membership(socket_.get(), group))
      return fail("cannot subscribe to netlink group " + std::to_string(group) + ": " + nl_geterror(error));
  if (const int error = nl_socket_set_nonblocking(socket_.get()))
    return fail(std::string("netlink socket: ") + nl_geterror(error));
  return {};
}

// Classic BPF loads big-endian: fields in host order are compared by their bytes.
Status Netlink::ignore_gate_events() {
  constexpr std::uint32_t kType = offsetof(nlmsghdr, nlmsg_type);
  constexpr std::uint32_t kHandle = NLMSG_HDRLEN + offsetof(tcmsg, tcm_handle);
  std::vector<sock_filter> code{
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, kType),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWQDISC), 0, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kHandle),
  };
  for (unsigned tc = 0; tc < LL_TCS; ++tc)
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(LL_LEAF_HANDLE(tc)),
                            static_cast<std::uint8_t>(LL_TCS - tc), 0));
  code.push_back(BPF_STMT(BPF_RET | BPF_K, UINT32_MAX));
  code.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
  code[1].jf = LL_TCS + 1;
  const sock_fprog program{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  if (setsockopt(fd(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program))
    return fail_errno("cannot filter netlink events", errno);
  return {};
}

bool Netlink::read_events(const std::function<void(nlmsghdr*)>& each) {
  Reply reply{.error = 0, .words = kernel_words_.get(), .each = &each};
  const Callbacks callbacks = make_callbacks(reply);
  // Events answer nothing, so their sequence numbers follow nothing.
  nl_cb_set(callbacks.get(), NL_CB_SEQ_CHECK, NL_CB_CUSTOM, on_valid_sequence, nullptr);
  for (;;) {
    const int got = nl_recvmsgs(socket_.get(), callbacks.get());
    if (got == -NLE_AGAIN) return true;
    if (got < 0) return false;
  }
}

}  // namespace lossless::net
