// SPDX-License-Identifier: Apache-2.0
// The connection to losslessd: one unix socket, one call at a time.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <expected>
#include <memory>
#include <string>

#include "cli/outcome.h"
#include "lossless.grpc.pb.h"

namespace lossless::cli {

struct Target {
  std::string instance;
  std::string socket;   // path of the unix socket
  std::string run_dir;  // where instances have their folders, to name the others in an error
  std::chrono::milliseconds timeout{5000};
};

// Code of a Failure that says there is no daemon behind the socket (as opposed to: no access, no answer).
inline constexpr std::string_view kNotRunning = "NOT_RUNNING";

// Names of the instances that have a socket, sorted.
std::vector<std::string> instances_with_socket(const std::string& run_dir);

std::string_view code_name(grpc::StatusCode code);

// What an answer in many pieces may take beside the time limit.
inline constexpr std::chrono::seconds kStreamTime{60};

class Client {
 public:
  // Fails with a message that says why nobody listens there and what to do about it.
  static std::expected<Client, Failure> connect(const Target& target);

  // One request of a service and its reply. Errors of losslessd keep their code and their words.
  template <class Service = v1::Lossless, class Request, class Reply>
  std::expected<Reply, Failure> call(grpc::Status (Service::StubInterface::*method)(grpc::ClientContext*,
                                                                                    const Request&, Reply*),
                                     const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + target_.timeout);
    Reply reply;
    const auto stub = Service::NewStub(channel_);
    const grpc::Status status = (*stub.*method)(&context, request, &reply);
    if (!status.ok()) return std::unexpected(failure_of(status));
    return reply;
  }

  // A request and the replies that come to it, one after the other: a long answer gets more time.
  template <class Service, class Request, class Reply, class Each>
  std::expected<void, Failure> stream(std::unique_ptr<grpc::ClientReaderInterface<Reply>> (
                                          Service::StubInterface::*method)(grpc::ClientContext*,
                                                                           const Request&),
                                      const Request& request, const Each& each) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + target_.timeout + kStreamTime);
    const auto stub = Service::NewStub(channel_);
    const auto reader = (*stub.*method)(&context, request);
    for (Reply reply; reader->Read(&reply);) each(reply);
    const grpc::Status status = reader->Finish();
    if (!status.ok()) return std::unexpected(failure_of(status));
    return {};
  }

 private:
  Client(Target target, std::shared_ptr<grpc::Channel> channel)
      : target_(std::move(target)), channel_(std::move(channel)) {}
  Failure failure_of(const grpc::Status& status) const;

  Target target_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace lossless::cli
