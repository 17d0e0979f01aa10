// SPDX-License-Identifier: Apache-2.0
// api/ecn_overlay.proto on the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <memory>

#include "daemon/ecn_overlay/service.h"

namespace grpc {
class Service;
}

namespace lossless::ecn_overlay {

// `service` and `ports` must outlive it.
std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, EcnOverlayService& service,
                                        const port::PortService& ports);

}  // namespace lossless::ecn_overlay
