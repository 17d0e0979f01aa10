// SPDX-License-Identifier: Apache-2.0
// api/bgp.proto on the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <memory>

#include "daemon/bgp/service.h"

namespace grpc {
class Service;
}

namespace lossless::bgp {

// `service` must outlive it.
std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, BgpService& service);

}  // namespace lossless::bgp
