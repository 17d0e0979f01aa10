// SPDX-License-Identifier: Apache-2.0
// iNOF status frames of both dialects on ports. Build what is sent with encode_frame(), read what comes with
// decode_frame().
#pragma once

#include "daemon/inof/packet.h"
#include "daemon/net/port_frames_io.h"

namespace lossless::inof {

class FrameIo : public net::PortFrames {
 public:
  FrameIo(asio::io_context& loop, Receiver receiver)
      : PortFrames(loop, {facts(Dialect::Odcc).ethertype, facts(Dialect::ChinaMobile).ethertype},
                   {kStatusGroup}, std::move(receiver)) {}
};

}  // namespace lossless::inof
