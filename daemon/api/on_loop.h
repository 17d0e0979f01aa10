// SPDX-License-Identifier: Apache-2.0
// gRPC calls arrive on gRPC's threads; the event loop owns all state. This hands a call over and the answer
// back.
#pragma once

#include <grpcpp/grpcpp.h>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

namespace lossless::api {

// Calls `answer` on the loop's thread, which fills the reply and returns the call's grpc::Status.
template <class Answer>
grpc::ServerUnaryReactor* answer_on_loop(grpc::CallbackServerContext* call, asio::io_context& loop,
                                         Answer answer) {
  auto* reactor = call->DefaultReactor();
  asio::post(loop, [reactor, answer = std::move(answer)] { reactor->Finish(answer()); });
  return reactor;
}

}  // namespace lossless::api
