// SPDX-License-Identifier: Apache-2.0
#include "daemon/pfc/headroom.h"

#include <algorithm>
#include <array>

#include "daemon/core/units.h"

namespace lossless::pfc {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kGbit = 1'000'000'000;
constexpr std::uint64_t kQuantumBytes = 64;              // 512 bit times
constexpr std::uint64_t kPropagation_m_s = 198'000'000;  // signal speed in fibre and copper

constexpr std::uint64_t kMaxRate = 1600 * kGbit;
constexpr std::uint32_t kMinMtu = 64;
constexpr std::uint32_t kMaxMtu = 65'535;
constexpr std::uint32_t kMaxCable = 100'000;
constexpr std::uint64_t kMaxReaction = 1'000'000'000;
constexpr std::uint32_t kMaxMacPhy = 1'000'000;

struct QuantaRow {
  std::uint64_t rate_bps;
  std::uint64_t quanta;
};
constexpr std::array<QuantaRow, 8> kQuanta{{{kGbit, 2},
                                            {10 * kGbit, 67},
                                            {25 * kGbit, 80},
                                            {40 * kGbit, 118},
                                            {50 * kGbit, 147},
                                            {100 * kGbit, 394},
                                            {200 * kGbit, 453},
                                            {400 * kGbit, 905}}};

// a * b / c, rounded up.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b + c - 1) / c);
}

std::string out_of_range(const char* what, std::uint64_t value, const std::string& range) {
  return std::string("headroom cannot be computed: ") + what + " " + std::to_string(value) +
         " is out of range, must be " + range;
}

std::optional<std::string> check(const HeadroomInput& in) {
  if (in.rate_bps == 0 || in.rate_bps > kMaxRate) {
    return out_of_range("port rate (bit/s)", in.rate_bps, "1bit to " + format_rate(kMaxRate));
  }
  if (in.mtu_bytes < kMinMtu || in.mtu_bytes > kMaxMtu) {
    return out_of_range("MTU (bytes)", in.mtu_bytes, "64 to 65535");
  }
  if (in.cable_m > kMaxCable) return out_of_range("cable length (m)", in.cable_m, "0 to 100000");
  if (in.reaction_ns > kMaxReaction) {
    return out_of_range("reaction time (ns)", in.reaction_ns, "0 to 1000000000");
  }
  if (in.mac_phy_bytes > kMaxMacPhy) {
    return out_of_range("MAC/PHY delay (bytes)", in.mac_phy_bytes, "0 to 1000000");
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t response_quanta(std::uint64_t rate_bps) {
  if (rate_bps <= kQuanta.front().rate_bps) return kQuanta.front().quanta;
  if (rate_bps > kQuanta.back().rate_bps)
    return scaled(kQuanta.back().quanta, rate_bps, kQuanta.back().rate_bps);
  const auto* above =
      std::ranges::find_if(kQuanta, [&](const QuantaRow& row) { return row.rate_bps >= rate_bps; });
  const auto* below = above - 1;
  return below->quanta +
         scaled(above->quanta - below->quanta, rate_bps - below->rate_bps, above->rate_bps - below->rate_bps);
}

std::expected<Headroom, std::string> compute_headroom(const HeadroomInput& input) {
  if (auto fault = check(input)) return std::unexpected(*std::move(fault));
  Headroom result;
  result.reaction_bytes = scaled(input.rate_bps, input.reaction_ns, 8 * 1'000'000'000ULL);
  result.own_mtu_bytes = input.mtu_bytes;
  result.cable_bytes = scaled(2ULL * input.cable_m, input.rate_bps, 8 * kPropagation_m_s);
  result.mac_phy_bytes = input.mac_phy_bytes;
  result.response_bytes = response_quanta(input.rate_bps) * kQuantumBytes;
  result.peer_mtu_bytes = input.mtu_bytes;
  return result;
}

std::optional<std::string> check_headroom(std::uint64_t configured_bytes, const HeadroomInput& input) {
  const auto needed = compute_headroom(input);
  if (!needed) return needed.error();
  const std::uint64_t total = needed->total_bytes();
  if (configured_bytes >= total) return std::nullopt;
  return "headroom " + format_size(configured_bytes) + " is smaller than the " + format_size(total) +
         " that still arrive after XOFF at " + format_rate(input.rate_bps) + ", MTU " +
         std::to_string(input.mtu_bytes) + ", cable " + std::to_string(input.cable_m) + " m, reaction " +
         std::to_string(input.reaction_ns) + " ns: lossless packets would be dropped";
}

}  // namespace lossless::pfc
