// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/tcp_ao_io.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/core/socket_address.h"
#include "loader/fd.h"

namespace lossless::net {
namespace {

// Debian 12's headers are older than these (linux/tcp.h of 6.7).
constexpr int kAddKey = 38;
constexpr int kDeleteKey = 39;
constexpr int kInfo = 40;
constexpr int kGetKeys = 41;

struct alignas(8) AddKey {
  sockaddr_storage address;
  char algorithm[64];
  std::int32_t ifindex;
  std::uint32_t set_current : 1, set_wanted : 1, reserved : 30;
  std::uint16_t reserved2;
  std::uint8_t prefix_length, send_id, receive_id, mac_length, flags, key_length;
  std::uint8_t key[kMaxSecret];
};
static_assert(sizeof(AddKey) == 288);

struct alignas(8) DeleteKey {
  sockaddr_storage address;
  std::int32_t ifindex;
  std::uint32_t set_current : 1, set_wanted : 1, asynchronous : 1, reserved : 29;
  std::uint16_t reserved2;
  std::uint8_t prefix_length, send_id, receive_id, current_id, wanted_id, flags;
};
static_assert(sizeof(DeleteKey) == 144);

struct alignas(8) Info {
  std::uint32_t set_current : 1, set_wanted : 1, required : 1, set_counters : 1, accept_icmps : 1,
      reserved : 27;
  std::uint16_t reserved2;
  std::uint8_t current_id, wanted_id;
  std::uint64_t good, bad, no_key, unsigned_, dropped_icmp;
};
static_assert(sizeof(Info) == 48);

struct alignas(8) GetKey {
  sockaddr_storage address;
  char algorithm[64];
  std::uint8_t key[kMaxSecret];
  std::uint32_t keys;
  std::uint16_t is_current : 1, is_wanted : 1, all : 1, reserved : 13;
  std::uint8_t send_id, receive_id, prefix_length, mac_length, flags, key_length;
  std::int32_t ifindex;
  std::uint64_t good, bad;
};
static_assert(sizeof(GetKey) == 304);

const char* kernel_name(KeyAlgorithm algorithm) {
  switch (algorithm) {
    case KeyAlgorithm::HmacSha1:
      return "hmac(sha1)";
    case KeyAlgorithm::AesCmac:
      return "cmac(aes128)";
    case KeyAlgorithm::HmacSha256:
      return "hmac(sha256)";
  }
  return "";
}

KeyAlgorithm algorithm_of(std::string_view name) {
  if (name == kernel_name(KeyAlgorithm::HmacSha1)) return KeyAlgorithm::HmacSha1;
  if (name == kernel_name(KeyAlgorithm::HmacSha256)) return KeyAlgorithm::HmacSha256;
  return KeyAlgorithm::AesCmac;  // which comes back as "cmac(aes)"
}

// What the kernel signs with; lifetimes are ours alone.
bool same_signature(const TcpKey& a, const TcpKey& b) {
  return a.send_id == b.send_id && a.receive_id == b.receive_id && a.algorithm == b.algorithm &&
         a.secret == b.secret;
}

std::uint8_t mac_length(KeyAlgorithm algorithm) { return algorithm == KeyAlgorithm::HmacSha256 ? 16 : 12; }

template <class Option>
Status set_option(int fd, int name, const Option& option, const std::string& what) {
  if (setsockopt(fd, IPPROTO_TCP, name, &option, sizeof option) == 0) return {};
  if (errno == ENOPROTOOPT)
    return fail(what + ": this kernel has no TCP-AO (6.7 or later with CONFIG_TCP_AO)");
  return fail_errno(what, errno);
}

std::string key_text(const char* verb, const TcpKey& key, const IpAddress& peer) {
  return std::string("cannot ") + verb + " TCP-AO key " + std::to_string(key.send_id) + " for " +
         to_string(peer);
}

}  // namespace

bool has_tcp_ao() {
  const Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const char nothing = 0;
  return setsockopt(fd.get(), IPPROTO_TCP, kAddKey, &nothing, sizeof nothing) != 0 && errno != ENOPROTOOPT;
}

Result<TcpAoState> tcp_ao_state(int fd) {
  Info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, kInfo, &info, &size))
    return fail_errno("cannot read the state of TCP-AO", errno);
  return TcpAoState{.current_id = info.current_id,
                    .wanted_id = info.wanted_id,
                    .good = info.good,
                    .bad = info.bad,
                    .no_key = info.no_key,
                    .unsigned_ = info.unsigned_};
}

Result<std::vector<InstalledKey>> tcp_ao_keys(int fd) {
  std::vector<GetKey> raw;
  std::size_t count = 16;
  do {  // it says how many there are
    raw.assign(count, {});
    raw[0].keys = static_cast<std::uint32_t>(count);
    raw[0].all = 1;
    socklen_t size = sizeof(GetKey);
    if (getsockopt(fd, IPPROTO_TCP, kGetKeys, raw.data(), &size))
      return fail_errno("cannot read the keys of TCP-AO", errno);
    count = raw[0].keys;
  } while (count > raw.size());
  std::vector<InstalledKey> out;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const GetKey& k = raw[i];
    const auto* secret = reinterpret_cast<const char*>(k.key);
    out.push_back({.peer = to_ip(k.address),
                   .prefix_length = k.prefix_length,
                   .key = {.send_id = k.send_id,
                           .receive_id = k.receive_id,
                           .algorithm = algorithm_of({k.algorithm, strnlen(k.algorithm, sizeof k.algorithm)}),
                           .secret = {secret, std::min<std::size_t>(k.key_length, kMaxSecret)},
                           .send = {},
                           .accept = {}},
                   .bad = k.bad});
  }
  return out;
}

Result<TcpAoKeys> TcpAoKeys::of(int fd, const KeyChain& chain) {
  const auto keys = tcp_ao_keys(fd);
  if (!keys) return std::unexpected(keys.error());
  if (keys->empty()) return fail("the connection is not signed");
  // Of a listener with a range and an address in it there may be both.
  const auto nearest = std::ranges::max_element(*keys, {}, &InstalledKey::prefix_length);
  TcpAoKeys out(nearest->peer, nearest->prefix_length);
  for (InstalledKey installed : *keys) {
    TcpKey& key = installed.key;
    const auto same = std::ranges::find(chain, key.send_id, &TcpKey::send_id);
    if (same != chain.end() && key.algorithm == KeyAlgorithm::AesCmac) key.secret = same->secret;
    out.installed_.insert_or_assign(key.send_id, std::move(installed));
  }
  return out;
}

Status TcpAoKeys::clear(int fd) {
  for (auto it = installed_.begin(); it != installed_.end(); it = installed_.erase(it))
    if (auto ok = remove(fd, it->second, true); !ok) return ok;
  return {};
}

Status TcpAoKeys::add(int fd, const TcpKey& key) const {
  AddKey option{};
  option.address = to_socket_address(peer_).storage;
  std::strncpy(option.algorithm, kernel_name(key.algorithm), sizeof option.algorithm - 1);
  option.prefix_length = static_cast<std::uint8_t>(prefix_length_);
  option.send_id = key.send_id;
  option.receive_id = key.receive_id;
  option.mac_length = mac_length(key.algorithm);
  option.key_length = static_cast<std::uint8_t>(key.secret.size());
  std::memcpy(option.key, key.secret.data(), key.secret.size());
  return set_option(fd, kAddKey, option, key_text("add", key, peer_));
}

Status TcpAoKeys::remove(int fd, const InstalledKey& installed, bool listening) {
  DeleteKey option{};
  option.address = to_socket_address(installed.peer).storage;
  option.asynchronous = listening;
  option.prefix_length = static_cast<std::uint8_t>(installed.prefix_length);
  option.send_id = installed.key.send_id;
  option.receive_id = installed.key.receive_id;
  return set_option(fd, kDeleteKey, option, key_text("remove", installed.key, installed.peer));
}

Status TcpAoKeys::use(int fd, const TcpKey& key) {
  Info info{};
  info.set_current = info.set_wanted = 1;
  info.required = 1;
  info.accept_icmps = 0;
  info.current_id = key.send_id;
  info.wanted_id = key.receive_id;
  return set_option(fd, kInfo, info, "cannot send with TCP-AO key " + std::to_string(key.send_id));
}

Status TcpAoKeys::apply(int fd, const KeyChain& chain, std::int64_t now, bool listening) {
  const TcpKey* sending = sending_key(chain, now);
  if (!sending) return fail("no TCP-AO key may be sent with now");
  std::map<std::uint8_t, TcpKey> wanted;
  for (const TcpKey& key : chain)
    if (accepts(chain, key, now)) wanted.emplace(key.send_id, key);
  for (const auto& [id, key] : wanted) {
    const auto old = installed_.find(id);
    if (old != installed_.end() && same_signature(old->second.key, key)) continue;
    if (old != installed_.end()) {
      if (auto ok = remove(fd, old->second, listening); !ok) return ok;
      installed_.erase(old);
    }
    if (auto ok = add(fd, key); !ok) return ok;
    installed_.insert_or_assign(id, InstalledKey{peer_, prefix_length_, key});
  }
  if (!listening)
    if (auto ok = use(fd, *sending); !ok) return ok;
  for (auto it = installed_.begin(); it != installed_.end();) {
    if (wanted.contains(it->first)) {
      ++it;
      continue;
    }
    if (auto ok = remove(fd, it->second, listening); !ok) return ok;
    it = installed_.erase(it);
  }
  return {};
}

}  // namespace lossless::net
