// SPDX-License-Identifier: Apache-2.0
// api/bfd.proto on the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <memory>

#include "daemon/bfd/service.h"

namespace grpc {
class Service;
}

namespace lossless::bfd {

// `service` must outlive it.
std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, const BfdService& service);

}  // namespace lossless::bfd
