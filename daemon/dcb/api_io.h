// SPDX-License-Identifier: Apache-2.0
// api/dcb.proto on the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <memory>

#include "daemon/dcb/service.h"
#include "daemon/ecmp/hash_io.h"

namespace grpc {
class Service;
}

namespace lossless::dcb {

// All must outlive it.
std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, DcbService& service,
                                        const ecmp::HashPolicy& ecmp, port::PortService& ports);

}  // namespace lossless::dcb
