// SPDX-License-Identifier: Apache-2.0
// Reads the counters of queue leaves over netlink, from inside a network namespace.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct nl_sock;
struct nl_msg;

namespace lossless::lab {

// A leaf to watch: the TBF of one TC in the queue tree of bpf/abi.h.
struct QueueId {
  std::string port;  // interface name
  unsigned tc = 0;   // 0-7
};

// Counters of a leaf as the kernel keeps them; drops, bytes and packets since the qdisc was made.
struct QueueSample {
  std::uint64_t backlog_bytes = 0;
  std::uint64_t backlog_packets = 0;
  std::uint64_t dropped_packets = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t sent_packets = 0;
};

// "PORT:TC"; an error says what is wrong with the text.
std::expected<QueueId, std::string> parse_queue_id(const std::string& text);

// Moves this process into the namespace /run/netns/NAME.
std::expected<void, std::string> enter_netns(const std::string& name);

// Asks the kernel for one leaf at a time, so the cost does not grow with the number of ports.
class QueueReader {
 public:
  static std::expected<QueueReader, std::string> open();
  // Nothing when the port or its queue tree is not there now; it is looked up again at the next call.
  std::optional<QueueSample> read(const QueueId& queue);

 private:
  struct SocketFree {
    void operator()(nl_sock* s) const;
  };
  explicit QueueReader(nl_sock* socket) : socket_(socket) {}
  static int on_reply(nl_msg* message, void* self);

  std::unique_ptr<nl_sock, SocketFree> socket_;
};

}  // namespace lossless::lab
