// SPDX-License-Identifier: Apache-2.0
#include "loader/port_table.h"

namespace lossless {

std::optional<std::uint32_t> PortTable::place(std::uint32_t ifindex, std::uint32_t holds) const {
  for (std::uint32_t probe = 0; probe < LL_INDEX_PROBES; ++probe) {
    const std::uint32_t at = LL_INDEX_PLACE(ifindex, probe);
    if (const auto entry = index_.get(at); entry && entry->ifindex == holds) return at;
  }
  return std::nullopt;
}

Status PortTable::set(std::uint32_t ifindex, const ll_port& row) const {
  if (auto written = rows_.set(row.slot, row); !written) return written;
  auto at = place(ifindex, ifindex);
  if (!at) at = place(ifindex, 0);
  if (!at)
    return fail("interface index " + std::to_string(ifindex) + ": " + std::to_string(LL_INDEX_PROBES) +
                " managed interfaces have the same or a neighbouring index modulo " +
                std::to_string(LL_INDEX_SIZE));
  return index_.set(*at, ll_index{.ifindex = ifindex, .slot = row.slot});
}

std::optional<ll_port> PortTable::get(std::uint32_t ifindex) const {
  const auto at = place(ifindex, ifindex);
  const auto entry = at ? index_.get(*at) : std::nullopt;
  return entry ? rows_.get(entry->slot) : std::nullopt;
}

void PortTable::erase(std::uint32_t ifindex) const {
  if (const auto at = place(ifindex, ifindex)) (void)index_.set(*at, ll_index{});
}

std::vector<std::uint32_t> PortTable::interfaces() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t at = 0; at < LL_INDEX_SIZE; ++at)
    if (const auto entry = index_.get(at); entry && entry->ifindex) all.push_back(entry->ifindex);
  return all;
}

}  // namespace lossless
