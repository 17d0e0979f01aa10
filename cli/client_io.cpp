// SPDX-License-Identifier: Apache-2.0
#include "cli/client_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <grpcpp/create_channel_posix.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/suggest.h"

namespace lossless::cli {
namespace {

std::string error_text(int error) { return std::generic_category().message(error); }

std::string user_name(uid_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : std::to_string(uid);
}

std::string group_name(gid_t gid) {
  std::array<char, 4096> buffer{};
  group entry{};
  group* found = nullptr;
  getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->gr_name : std::to_string(gid);
}

Failure not_running(const Target& target, std::string_view why) {
  std::string message = fmt::format(
      "losslessd is not running for instance '{}' ({} {}); start it with `losslessd --config FILE`",
      target.instance, why, target.socket);
  auto others = instances_with_socket(target.run_dir);
  std::erase(others, target.instance);
  if (!others.empty()) message += "; instances with a socket: " + joined(others);
  return {std::string(kNotRunning), message, kUnreachable};
}

// Names who may use the socket; or the folder above that can't be entered.
Failure permission_denied(const Target& target) {
  std::string path = target.socket;
  struct stat info{};
  while (stat(path.c_str(), &info) != 0 && path.find('/') != std::string::npos && path.size() > 1) {
    path = std::filesystem::path(path).parent_path().string();
  }
  const std::string group = group_name(info.st_gid);
  const std::string advice = group == "root"
                                 ? "run losslessctl as root, or give the socket a group with api.group"
                                 : fmt::format("run losslessctl as root or as a member of group '{}'", group);
  return {"PERMISSION_DENIED",
          fmt::format("permission denied on {} (owner {}, group {}, mode {:04o}); {}", path,
                      user_name(info.st_uid), group, info.st_mode & 07777, advice),
          kUnreachable};
}

Failure connect_failure(const Target& target, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return not_running(target, "no socket");
    case ECONNREFUSED:
      return not_running(target, "nobody listens on");
    case EACCES:
    case EPERM:
      return permission_denied(target);
    case EAGAIN:
      return {"UNAVAILABLE",
              fmt::format("losslessd takes no connection on {} within {} ms (--timeout)", target.socket,
                          target.timeout.count()),
              kUnreachable};
    default:
      return {"UNAVAILABLE", fmt::format("cannot connect to {}: {}", target.socket, error_text(error)),
              kUnreachable};
  }
}

// A connected, non-blocking unix socket, or errno.
std::expected<int, int> open_socket(const Target& target) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  target.socket.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::unexpected(errno);
  // connect() to a unix socket waits only while the daemon's backlog is full; not longer than the time limit.
  timeval limit{};
  limit.tv_sec = target.timeout.count() / 1000;
  limit.tv_usec = target.timeout.count() % 1000 * 1000;
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
    const int error = errno;
    close(fd);
    return std::unexpected(error);
  }
  return fd;
}

}  // namespace

std::vector<std::string> instances_with_socket(const std::string& run_dir) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at(run_dir, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (std::filesystem::is_socket(at->path() / "api.sock", ignored))
      out.push_back(at->path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string_view code_name(grpc::StatusCode code) {
  static constexpr std::array<std::string_view, 17> kNames{
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

std::expected<Client, Failure> Client::connect(const Target& target) {
  if (target.socket.size() >= sizeof(sockaddr_un::sun_path)) {
    return usage_failure(fmt::format("socket path '{}' has {} bytes; at most {} are allowed", target.socket,
                                     target.socket.size(), sizeof(sockaddr_un::sun_path) - 1));
  }
  const auto fd = open_socket(target);
  if (!fd) return std::unexpected(connect_failure(target, fd.error()));
  // The channel gets the connected socket: no name resolution and no retry hide the reason of a failure.
  return Client(target, grpc::CreateInsecureChannelFromFd("losslessd", *fd));
}

Failure Client::failure_of(const grpc::Status& status) const {
  const std::string code(code_name(status.error_code()));
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return {code,
              fmt::format("losslessd did not answer on {} within {} ms (--timeout)", target_.socket,
                          target_.timeout.count()),
              kUnreachable};
    case grpc::StatusCode::UNAVAILABLE:
      return {
          code,
          fmt::format("losslessd closed the connection on {}: {}", target_.socket, status.error_message()),
          kUnreachable};
    case grpc::StatusCode::UNIMPLEMENTED:
      return {code,
              "losslessd does not know this request; is it older than losslessctl? see `losslessctl show "
              "version`",
              kFailed};
    default:
      return {code, status.error_message(), kFailed};
  }
}

}  // namespace lossless::cli
