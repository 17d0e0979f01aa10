// SPDX-License-Identifier: Apache-2.0
// api/lldp.proto on the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <memory>

#include "daemon/lldp/service.h"

namespace grpc {
class Service;
}

namespace lossless::lldp {

// `service` and `ports` must outlive it; `ports` says which names a request may ask for.
std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, LldpService& service,
                                        const port::PortService& ports);

}  // namespace lossless::lldp
