// SPDX-License-Identifier: Apache-2.0
// api/inof.proto on the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <memory>

#include "daemon/inof/switch_service.h"

namespace grpc {
class Service;
}

namespace lossless::inof {

// Both must outlive it.
std::shared_ptr<grpc::Service> make_switch_api(asio::io_context& loop, SwitchService& service,
                                               const port::PortService& ports);

}  // namespace lossless::inof
