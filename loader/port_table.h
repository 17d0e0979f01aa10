// SPDX-License-Identifier: Apache-2.0
// The rows of the managed ports, by interface index: the maps `port_index` and `ports` as one table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bpf/abi.h"
#include "loader/map.h"

namespace lossless {

// One writer; the programs read at any time. Borrows the descriptors.
class PortTable {
 public:
  explicit PortTable(int index_fd = -1, int rows_fd = -1) : index_(index_fd), rows_(rows_fd) {}

  // Writes the row (in its own slot) first, then makes it found. Fails when too many interfaces with the
  // same index modulo LL_INDEX_SIZE are managed.
  Status set(std::uint32_t ifindex, const ll_port& row) const;
  std::optional<ll_port> get(std::uint32_t ifindex) const;
  // Absent is fine.
  void erase(std::uint32_t ifindex) const;
  std::vector<std::uint32_t> interfaces() const;

 private:
  // Place of this interface in the index, or of ifindex 0 (free) among the places that it may take.
  std::optional<std::uint32_t> place(std::uint32_t ifindex, std::uint32_t holds) const;

  Map<std::uint32_t, ll_index> index_;
  Map<std::uint32_t, ll_port> rows_;
};

}  // namespace lossless
