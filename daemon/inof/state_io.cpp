// SPDX-License-Identifier: Apache-2.0
#include "daemon/inof/state_io.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "loader/fd.h"

namespace lossless::inof {
namespace {

Status write_all(int fd, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot write " + path, errno);
    done += static_cast<std::size_t>(n);
  }
  if (::fsync(fd)) return fail_errno("cannot write " + path, errno);
  return {};
}

}  // namespace

std::string state_file(const std::string& instance) {
  const char* folder = std::getenv("STATE_DIRECTORY");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return std::string(folder && *folder ? folder : "/var/lib/lossless") + "/" + instance + "/inof.toml";
}

Status write_state(const std::string& path, const InofConfig& config) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail("cannot create " + folder.string() + ": " + error.message());
  const std::string next = path + "~";
  {
    const Fd fd(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd) return fail_errno("cannot create " + next, errno);
    if (auto written = write_all(fd.get(), to_toml(config), next); !written) return written;
  }
  if (std::rename(next.c_str(), path.c_str())) return fail_errno("cannot rename " + next, errno);
  // The new name must be on the disk as well.
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get())) return fail_errno("cannot write " + folder.string(), errno);
  return {};
}

Result<std::optional<InofConfig>> read_state(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return fail("cannot read " + path);
  auto config = parse_inof(text, path);
  if (!config) return fail(config.error().front().text());
  return std::optional(std::move(*config));
}

void remove_state(const std::string& path) {
  ::unlink(path.c_str());
  ::rmdir(std::filesystem::path(path).parent_path().c_str());
}

}  // namespace lossless::inof
