// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

namespace lossless {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string_view kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

std::expected<std::string, std::string> read_file(const std::string& path, std::size_t max_bytes) {
  if (path.find('\0') != std::string::npos)
    return std::unexpected("cannot read: the path has a NUL byte in it");
  // A pipe without a writer must not hold the daemon up, hence O_NONBLOCK.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return std::unexpected("cannot read: " + reason(errno));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return std::unexpected("cannot read: " + reason(errno));
  if (!S_ISREG(status.st_mode)) {
    return std::unexpected("is " + std::string(kind_of_file(status.st_mode)) + "; must be a regular file");
  }
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::unexpected("cannot read: " + reason(errno));
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > max_bytes)
      return std::unexpected("is too large; allowed: up to " + std::to_string(max_bytes >> 20U) + " MiB");
  }
}

std::expected<void, std::string> replace_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const auto failed = [&](int error) -> std::expected<void, std::string> {
    ::unlink(fresh.c_str());
    return std::unexpected("cannot write: " + reason(error));
  };
  const Descriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) return failed(errno);
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t n = ::write(file.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno);
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(file.get()) || std::rename(fresh.c_str(), path.c_str())) return failed(errno);
  return {};
}

}  // namespace lossless
