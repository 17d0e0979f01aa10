// SPDX-License-Identifier: Apache-2.0
// A netlink message under construction, on top of libnl's message functions. Touches no socket.
#pragma once

#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <functional>
#include <memory>
#include <string_view>

namespace lossless::net {

// A request under construction. Attribute calls must not fail for want of room: a message is 4 KiB or more.
class Message {
 public:
  Message(int type, int flags);
  // The fixed part that follows the netlink header (tcmsg, ifinfomsg, …).
  template <class Header>
  Message& header(const Header& value) {
    nlmsg_append(msg_.get(), const_cast<Header*>(&value), sizeof value, NLMSG_ALIGNTO);
    return *this;
  }
  template <class Value>
  Message& attr(int type, const Value& value) {
    nla_put(msg_.get(), type, sizeof value, &value);
    return *this;
  }
  Message& text(int type, std::string_view value);
  // Attributes put by `fill` are nested in one of `type`.
  Message& nest(int type, const std::function<void(Message&)>& fill);
  nl_msg* raw() const { return msg_.get(); }

 private:
  std::unique_ptr<nl_msg, void (*)(nl_msg*)> msg_;
};

}  // namespace lossless::net
