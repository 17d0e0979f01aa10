// SPDX-License-Identifier: Apache-2.0
// What the API tells of a port's IPCC.
#pragma once

#include <roce.pb.h>

#include "daemon/port/service.h"
#include "loader/datapath_io.h"

namespace lossless::roce {

// Adds the queues of the port that have IPCC.
void list_ipcc(const port::Port& port, const Maps& maps, v1::ListIpccReply& reply);

}  // namespace lossless::roce
