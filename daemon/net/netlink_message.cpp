// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/netlink_message.h"

#include <string>

namespace lossless::net {
namespace {

constexpr std::size_t kMessageBytes = 4096;

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
  nla_nest_end_keep_empty(msg_.get(), start);  // a list of nothing is something in DCB
  return *this;
}

}  // namespace lossless::net
