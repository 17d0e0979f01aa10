// SPDX-License-Identifier: Apache-2.0
// The configuration: what the TOML file says, with every default filled in. Plain values, no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lossless {

inline constexpr unsigned kTcs = 8;
inline constexpr unsigned kDscps = 64;

enum class Trust : std::uint8_t { Port, Dot1p, Dscp };
enum class Schedule : std::uint8_t { Strict, Wrr };

// WRED/ECN thresholds of one TC (RFC 3168 marking). kmin < kmax < limit of the queue.
struct EcnConfig {
  std::uint32_t kmin_bytes = 0;
  std::uint32_t kmax_bytes = 0;
  double pmax = 0;          // 0 < pmax <= 1: probability at kmax
  unsigned ewma_shift = 0;  // 0: instantaneous depth; 1-15: average with weight 2^-n
  bool operator==(const EcnConfig&) const = default;
};

struct QueueConfig {
  Schedule schedule = Schedule::Strict;
  unsigned group = 0;   // WRR group 1 or 2; 0 for strict
  unsigned weight = 0;  // WRR weight 1-100 inside the group; 0 for strict
  std::uint32_t limit_bytes = 0;
  bool lossless = false;
  std::optional<EcnConfig> ecn;
  bool operator==(const QueueConfig&) const = default;
};

// dscp -> dscp is applied first, then dscp -> dot1p, then dot1p -> TC.
struct PriorityMaps {
  std::array<std::uint8_t, kTcs> dot1p_tc{};
  std::array<std::uint8_t, kDscps> dscp_dot1p{};
  std::array<std::uint8_t, kDscps> dscp_dscp{};
  bool operator==(const PriorityMaps&) const = default;
};

struct PortConfig {
  std::string name;            // interface name, 1-15 characters
  std::uint64_t rate_bps = 0;  // bits per second of whole Ethernet frames without FCS; 0 = not limited
  Trust trust = Trust::Dscp;
  unsigned priority = 0;  // dot1p of packets that carry nothing to trust
  PriorityMaps maps;
  std::array<QueueConfig, kTcs> queues;
  bool operator==(const PortConfig&) const = default;
};

struct ApiConfig {
  std::string socket;  // absolute path, at most 107 bytes
  std::string owner = "root";
  std::string group = "root";
  unsigned mode = 0660;
  bool operator==(const ApiConfig&) const = default;
};

struct Config {
  std::string instance = "default";
  ApiConfig api;
  std::vector<PortConfig> ports;
  bool operator==(const Config&) const = default;
};

// What is wrong with a configuration: "FILE:LINE:COLUMN: message". Line and column count from 1; 0 when
// the whole file is meant (e.g. it cannot be read).
struct ConfigError {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string message;  // names the key, the value, and what is allowed
  std::string text() const;
};

// All errors of the file at once, in file order; at least one.
using ConfigErrors = std::vector<ConfigError>;

// Reads a configuration from TOML text; `file` is only for messages.
std::expected<Config, ConfigErrors> parse_config(std::string_view toml, const std::string& file);
// The same from a file (at most 4 MiB).
std::expected<Config, ConfigErrors> load_config(const std::string& path);

// Checks the order kmin < kmax < limit and the ranges. Returns the message of the first fault.
std::optional<std::string> check_ecn(const EcnConfig& ecn, std::uint32_t limit_bytes);

// One difference between two configurations: a dotted path (port.eth0.queue.3.ecn.kmin) and both
// values as the file would write them; an absent side is empty.
struct ConfigChange {
  std::string path;
  std::string from;
  std::string to;
  bool operator==(const ConfigChange&) const = default;
};
std::vector<ConfigChange> diff_config(const Config& from, const Config& to);

std::string_view to_string(Trust t);
std::string_view to_string(Schedule s);

}  // namespace lossless
