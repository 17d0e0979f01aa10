// SPDX-License-Identifier: Apache-2.0
// The saved state of one subject in memory of the kernel (memfd), which outlives the process as long as
// somebody holds it: the fd store of systemd, or the next daemon. It says whether it is what the daemon has,
// so that it is of use after a kill too. A new state goes beside the old one, so that one is always whole.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/core/wire.h"
#include "loader/fd.h"
#include "loader/result.h"

namespace lossless::restart {

class StateFile {
 public:
  // `name` is what /proc/PID/fd shows.
  static Result<StateFile> create(const std::string& name);
  StateFile(StateFile&& other) noexcept;
  StateFile& operator=(StateFile&&) = delete;
  ~StateFile();

  int fd() const { return fd_.get(); }
  // From now on until the next write() the daemon has something else. One store to memory.
  void outdate();
  // What was written is what there is after all.
  void confirm();
  Status write(ByteView image);

 private:
  struct Head;
  explicit StateFile(Fd fd, Head* head) : fd_(std::move(fd)), head_(head) {}
  Fd fd_;
  Head* head_ = nullptr;
};

struct Found {
  Bytes image;
  bool current = false;  // the daemon that wrote it had nothing else when it ended
};
// What another process has left.
Result<Found> read_state_file(int fd);

}  // namespace lossless::restart
