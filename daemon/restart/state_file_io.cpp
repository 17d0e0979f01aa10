// SPDX-License-Identifier: Apache-2.0
#include "daemon/restart/state_file_io.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <utility>

namespace lossless::restart {

// The first page. Processes die between any two stores, but stores are seen in their order.
struct StateFile::Head {
  std::atomic<std::uint32_t> current;
  std::atomic<std::uint64_t> place;  // offset in pages, size: 32 bits each, so that they change together
};

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kMaxSize = UINT32_MAX;
constexpr unsigned kHalf = 32;

std::uint64_t pages_of(std::uint64_t size) { return (size + kPage - 1) / kPage; }

}  // namespace

Result<StateFile> StateFile::create(const std::string& name) {
  Fd fd(memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), kPage)) return fail_errno("cannot keep state in memory", errno);
  void* head = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (head == MAP_FAILED) return fail_errno("cannot keep state in memory", errno);
  return StateFile(std::move(fd), ::new (head) Head{});
}

StateFile::StateFile(StateFile&& other) noexcept
    : fd_(std::move(other.fd_)), head_(std::exchange(other.head_, nullptr)) {}

StateFile::~StateFile() {
  if (head_) munmap(head_, kPage);
}

void StateFile::outdate() { head_->current.store(0, std::memory_order_release); }

void StateFile::confirm() {
  if (head_->place.load(std::memory_order_relaxed) != 0) head_->current.store(1, std::memory_order_release);
}

Status StateFile::write(ByteView image) {
  outdate();
  if (image.size() > kMaxSize)
    return fail("the state is too large to be kept: " + std::to_string(image.size()));
  const std::uint64_t old = head_->place.load(std::memory_order_relaxed);
  const std::uint64_t old_page = old >> kHalf;
  const std::uint64_t old_end = old_page + pages_of(old & kMaxSize);
  // In front of the old one where there is room, else behind it.
  const std::uint64_t page = old == 0 || 1 + pages_of(image.size()) <= old_page ? 1 : old_end;
  const auto at = static_cast<off_t>(page * kPage);
  for (std::size_t done = 0; done < image.size();) {
    const ssize_t n =
        pwrite(fd_.get(), image.data() + done, image.size() - done, at + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot keep state in memory", errno);
    done += static_cast<std::size_t>(n);
  }
  head_->place.store(page << kHalf | image.size(), std::memory_order_release);
  head_->current.store(1, std::memory_order_release);
  // What is behind is of no use any more.
  if (page < old_page)
    (void)!ftruncate(fd_.get(), static_cast<off_t>((page + pages_of(image.size())) * kPage));
  return {};
}

Result<Found> read_state_file(int fd) {
  struct stat facts{};
  if (fstat(fd, &facts) || facts.st_size < static_cast<off_t>(kPage)) return fail("it is empty");
  struct {
    std::uint64_t current;
    std::uint64_t place;
  } head{};
  if (pread(fd, &head, sizeof head, 0) != sizeof head) return fail_errno("it cannot be read", errno);
  const std::uint64_t size = head.place & kMaxSize;
  const std::uint64_t at = (head.place >> kHalf) * kPage;
  if (size == 0) return fail("it is empty");
  if (at + size > static_cast<std::uint64_t>(facts.st_size)) return fail("it is cut short");
  Found out{.image = Bytes(size), .current = static_cast<std::uint32_t>(head.current) == 1};
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = pread(fd, out.image.data() + done, size - done, static_cast<off_t>(at + done));
    if (n <= 0) return fail_errno("it cannot be read", errno);
    done += static_cast<std::size_t>(n);
  }
  return out;
}

}  // namespace lossless::restart
