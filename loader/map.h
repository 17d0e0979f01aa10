// SPDX-License-Identifier: Apache-2.0
// Typed access to BPF maps: the key and value types are those of bpf/abi.h.
#pragma once

#include <bpf/bpf.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "loader/result.h"

namespace lossless {

// Number of per-CPU copies the kernel hands out; throws never, at least 1.
unsigned possible_cpus();

// A hash or array map. Borrows the descriptor.
template <class Key, class Value>
class Map {
  static_assert(std::is_trivially_copyable_v<Key> && std::is_trivially_copyable_v<Value>);

 public:
  explicit Map(int fd = -1) : fd_(fd) {}

  Status set(const Key& key, const Value& value) const {
    if (bpf_map_update_elem(fd_, &key, &value, BPF_ANY)) return fail_errno("cannot write a map entry", errno);
    return {};
  }
  std::optional<Value> get(const Key& key) const {
    Value value{};
    if (bpf_map_lookup_elem(fd_, &key, &value)) return std::nullopt;
    return value;
  }
  // Absent is fine.
  void erase(const Key& key) const { bpf_map_delete_elem(fd_, &key); }
  std::vector<Key> keys() const {
    std::vector<Key> all;
    Key key{};
    for (int error = bpf_map_get_next_key(fd_, nullptr, &key); error == 0;
         error = bpf_map_get_next_key(fd_, &key, &key))
      all.push_back(key);
    return all;
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// A per-CPU array of structs of 64-bit counters, read as the sum over the CPUs.
template <class Value>
class CounterMap {
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(std::uint64_t) == 0);

 public:
  explicit CounterMap(int fd = -1) : fd_(fd) {}

  Value sum(std::uint32_t row) const {
    constexpr std::size_t kWords = sizeof(Value) / sizeof(std::uint64_t);
    std::vector<std::uint64_t> copies(kWords * possible_cpus());
    std::uint64_t total[kWords] = {};
    if (bpf_map_lookup_elem(fd_, &row, copies.data()) == 0)
      for (std::size_t i = 0; i < copies.size(); ++i) total[i % kWords] += copies[i];
    Value value;
    std::memcpy(&value, total, sizeof value);
    return value;
  }
  void clear(std::uint32_t row) const {
    const std::vector<std::uint64_t> zero(sizeof(Value) / sizeof(std::uint64_t) * possible_cpus());
    bpf_map_update_elem(fd_, &row, zero.data(), BPF_ANY);
  }

 private:
  int fd_;
};

}  // namespace lossless
