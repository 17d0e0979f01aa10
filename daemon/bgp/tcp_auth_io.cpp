// SPDX-License-Identifier: Apache-2.0
// TCP-AO on the speaker's sockets: listening ones have the keys of all neighbours, connections those of their
// own, and all follow the chains as time goes on.
#include <algorithm>
#include <asio/post.hpp>
#include <chrono>

#include "daemon/bgp/tcp_io.h"

namespace lossless::bgp {
namespace {

// A clock that is set moves what is due; nothing tells us.
constexpr std::int64_t kLookAgainS = 30;

std::int64_t calendar_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool is_v6(const asio::ip::tcp::acceptor& acceptor) {
  asio::error_code ignored;
  return acceptor.local_endpoint(ignored).address().is_v6();
}

}  // namespace

const net::KeyChain& Tcp::chain(const std::string& name) const {
  static const net::KeyChain kNone;
  const auto at = chains_.find(name);
  return at == chains_.end() ? kNone : at->second;
}

void Tcp::keep_key_chains(const std::vector<AoPeer>& peers) {
  std::erase_if(listen_keys_, [&](ListenKeys& l) {
    if (std::ranges::find(peers, l.peer) != peers.end()) return false;
    if (l.acceptor < acceptors_.size()) (void)l.keys.clear(acceptors_[l.acceptor].native_handle());
    return true;
  });
}

std::optional<std::string> Tcp::set_key_chains(std::map<std::string, net::KeyChain> chains,
                                               const std::vector<AoPeer>& peers) {
  chains_ = std::move(chains);
  keep_key_chains(peers);
  for (const AoPeer& peer : peers) {
    if (std::ranges::find(listen_keys_, peer, &ListenKeys::peer) != listen_keys_.end()) continue;
    for (std::size_t i = 0; i < acceptors_.size(); ++i)
      for (const AddressPrefix& prefix : prefixes_of(peer.from))
        if (prefix.address.v6 == is_v6(acceptors_[i]))
          listen_keys_.push_back({peer, i, net::TcpAoKeys(prefix.address, prefix.length)});
  }
  return renew_keys();
}

// What is wrong first; all that can be done is done.
std::optional<std::string> Tcp::renew_keys() {
  const std::int64_t now = calendar_now();
  std::optional<std::string> wrong;
  for (ListenKeys& l : listen_keys_) {
    const int fd = acceptors_[l.acceptor].native_handle();
    const net::KeyChain& keys = chain(l.peer.chain);
    auto done = l.keys.apply(fd, keys, now, true);
    if (!done && !net::sending_key(keys, now)) (void)l.keys.clear(fd);
    if (!done && !wrong) wrong = "key chain " + l.peer.chain + ": " + done.error();
  }
  std::vector<std::pair<ConnId, std::string>> failed;
  for (const auto& [conn, ref] : conns_) {
    if (!ref->ao) continue;
    const auto done = ref->ao->keys.apply(ref->socket.native_handle(), chain(ref->ao->chain), now, false);
    if (!done) failed.emplace_back(conn, "key chain " + ref->ao->chain + ": " + done.error());
  }
  for (const auto& [conn, why] : failed) asio::post(loop_, [this, id = conn, text = why] { fail(id, text); });
  wait_for_next_keys(now);
  return wrong;
}

void Tcp::wait_for_next_keys(std::int64_t now) {
  std::optional<std::int64_t> next;
  for (const auto& [name, keys] : chains_)
    if (const auto at = net::next_change(keys, now); at && (!next || *at < *next)) next = at;
  if (!next) return keys_timer_.cancel();
  const auto wait = std::chrono::seconds(std::min(*next - now, kLookAgainS));
  keys_timer_.set(std::chrono::steady_clock::now() + wait, [this] {
    if (const auto wrong = renew_keys()) events_.tcp_trouble(*wrong);
  });
}

std::optional<std::string> Tcp::sign(Connection& connection, const NeighborSettings& with, bool accepted) {
  if (with.key_chain.empty()) return std::nullopt;
  const int fd = connection.socket.native_handle();
  const net::KeyChain& keys = chain(with.key_chain);
  net::TcpAoKeys own(with.address, with.address.v6 ? 128U : 32U);
  if (accepted) {
    // Where its listener had no key for it, the connection came about without any signature.
    auto there = net::TcpAoKeys::of(fd, keys);
    if (!there) return "key chain " + with.key_chain + ": " + there.error();
    own = std::move(*there);
  }
  if (auto done = own.apply(fd, keys, calendar_now(), false); !done)
    return "key chain " + with.key_chain + ": " + done.error();
  connection.ao = std::make_unique<Signature>(Signature{with.key_chain, std::move(own)});
  return std::nullopt;
}

Dropped Tcp::dropped() {
  Dropped out{.md5 = net::tcp_md5_counters()};
  if (chains_.empty()) return out;
  for (asio::ip::tcp::acceptor& acceptor : acceptors_) {
    const int fd = acceptor.native_handle();
    if (const auto state = net::tcp_ao_state(fd)) {
      out.no_key[is_v6(acceptor) ? 1 : 0] += state->no_key;
      out.not_signed[is_v6(acceptor) ? 1 : 0] += state->unsigned_;
    }
    const auto keys = net::tcp_ao_keys(fd);
    if (!keys) continue;
    for (const net::InstalledKey& key : *keys) out.bad[key.peer] += key.bad;
  }
  return out;
}

Authentication Tcp::authentication(ConnId conn, const NeighborSettings& of, const Dropped& dropped) {
  Authentication out;
  if (!of.password.empty()) {
    out.kind = AuthKind::Md5;
    out.md5 = dropped.md5;
  }
  if (of.key_chain.empty()) return out;
  out.kind = AuthKind::TcpAo;
  out.chain = of.key_chain;
  take_chain(chain(of.key_chain), calendar_now(), out);
  if (const auto at = conns_.find(conn); at != conns_.end() && at->second->up)
    if (const auto state = net::tcp_ao_state(at->second->socket.native_handle())) out.connection = *state;
  out.tries_no_key = dropped.no_key[of.address.v6 ? 1 : 0];
  out.tries_unsigned = dropped.not_signed[of.address.v6 ? 1 : 0];
  if (const auto at = dropped.bad.find(of.address); at != dropped.bad.end()) out.bad_tries = at->second;
  return out;
}

}  // namespace lossless::bgp
