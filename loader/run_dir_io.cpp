// SPDX-License-Identifier: Apache-2.0
#include "loader/run_dir_io.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>

namespace lossless {
namespace {

constexpr const char* kRunRoot = "/run/lossless";

std::string holder(int fd) {
  std::array<char, 32> text{};
  const ssize_t got = pread(fd, text.data(), text.size() - 1, 0);
  if (got <= 0) return "another process";
  std::string pid(text.data(), static_cast<std::size_t>(got));
  while (pid.ends_with('\n')) pid.pop_back();
  return "process " + pid;
}

std::unexpected<std::string> already_run(const std::string& instance, int fd, const std::string& path) {
  return fail("instance '" + instance + "' is already run by " + holder(fd) + " (" + path + ")");
}

// A lock on a file that was removed meanwhile keeps nobody out.
bool is_in_place(int fd, const std::string& path) {
  struct stat locked{};
  struct stat named{};
  return fstat(fd, &locked) == 0 && stat(path.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
         locked.st_dev == named.st_dev;
}

// flock() that gives whoever is about to let go a little time. Like flock: 0, or -1 and errno.
int lock_soon(int fd) {
  constexpr int kTries = 100;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 5'000'000};
  for (int i = 1;; ++i) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno != EWOULDBLOCK || i == kTries) return -1;
    nanosleep(&kPause, nullptr);
  }
}

}  // namespace

std::string run_dir(const std::string& instance) { return std::string(kRunRoot) + "/" + instance; }

std::string hand_over_socket(const std::string& instance) { return run_dir(instance) + "/hand-over.sock"; }

Result<InstanceLock> InstanceLock::take(const std::string& instance) {
  const std::string path = run_dir(instance) + "/lock";
  for (;;) {
    for (const std::string& dir : {std::string(kRunRoot), run_dir(instance)})
      if (mkdir(dir.c_str(), 0755) && errno != EEXIST) return fail_errno("cannot create " + dir, errno);
    Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!fd && errno == ENOENT) continue;  // removed in between
    if (!fd) return fail_errno("cannot open " + path, errno);
    if (lock_soon(fd.get())) {
      if (errno != EWOULDBLOCK) return fail_errno("cannot lock " + path, errno);
      return already_run(instance, fd.get(), path);
    }
    if (!is_in_place(fd.get(), path)) continue;
    // For the message of whoever comes second; that it cannot be written (full disk) takes nothing away.
    const std::string pid = std::to_string(getpid()) + "\n";
    if (ftruncate(fd.get(), 0) == 0) (void)!pwrite(fd.get(), pid.data(), pid.size(), 0);
    return InstanceLock(std::move(fd), instance);
  }
}

std::optional<InstanceLock> InstanceLock::take_abandoned(const std::string& instance) {
  const std::string path = run_dir(instance) + "/lock";
  Fd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd || lock_soon(fd.get()) || !is_in_place(fd.get(), path)) return std::nullopt;
  return InstanceLock(std::move(fd), instance);
}

void InstanceLock::remove() {
  const std::string dir = run_dir(instance_);
  unlink((dir + "/escape").c_str());            // the next datapath of this name begins as it is configured
  unlink(hand_over_socket(instance_).c_str());  // of a daemon that was killed
  unlink((dir + "/lock").c_str());
  rmdir(dir.c_str());
  rmdir(kRunRoot);  // stays while other instances are there
}

}  // namespace lossless
