// SPDX-License-Identifier: Apache-2.0
// What every command gets: the global options, where to print, and the way to losslessd.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <string>

#include "cli/client_io.h"
#include "cli/environment.h"
#include "cli/outcome.h"
#include "cli/table.h"

namespace lossless::cli {

struct GlobalOptions {
  std::string instance;
  std::string socket;
  bool json = false;
  std::string color = "auto";
  double timeout_s = 5;
};

// The reply as protobuf's JSON: field names as in the .proto, default values included; 64-bit numbers are
// strings, as that mapping says. One line when `compact`.
std::string to_json(const google::protobuf::Message& message, bool compact = false);

class Context {
 public:
  Context(Environment& env, GlobalOptions options);

  const GlobalOptions& options() const { return options_; }
  Environment& env() { return env_; }
  const Style& style() const { return style_; }
  const Target& target() const { return target_; }

  template <class Service = v1::Lossless, class Request, class Reply>
  std::expected<Reply, Failure> call(grpc::Status (Service::StubInterface::*method)(grpc::ClientContext*,
                                                                                    const Request&, Reply*),
                                     const Request& request) {
    auto client = Client::connect(target_);
    if (!client) return std::unexpected(client.error());
    return client->template call<Service>(method, request);
  }

  // Calls, then prints: the reply itself with --json, else what `show` makes of it.
  template <class Service = v1::Lossless, class Request, class Reply, class Show>
  Outcome call_and_print(grpc::Status (Service::StubInterface::*method)(grpc::ClientContext*, const Request&,
                                                                        Reply*),
                         const Request& request, const Show& show) {
    const auto reply = call<Service>(method, request);
    if (!reply) return std::unexpected(reply.error());
    print(*reply, show);
    return kOk;
  }

  // Calls `each` for every reply of a stream.
  template <class Service, class Request, class Reply, class Each>
  std::expected<void, Failure> stream(std::unique_ptr<grpc::ClientReaderInterface<Reply>> (
                                          Service::StubInterface::*method)(grpc::ClientContext*,
                                                                           const Request&),
                                      const Request& request, const Each& each) {
    auto client = Client::connect(target_);
    if (!client) return std::unexpected(client.error());
    return client->template stream<Service>(method, request, each);
  }

  template <class Reply, class Show>
  void print(const Reply& reply, const Show& show) {
    env_.out << (options_.json ? to_json(reply) : show(reply, style_));
  }

  // A remark beside the result: never mixed into what a program reads.
  void note(std::string_view text) { env_.err << text << '\n'; }

 private:
  Environment& env_;
  GlobalOptions options_;
  Style style_;
  Target target_;
};

// Chosen by the command line, run once it is complete.
using Action = std::function<Outcome(Context&)>;

}  // namespace lossless::cli
