// SPDX-License-Identifier: Apache-2.0
// api/roce.proto: the flow table is walked on gRPC's threads, all else is on the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <memory>

#include "daemon/port/service.h"
#include "daemon/roce/service.h"

namespace grpc {
class Service;
}

namespace lossless::roce {

// `service` and `ports` must outlive it.
std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, const RoceService& service,
                                        const port::PortService& ports);

}  // namespace lossless::roce
