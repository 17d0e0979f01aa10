// SPDX-License-Identifier: Apache-2.0
// gRPC on a unix socket. Calls arrive on gRPC's threads and are handed to the event loop, which owns all
// state; replies go back from there.
#pragma once

#include <asio/io_context.hpp>
#include <memory>

#include "daemon/api/requests.h"

namespace grpc {
class Server;
}

namespace lossless::api {

class Server {
 public:
  // Listens on the socket of `config`, with its owner and mode. The error names the socket and the reason.
  static Result<Server> listen(const ApiConfig& config, asio::io_context& loop, Context& context);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();
  // Lets calls under way end, for at most two seconds. Must not be called from the event loop's thread
  // while that still has calls to answer.
  void shutdown();

 private:
  struct Service;
  Server(std::unique_ptr<Service> service, std::unique_ptr<grpc::Server> server, std::string socket);
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string socket_;
};

}  // namespace lossless::api
