// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/escape_io.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "daemon/core/file_io.h"

namespace lossless::pfc {
namespace {

constexpr std::size_t kMaxBytes = 1U << 20U;

}  // namespace

Escape load_escape(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return {};
  const auto text = read_file(path, kMaxBytes);
  const auto escape = text ? parse_escape(*text) : std::unexpected(text.error());
  if (escape) return *escape;
  spdlog::error("{}: {}; PFC stays off on all ports until `losslessctl pfc escape off`", path,
                escape.error());
  Escape on;
  on.turn_on({}, static_cast<std::uint64_t>(std::time(nullptr)));
  return on;
}

Status save_escape(const std::string& path, const Escape& escape) {
  if (!escape.on()) {
    if (unlink(path.c_str()) && errno != ENOENT) return fail_errno("cannot remove " + path, errno);
    return {};
  }
  if (const auto done = replace_file(path, escape.to_text()); !done) return fail(path + ": " + done.error());
  return {};
}

}  // namespace lossless::pfc
