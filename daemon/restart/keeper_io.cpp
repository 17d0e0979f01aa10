// SPDX-License-Identifier: Apache-2.0
#include "daemon/restart/keeper_io.h"

#include <spdlog/spdlog.h>

#include "daemon/restart/fd_store_io.h"
#include "daemon/restart/named_fd.h"

namespace lossless::restart {
namespace {

using std::chrono::steady_clock;

constexpr int kPause = 20;  // times what a write takes: 5 % of the time at most

}  // namespace

void Keeper::start(std::function<Bytes()> encode) {
  if (!FdStore::is_there()) return;
  encode_ = std::move(encode);
  auto file = StateFile::create("lossless-" + std::string(to_string(kind_)));
  if (!file) {
    spdlog::warn("{}; a kill will not be survived", file.error());
    return;
  }
  file_.emplace(std::move(*file));
  save();
  FdStore::drop(state_name(kind_));  // of the process before
  FdStore::keep(state_name(kind_), file_->fd());
}

void Keeper::end(bool changed) {
  if (!file_ || !encode_) return;
  stale_ = stale_ || changed;
  if (!stale_) {
    file_->confirm();
    return;
  }
  if (steady_clock::now() >= not_before_) return save();
  timer_.set(not_before_, [this] { save(); });
}

void Keeper::save() {
  const auto begun = steady_clock::now();
  if (auto ok = file_->write(encode_()); !ok) spdlog::warn("{}", ok.error());
  stale_ = false;
  timer_.cancel();
  const auto ended = steady_clock::now();
  not_before_ = ended + kPause * (ended - begun);
}

Result<int> Keeper::write(const Bytes& image) {
  timer_.cancel();
  encode_ = nullptr;
  if (!file_) {
    auto file = StateFile::create("lossless-" + std::string(to_string(kind_)));
    if (!file) return std::unexpected(file.error());
    file_.emplace(std::move(*file));
    FdStore::keep(state_name(kind_), file_->fd());
  }
  if (auto ok = file_->write(image); !ok) return std::unexpected(ok.error());
  return file_->fd();
}

void Keeper::stop() {
  timer_.cancel();
  encode_ = nullptr;
}

}  // namespace lossless::restart
