// SPDX-License-Identifier: Apache-2.0
// The hand-over socket, /run/lossless/<instance>/hand-over.sock: `losslessd --take-over` asks the daemon that
// runs the instance for its descriptors and waits for its end.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/restart/named_fd.h"
#include "loader/result.h"

namespace lossless::restart {

// The side of the daemon that goes. The one that comes takes the closing of the connection for its end, so
// this must be the last thing of it that goes.
class HandOverServer {
 public:
  // `asked`: somebody wants to take over; end the loop and call give().
  static Result<std::unique_ptr<HandOverServer>> listen(asio::io_context& loop, const std::string& instance,
                                                        std::function<void()> asked);
  ~HandOverServer();
  HandOverServer(const HandOverServer&) = delete;
  HandOverServer& operator=(const HandOverServer&) = delete;

  bool is_asked() const { return static_cast<bool>(taker_); }
  // Nobody can ask any more.
  void close();
  // Sends them and waits until the other side says that it has them. What is wrong, if it is not so.
  Status give(const std::vector<Lent>& fds) const;

 private:
  HandOverServer(asio::io_context& loop, Fd fd, std::string path, std::function<void()> asked);
  void accept();

  asio::posix::stream_descriptor listener_;
  std::string path_;
  std::function<void()> asked_;
  Fd taker_;
};

// The side of the daemon that comes: all that the one that runs has to give; it has ended when this returns.
// Nothing when none runs.
Result<NamedFds> take_over(const std::string& instance);

}  // namespace lossless::restart
