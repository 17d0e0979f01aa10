// SPDX-License-Identifier: Apache-2.0
// BFD control packets (RFC 5880, section 4) and their authentication (6.7): bytes to values and back. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "daemon/core/wire.h"

namespace lossless::bfd {

inline constexpr std::uint16_t kSingleHopPort = 3784;  // RFC 5881, 4
inline constexpr std::uint16_t kMultiHopPort = 4784;   // RFC 5883, 5
inline constexpr std::uint16_t kFirstSourcePort = 49152;
inline constexpr std::uint8_t kFullTtl = 255;  // RFC 5881, 5

enum class State : std::uint8_t { AdminDown, Down, Init, Up };
std::string_view to_string(State state);

// Why the sender's session was last taken down (4.1).
enum class Diag : std::uint8_t {
  None,
  DetectionTimeExpired,
  EchoFailed,
  NeighbourSignalledDown,
  ForwardingPlaneReset,
  PathDown,
  ConcatenatedPathDown,
  AdministrativelyDown,
  ReverseConcatenatedPathDown,
};
std::string_view to_string(Diag diag);  // of 9 to 31, which are reserved: "reserved"

// On the wire 1 to 5; 0: no authentication section.
enum class AuthType : std::uint8_t { None, Simple, KeyedMd5, MeticulousMd5, KeyedSha1, MeticulousSha1 };
std::string_view to_string(AuthType type);
// Bytes of a secret: 1 to 16, of SHA1 1 to 20.
constexpr std::size_t max_secret(AuthType type) {
  return type == AuthType::KeyedSha1 || type == AuthType::MeticulousSha1 ? 20 : 16;
}

// A packet without its authentication section. Times in microseconds.
struct Packet {
  Diag diag = Diag::None;
  State state = State::Down;
  bool poll = false;
  bool final = false;
  bool control_plane_independent = false;
  bool demand = false;
  std::uint8_t detect_mult = 1;               // 1-255
  std::uint32_t my_discriminator = 0;         // not 0
  std::uint32_t your_discriminator = 0;       // 0 only in Down and AdminDown
  std::uint32_t desired_min_tx_us = 0;        // the sender would like to send so often
  std::uint32_t required_min_rx_us = 0;       // it can receive so often; 0: send nothing periodically
  std::uint32_t required_min_echo_rx_us = 0;  // 0: it returns no echo packets
  bool operator==(const Packet&) const = default;
};

// The authentication section as received (4.2 to 4.4), without the secret or digest.
struct AuthSection {
  AuthType type = AuthType::None;
  std::uint8_t key_id = 0;
  std::uint32_t sequence = 0;  // not with Simple
  bool operator==(const AuthSection&) const = default;
};

// Why a packet is discarded before any session is looked for (6.8.6).
enum class Fault : std::uint8_t {
  Length,             // shorter than its header, or than it says
  Version,            // not 1
  DetectMult,         // 0
  Multipoint,         // bit set
  MyDiscriminator,    // 0
  YourDiscriminator,  // 0 in Init or Up
  Authentication,     // the section is cut, or has a type or length that there isn't
};
inline constexpr std::size_t kFaults = 7;
std::string_view to_string(Fault fault);

struct Decoded {
  Packet packet;
  AuthSection auth;
};
std::expected<Decoded, Fault> decode(ByteView payload);

struct AuthKey {
  AuthType type = AuthType::None;
  std::uint8_t id = 0;
  Bytes secret = {};  // 1 to max_secret(type) bytes
  bool operator==(const AuthKey&) const = default;
};

// A packet with the authentication section of `key`; `sequence` is of no meaning to Simple.
Bytes encode(const Packet& packet, const AuthKey& key, std::uint32_t sequence);

// Whether a packet, which decode() took, carries the section that `key` makes: type, key ID, and secret or
// digest. The sequence number is for the caller to judge.
bool is_signed_by(ByteView payload, const AuthSection& auth, const AuthKey& key);

}  // namespace lossless::bfd
