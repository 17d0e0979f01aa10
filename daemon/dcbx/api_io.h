// SPDX-License-Identifier: Apache-2.0
// api/dcbx.proto on the event loop.
#pragma once

#include <asio/io_context.hpp>
#include <memory>

#include "daemon/dcbx/service.h"

namespace grpc {
class Service;
}

namespace lossless::dcbx {

// `service` and `ports` must outlive it; `ports` says which names a request may ask for.
std::shared_ptr<grpc::Service> make_api(asio::io_context& loop, const DcbxService& service,
                                        const port::PortService& ports);

}  // namespace lossless::dcbx
