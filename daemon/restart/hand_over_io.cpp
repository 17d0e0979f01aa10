// SPDX-License-Identifier: Apache-2.0
#include "daemon/restart/hand_over_io.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "loader/run_dir_io.h"

namespace lossless::restart {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The other side ends its API for up to 2 s, and then everything else.
constexpr auto kPatience = std::chrono::seconds(15);
constexpr std::string_view kEnd = "end";
constexpr std::string_view kTaken = "taken";
constexpr std::size_t kLongest = 256;  // a name

sockaddr_un address_of(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  path.copy(out.sun_path, sizeof out.sun_path - 1);
  return out;
}

bool is_ours(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == 0 || peer.uid == geteuid());
}

// Readable, or closed, before `limit`.
bool wait_readable(int fd, steady_clock::time_point limit) {
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(limit - steady_clock::now());
    if (left.count() < 0) return false;
    pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = poll(&wanted, 1, static_cast<int>(left.count()) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// One message: a name, and the descriptor it is of.
bool send_named(int to, std::string_view name, int fd) {
  iovec data{.iov_base = const_cast<char*>(name.data()), .iov_len = name.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return sendmsg(to, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(name.size());
}

// An empty name: the other side is gone.
NamedFd receive_named(int from) {
  NamedFd out;
  std::array<char, kLongest> name{};
  iovec data{.iov_base = name.data(), .iov_len = name.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
  if (got <= 0) return out;
  out.name.assign(name.data(), static_cast<std::size_t>(got));
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    out.fd = Fd(fd);
  }
  return out;
}

}  // namespace

HandOverServer::HandOverServer(asio::io_context& loop, Fd fd, std::string path, std::function<void()> asked)
    : listener_(loop, fd.release()), path_(std::move(path)), asked_(std::move(asked)) {
  accept();
}

HandOverServer::~HandOverServer() { close(); }

Result<std::unique_ptr<HandOverServer>> HandOverServer::listen(asio::io_context& loop,
                                                               const std::string& instance,
                                                               std::function<void()> asked) {
  const std::string path = hand_over_socket(instance);
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un at = address_of(path);
  unlink(path.c_str());  // of a daemon that was killed: we have the instance's lock
  // The mode of the socket is that of the name.
  if (!fd || fchmod(fd.get(), 0600) || bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) ||
      ::listen(fd.get(), 1))
    return fail_errno("cannot listen on " + path, errno);
  return std::unique_ptr<HandOverServer>(new HandOverServer(loop, std::move(fd), path, std::move(asked)));
}

void HandOverServer::close() {
  if (!listener_.is_open()) return;
  asio::error_code ignored;
  (void)listener_.close(ignored);
  unlink(path_.c_str());
}

void HandOverServer::accept() {
  listener_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
    if (error || taker_) return;
    Fd taker(accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!taker || !is_ours(taker.get())) return accept();
    taker_ = std::move(taker);
    asked_();
  });
}

Status HandOverServer::give(const std::vector<Lent>& fds) const {
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  (void)setsockopt(taker_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  for (const Lent& lent : fds)
    if (!send_named(taker_.get(), lent.name, lent.fd))
      return fail_errno("cannot hand over " + lent.name, errno);
  if (!send_named(taker_.get(), kEnd, -1)) return fail_errno("cannot hand over", errno);
  if (!wait_readable(taker_.get(), steady_clock::now() + std::chrono::seconds(limit.tv_sec)) ||
      receive_named(taker_.get()).name != kTaken)
    return fail("the process that asked to take over has gone");
  return {};
}

Result<NamedFds> take_over(const std::string& instance) {
  const std::string path = hand_over_socket(instance);
  const Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const sockaddr_un at = address_of(path);
  if (!fd) return fail_errno("cannot take over", errno);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at)) {
    if (errno == ENOENT || errno == ECONNREFUSED) return NamedFds{};
    return fail_errno("cannot take over by " + path, errno);
  }
  NamedFds out;
  const auto limit = steady_clock::now() + kPatience;
  for (;;) {
    if (!wait_readable(fd.get(), limit)) return fail("the running daemon hands nothing over (" + path + ")");
    NamedFd next = receive_named(fd.get());
    if (next.name == kEnd) break;
    if (next.name.empty()) return fail("the running daemon ended before it had handed all over");
    if (next.fd) out.push_back(std::move(next));
  }
  if (!send_named(fd.get(), kTaken, -1)) return fail_errno("cannot take over", errno);
  while (wait_readable(fd.get(), limit))
    if (receive_named(fd.get()).name.empty()) return out;
  return fail("the running daemon handed over but does not end (" + path + ")");
}

}  // namespace lossless::restart
