// SPDX-License-Identifier: Apache-2.0
#include "daemon/bfd/packet.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

namespace lossless::bfd {
namespace {

constexpr std::size_t kHeader = 24;
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kSectionHead = 3;  // type, length, key ID
constexpr std::size_t kDigestAt = 8;     // in a section of MD5 or SHA1

constexpr std::uint8_t kPoll = 1U << 5U;
constexpr std::uint8_t kFinal = 1U << 4U;
constexpr std::uint8_t kIndependent = 1U << 3U;
constexpr std::uint8_t kAuthentication = 1U << 2U;
constexpr std::uint8_t kDemand = 1U << 1U;
constexpr std::uint8_t kMultipoint = 1U << 0U;

bool is_sha1(AuthType type) { return type == AuthType::KeyedSha1 || type == AuthType::MeticulousSha1; }
std::size_t digest_size(AuthType type) { return is_sha1(type) ? 20 : 16; }

// 4.2 to 4.4: type, length, key ID, then the password, or a reserved byte, sequence number and digest.
std::optional<AuthSection> read_section(ByteView section) {
  WireReader in(section);
  const std::uint8_t type = in.u8();
  const std::size_t length = in.u8();
  AuthSection out{.type = static_cast<AuthType>(type), .key_id = in.u8()};
  if (!in.ok() || type < 1 || type > 5 || length != section.size()) return std::nullopt;
  if (out.type == AuthType::Simple) {
    if (in.left() < 1 || in.left() > max_secret(out.type)) return std::nullopt;
    return out;
  }
  if (length != kDigestAt + digest_size(out.type)) return std::nullopt;
  in.u8();
  out.sequence = in.u32();
  return out;
}

// Of the whole packet, in which the secret, padded with zeros, stands in the place of the digest (6.7.3,
// 6.7.4). Nothing where the system's policy forbids the method: no packet fits then.
Bytes digest_of(const Bytes& packet, AuthType type) {
  Bytes out(digest_size(type));
  unsigned size = 0;
  const EVP_MD* method = is_sha1(type) ? EVP_sha1() : EVP_md5();
  if (EVP_Digest(packet.data(), packet.size(), out.data(), &size, method, nullptr) != 1) out.clear();
  return out;
}

// Digest, or secret, padded with zeros.
void put_digest(Bytes& packet, const Bytes& value) {
  const auto at = packet.begin() + kHeader + kDigestAt;
  std::fill(at, packet.end(), std::uint8_t{0});
  std::ranges::copy(value, at);
}

bool same(ByteView a, ByteView b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void append_section(Bytes& packet, const AuthKey& key, std::uint32_t sequence) {
  WireWriter section;
  section.u8(static_cast<std::uint8_t>(key.type));
  if (key.type == AuthType::Simple) {
    section.u8(static_cast<std::uint32_t>(kSectionHead + key.secret.size())).u8(key.id).bytes(key.secret);
  } else {
    section.u8(static_cast<std::uint32_t>(kDigestAt + digest_size(key.type))).u8(key.id).u8(0).u32(sequence);
    section.zeros(digest_size(key.type));
  }
  const Bytes bytes = section.take();
  packet.insert(packet.end(), bytes.begin(), bytes.end());
  if (key.type == AuthType::Simple) return;
  put_digest(packet, key.secret);
  put_digest(packet, digest_of(packet, key.type));
}

}  // namespace

std::string_view to_string(State state) {
  constexpr std::array<std::string_view, 4> kNames{"admin-down", "down", "init", "up"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view to_string(Diag diag) {
  constexpr std::array<std::string_view, 9> kNames{"none",
                                                   "detection time expired",
                                                   "echo failed",
                                                   "neighbour signalled down",
                                                   "forwarding plane reset",
                                                   "path down",
                                                   "concatenated path down",
                                                   "administratively down",
                                                   "reverse concatenated path down"};
  const auto index = static_cast<std::size_t>(diag);
  return index < kNames.size() ? kNames[index] : "reserved";
}

std::string_view to_string(AuthType type) {
  constexpr std::array<std::string_view, 6> kNames{"none",           "simple",     "keyed-md5",
                                                   "meticulous-md5", "keyed-sha1", "meticulous-sha1"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view to_string(Fault fault) {
  constexpr std::array<std::string_view, kFaults> kNames{"length",
                                                         "version",
                                                         "detect multiplier of 0",
                                                         "multipoint bit",
                                                         "my discriminator",
                                                         "your discriminator",
                                                         "authentication section"};
  return kNames[static_cast<std::size_t>(fault)];
}

// The checks of 6.8.6 in their order.
std::expected<Decoded, Fault> decode(ByteView payload) {
  WireReader in(payload);
  const std::uint8_t first = in.u8();
  const std::uint8_t flags = in.u8();
  Decoded out;
  Packet& p = out.packet;
  p.detect_mult = in.u8();
  const std::size_t length = in.u8();
  p.my_discriminator = in.u32();
  p.your_discriminator = in.u32();
  p.desired_min_tx_us = in.u32();
  p.required_min_rx_us = in.u32();
  p.required_min_echo_rx_us = in.u32();
  if (!in.ok()) return std::unexpected(Fault::Length);
  if (first >> 5U != kVersion) return std::unexpected(Fault::Version);
  if (length < kHeader || length > payload.size()) return std::unexpected(Fault::Length);
  if (p.detect_mult == 0) return std::unexpected(Fault::DetectMult);
  if ((flags & kMultipoint) != 0) return std::unexpected(Fault::Multipoint);
  if (p.my_discriminator == 0) return std::unexpected(Fault::MyDiscriminator);
  p.diag = static_cast<Diag>(first & 31U);
  p.state = static_cast<State>(flags >> 6U);
  p.poll = (flags & kPoll) != 0;
  p.final = (flags & kFinal) != 0;
  p.control_plane_independent = (flags & kIndependent) != 0;
  p.demand = (flags & kDemand) != 0;
  if (p.your_discriminator == 0 && p.state > State::Down) return std::unexpected(Fault::YourDiscriminator);
  if ((flags & kAuthentication) == 0) return out;
  const auto section = read_section(payload.subspan(kHeader, length - kHeader));
  if (!section) return std::unexpected(Fault::Authentication);
  out.auth = *section;
  return out;
}

Bytes encode(const Packet& packet, const AuthKey& key, std::uint32_t sequence) {
  unsigned flags = static_cast<unsigned>(packet.state) << 6U;
  if (packet.poll) flags |= kPoll;
  if (packet.final) flags |= kFinal;
  if (packet.control_plane_independent) flags |= kIndependent;
  if (packet.demand) flags |= kDemand;
  std::size_t length = kHeader;
  if (key.type != AuthType::None) {
    flags |= kAuthentication;
    length +=
        key.type == AuthType::Simple ? kSectionHead + key.secret.size() : kDigestAt + digest_size(key.type);
  }
  WireWriter out;
  out.u8(static_cast<unsigned>(kVersion) << 5U | static_cast<unsigned>(packet.diag));
  out.u8(flags).u8(packet.detect_mult).u8(static_cast<std::uint32_t>(length));
  out.u32(packet.my_discriminator).u32(packet.your_discriminator);
  out.u32(packet.desired_min_tx_us).u32(packet.required_min_rx_us).u32(packet.required_min_echo_rx_us);
  Bytes bytes = out.take();
  if (key.type != AuthType::None) append_section(bytes, key, sequence);
  return bytes;
}

bool is_signed_by(ByteView payload, const AuthSection& auth, const AuthKey& key) {
  if (auth.type != key.type) return false;
  if (key.type == AuthType::None) return true;
  if (auth.key_id != key.id) return false;
  const ByteView packet = payload.first(payload[3]);  // what follows its length does not belong to it
  if (key.type == AuthType::Simple) return same(packet.subspan(kHeader + kSectionHead), key.secret);
  Bytes copy(packet.begin(), packet.end());
  put_digest(copy, key.secret);
  return same(packet.subspan(kHeader + kDigestAt), digest_of(copy, key.type));
}

}  // namespace lossless::bfd
