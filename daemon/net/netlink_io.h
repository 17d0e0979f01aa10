// SPDX-License-Identifier: Apache-2.0
// One rtnetlink socket with typed messages on top of libnl's message functions. Bound to the network
// namespace it was opened in.
#pragma once

#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <functional>
#include <memory>
#include <string_view>

#include "loader/result.h"

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

class Netlink {
 public:
  static Result<Netlink> open(int protocol = NETLINK_ROUTE);
  // Sends and waits for the acknowledgement. The error text carries the kernel's own words where it has any.
  Status request(const Message& message, const std::string& what);
  // The same; the kernel's errno instead of a text (0: done). `ignored` errors are for callers that probe.
  int request_errno(const Message& message);
  // Calls `each` for every object of a dump.
  Status dump(const Message& message, const std::string& what, const std::function<void(nlmsghdr*)>& each);
  // Multicast groups for monitoring (RTNLGRP_*); the socket then is for reading events only.
  Status subscribe(std::initializer_list<int> groups);
  // Leaves out events about gates, in the kernel: they open and close many times a second.
  Status ignore_gate_events();
  // Reads what is there without blocking. false: events were lost (buffer overrun), look at everything anew.
  bool read_events(const std::function<void(nlmsghdr*)>& each);
  int fd() const { return nl_socket_get_fd(socket_.get()); }

 private:
  Netlink();
  int transact(const Message& message);
  std::unique_ptr<nl_sock, void (*)(nl_sock*)> socket_;
  std::unique_ptr<std::string> kernel_words_;  // extended ACK of the last request
};

}  // namespace lossless::net
