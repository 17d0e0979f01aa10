// SPDX-License-Identifier: Apache-2.0
// A BPF array in our own memory: what the programs write is seen without a system call, and both sides change
// it by atomic operations.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "loader/result.h"

namespace lossless {

// An array map made with BPF_F_MMAPABLE, whose values are structs of 64-bit members.
template <class Value>
class SharedArray {
  static_assert(sizeof(Value) % sizeof(std::uint64_t) == 0);

 public:
  SharedArray() = default;
  static Result<SharedArray> map(int fd, std::uint32_t rows) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    SharedArray array;
    array.length_ = (sizeof(Value) * rows + page - 1) / page * page;
    void* at = mmap(nullptr, array.length_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return fail_errno("cannot map a BPF array into memory", errno);
    array.rows_ = static_cast<Value*>(at);
    return array;
  }
  SharedArray(SharedArray&& other) noexcept
      : rows_(std::exchange(other.rows_, nullptr)), length_(std::exchange(other.length_, 0)) {}
  SharedArray& operator=(SharedArray&& other) noexcept {
    std::swap(rows_, other.rows_);
    std::swap(length_, other.length_);
    return *this;
  }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;
  ~SharedArray() {
    if (rows_) munmap(rows_, length_);
  }

  // One member of a row; `row` must be inside the array.
  std::atomic_ref<__u64> at(std::uint32_t row, __u64 Value::* member) const {
    return std::atomic_ref<__u64>(rows_[row].*member);
  }
  std::uint64_t get(std::uint32_t row, __u64 Value::* member) const {
    return at(row, member).load(std::memory_order_relaxed);
  }

 private:
  Value* rows_ = nullptr;
  std::size_t length_ = 0;
};

}  // namespace lossless
