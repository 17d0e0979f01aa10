// SPDX-License-Identifier: Apache-2.0
// `losslessctl show dcbx`; the function that turns a reply into text is here for its test.
#pragma once

#include "cli/commands.h"
#include "dcbx.grpc.pb.h"

namespace lossless::cli {

void add_show_dcbx(CLI::App& show, Action& action);

std::string dcbx_text(const v1::ListDcbxReply& reply, const Style& style);

}  // namespace lossless::cli
