// SPDX-License-Identifier: Apache-2.0
// `losslessctl show bfd`; the functions that turn replies into text are here for their tests.
#pragma once

#include "bfd.grpc.pb.h"
#include "cli/commands.h"

namespace lossless::cli {

void add_show_bfd(CLI::App& show, Action& action);

std::string bfd_peers_text(const v1::ListBfdPeersReply& reply, const Style& style);
std::string bfd_counters_text(const v1::ListBfdPeersReply& reply, const Style& style);

}  // namespace lossless::cli
