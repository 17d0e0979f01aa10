// SPDX-License-Identifier: Apache-2.0
// gRPC on a unix socket. Calls arrive on gRPC's threads and are handed to the event loop, which owns all
// state; replies go back from there.
#pragma once

#include <asio/io_context.hpp>
#include <memory>
#include <vector>

#include "daemon/api/requests.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace lossless::api {

class Server {
 public:
  // Services of subjects with a .proto of their own, beside the one of lossless.proto.
  using Services = std::vector<std::shared_ptr<grpc::Service>>;

  // Listens on the socket of `config`, with its owner and mode. The error names the socket and the reason.
  static Result<Server> listen(const ApiConfig& config, asio::io_context& loop, Context& context,
                               Services more);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();
  // Lets calls under way end, for at most two seconds. Must not be called from the event loop's thread
  // while that still has calls to answer.
  void shutdown();

 private:
  struct Service;
  Server(std::unique_ptr<Service> service, Services more, std::unique_ptr<grpc::Server> server,
         std::string socket);
  std::unique_ptr<Service> service_;
  Services more_;
  std::unique_ptr<grpc::Server> server_;
  std::string socket_;
};

}  // namespace lossless::api
