// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/authentication.h"

namespace lossless::bgp {
namespace {

std::string segments(std::uint64_t n) {
  return std::to_string(n) + (n == 1 ? " segment of it has" : " segments of it have");
}

void append(std::string& out, const std::string& more) {
  if (!out.empty()) out += "; ";
  out += more;
}

std::string md5_trouble(const net::TcpMd5Counters& md5) {
  std::string out;
  if (md5.failures > 0) append(out, std::to_string(md5.failures) + " with a wrong signature");
  if (md5.not_found > 0) append(out, std::to_string(md5.not_found) + " without one that is due");
  if (md5.unexpected > 0) append(out, std::to_string(md5.unexpected) + " with one that is not due");
  if (out.empty()) return out;
  return "the kernel dropped segments, of whichever neighbour here: " + out;
}

std::string ao_trouble(const Authentication& a) {
  if (a.keys.empty()) return "key chain " + a.chain + " has no key that may be used now";
  std::string out;
  const std::uint64_t bad = a.bad_tries + (a.connection ? a.connection->bad : 0);
  if (bad > 0) append(out, segments(bad) + " a wrong signature: the secrets or algorithms differ");
  if (a.connection && a.connection->no_key > 0)
    append(out, segments(a.connection->no_key) + " a key ID that no key in use here has");
  if (a.connection && a.connection->unsigned_ > 0)
    append(out, segments(a.connection->unsigned_) + " no signature");
  if (a.tries_no_key > 0)
    append(out, std::to_string(a.tries_no_key) +
                    " tries to connect, of whichever neighbour, had a key ID that no key in use here has");
  if (a.tries_unsigned > 0)
    append(out,
           std::to_string(a.tries_unsigned) + " tries to connect, of whichever neighbour, had no signature");
  return out;
}

}  // namespace

std::string_view to_string(AuthKind kind) {
  switch (kind) {
    case AuthKind::None:
      return "none";
    case AuthKind::Md5:
      return "md5";
    case AuthKind::TcpAo:
      return "tcp-ao";
  }
  return "";
}

void take_chain(const net::KeyChain& chain, std::int64_t now, Authentication& out) {
  const net::TcpKey* sending = net::sending_key(chain, now);
  // Without a key to send with there is no session, whatever would be accepted.
  if (sending)
    for (const net::TcpKey& key : chain)
      if (net::accepts(chain, key, now)) out.keys.push_back({key, &key == sending});
  out.next_change = net::next_change(chain, now);
}

std::string trouble_of(const Authentication& authentication, bool established) {
  if (authentication.kind == AuthKind::TcpAo) {
    // Counters stay when all is well again.
    if (established && authentication.connection && authentication.connection->bad == 0) return {};
    return ao_trouble(authentication);
  }
  if (authentication.kind == AuthKind::Md5 && !established) return md5_trouble(authentication.md5);
  return {};
}

}  // namespace lossless::bgp
