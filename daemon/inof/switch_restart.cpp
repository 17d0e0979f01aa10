// SPDX-License-Identifier: Apache-2.0
// The iNOF switch over a restart of the daemon (docs/restart.md): what is left to the next process, and what
// was found.
#include <spdlog/spdlog.h>

#include <utility>

#include "daemon/inof/switch_service.h"
#include "daemon/restart/fd_store_io.h"

namespace lossless::inof {
namespace {

struct Found {
  SavedSwitch state;
  bool current = false;
};

Result<Found> read(int fd) {
  const auto file = restart::read_state_file(fd);
  if (!file) return fail(file.error());
  const auto body = restart::unwrap(file->image, restart::Kind::Inof, kSavedVersion);
  if (!body) return fail(body.error());
  auto state = decode_saved(*body);
  if (!state) return fail(state.error());
  if (const auto config = parse_inof(state->running, "saved state"); !config)
    return fail("its configuration is of another version: " + config.error().front().text());
  return Found{std::move(*state), file->current};
}

}  // namespace

void SwitchService::read_inherited(const InofConfig& config, restart::NamedFds& inherited) {
  for (restart::NamedFd& named : inherited) {
    if (named.name != restart::state_name(restart::Kind::Inof)) continue;
    const Fd fd = std::move(named.fd);
    restart::FdStore::drop(named.name);  // what was read once must not be found again by a later process
    auto found = read(fd.get());
    if (!found) {
      spdlog::warn("iNOF: the state of the process before is not used: {}; hosts must be heard again",
                   found.error());
    } else if (config.on) {
      inherited_ = Inherited{std::move(found->state), found->current};
    }
  }
}

bool SwitchService::restore() {
  if (!inherited_) return false;
  const Inherited inherited = std::move(*std::exchange(inherited_, std::nullopt));
  if (!inherited.current)
    spdlog::warn("iNOF: hosts changed after their state was kept last; they are told of everything anew");
  switch_.restore(inherited.state, inherited.current, now());
  carry_out();
  spdlog::info("iNOF: {} hosts of the process before, {} notifications under way",
               inherited.state.hosts.size(), switch_.notifier().under_way());
  // A file that is another one holds; zones changed at run time outlast a restart without that.
  if (to_toml(file_) != inherited.state.file) configure(kept_or(file_));
  return true;
}

Bytes SwitchService::image() const {
  SavedSwitch saved = switch_.save();
  saved.file = to_toml(file_);
  return restart::wrap(restart::Kind::Inof, kSavedVersion, encode_saved(saved));
}

void SwitchService::keep() {
  if (switch_.config().on) keeper_.start([this] { return image(); });
}

std::vector<restart::Lent> SwitchService::hand_over() {
  if (!switch_.config().on) return {};
  carry_out();
  const auto file = keeper_.write(image());
  if (!file) {
    spdlog::error("iNOF: {}; hosts must be heard again", file.error());
    return {};
  }
  return {{restart::state_name(restart::Kind::Inof), *file}};
}

}  // namespace lossless::inof
