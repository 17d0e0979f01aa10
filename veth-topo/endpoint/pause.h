// SPDX-License-Identifier: Apache-2.0
// What priority flow control makes of a host: which priorities may not send, and until when. As a NIC does
// it: the frame counts at the speed of the host's own link. Pure.
#pragma once

#include <algorithm>
#include <array>

#include "bpf/stages/pfc.h"
#include "veth-topo/endpoint/types.h"

namespace lossless::endpoint {

class PauseState {
 public:
  static constexpr unsigned kPriorities = LL_TCS;

  // Takes a PFC or PAUSE frame (kind LL_PFC_OK or LL_PFC_PAUSE).
  void on_frame(const ll_pause_frame& frame, std::uint64_t link_bps, Nanos now) {
    for (unsigned p = 0; p < kPriorities; p++) {
      if ((frame.classes >> p & 1) == 0) continue;
      settle(p, now);
      until_[p] = frame.time[p] == 0 ? 0 : now + ll_pfc_time_ns(frame.time[p], link_bps);
      if (until_[p] != 0) since_[p] = now;
    }
  }
  bool paused(unsigned priority, Nanos now) const { return until_[priority] > now; }
  Nanos until(unsigned priority) const { return until_[priority]; }
  // Time in pause so far, over all priorities.
  Nanos total(Nanos now) const {
    Nanos sum = total_;
    for (unsigned p = 0; p < kPriorities; p++) sum += open_span(p, now);
    return sum;
  }

 private:
  Nanos open_span(unsigned p, Nanos now) const {
    const Nanos end = std::min(now, until_[p]);
    return end > since_[p] ? end - since_[p] : 0;
  }
  void settle(unsigned p, Nanos now) {
    total_ += open_span(p, now);
    since_[p] = now;
  }

  std::array<Nanos, kPriorities> until_{};
  std::array<Nanos, kPriorities> since_{};
  Nanos total_ = 0;
};

}  // namespace lossless::endpoint
