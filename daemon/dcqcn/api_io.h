// SPDX-License-Identifier: Apache-2.0
// api/dcqcn.proto on the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <memory>

#include "daemon/dcqcn/service.h"

namespace grpc {
class Service;
}

namespace lossless::dcqcn {

// `service` must outlive it.
std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, DcqcnService& service);

}  // namespace lossless::dcqcn
