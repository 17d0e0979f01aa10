// SPDX-License-Identifier: Apache-2.0
// What the API shows of a port. Pure: counters come in as values.
#pragma once

#include <lossless.pb.h>

#include "bpf/abi.h"
#include "daemon/net/qdisc_io.h"
#include "daemon/port/service.h"

namespace lossless::api {

v1::Port view_port(const port::Port& port, const ll_port_stats& stats, const std::string& driver);
v1::Queue view_queue(const port::Port& port, unsigned tc, const net::QdiscInfo* leaf,
                     const ll_class_stats& rx);
v1::Ecn view_ecn(const port::Port& port, unsigned tc, const ll_ecn_stats& stats);
v1::PriorityMap view_priority_map(const port::Port& port);

}  // namespace lossless::api
