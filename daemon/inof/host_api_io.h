// SPDX-License-Identifier: Apache-2.0
// api/inof_host.proto on the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <memory>

#include "daemon/inof/host_service.h"

namespace grpc {
class Service;
}

namespace lossless::inof {

// `service` must outlive it.
std::shared_ptr<grpc::Service> make_host_api(asio::io_context& loop, const HostService& service);

}  // namespace lossless::inof
