// SPDX-License-Identifier: Apache-2.0
// What the API shows of a port. Pure: counters come in as values.
#pragma once

#include <lossless.pb.h>

#include "bpf/abi.h"
#include "daemon/net/qdisc_io.h"
#include "daemon/port/service.h"

namespace lossless::api {

v1::Port view_port(const port::Port& port, const ll_port_stats& stats, const std::string& driver);
// Packets that found the queue full. The kernel adds those it threw away when the watchdog emptied the queue
// (`emptied`).
std::uint64_t tail_drops(const net::QdiscInfo* leaf, std::uint64_t emptied);
v1::Queue view_queue(const port::Port& port, unsigned tc, const net::QdiscInfo* leaf, std::uint64_t emptied,
                     const ll_class_stats& rx);
v1::Ecn view_ecn(const port::Port& port, unsigned tc, const ll_ecn_stats& stats);
v1::PriorityMap view_priority_map(const port::Port& port);

}  // namespace lossless::api
