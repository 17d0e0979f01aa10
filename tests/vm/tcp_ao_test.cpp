// SPDX-License-Identifier: Apache-2.0
// TCP-AO between two sockets of one machine: needs a kernel with CONFIG_TCP_AO.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/net/tcp_ao_io.h"
#include "loader/fd.h"

namespace lossless::net {
namespace {

const IpAddress kLoopback = *parse_ip("127.0.0.1");

TcpKey key(std::uint8_t id, const std::string& secret, Lifetime send = {}, Lifetime accept = {}) {
  return {.send_id = id,
          .receive_id = id,
          .algorithm = KeyAlgorithm::HmacSha256,
          .secret = secret,
          .send = send,
          .accept = accept};
}

bool readable(int fd, int ms) {
  pollfd p{fd, POLLIN, 0};
  return poll(&p, 1, ms) == 1;
}

// A listener and a connection to it, each with its own chain.
class Pair {
 public:
  Pair()
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), client_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
    EXPECT_EQ(listen(listener_.get(), 4), 0);
  }

  // Whether the connection was made within the time that a first segment and its repetition take.
  bool connect(const KeyChain& ours, const KeyChain& theirs, std::int64_t now) {
    EXPECT_EQ(listening_.apply(listener_.get(), theirs, now, true), Status());
    EXPECT_EQ(calling_.apply(client_.get(), ours, now, false), Status());
    const unsigned limit_ms = 1500;
    setsockopt(client_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
    const int attempts = 1;
    setsockopt(client_.get(), IPPROTO_TCP, TCP_SYNCNT, &attempts, sizeof attempts);
    sockaddr_in to{};
    socklen_t size = sizeof to;
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&to), &size);
    if (::connect(client_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to)) return false;
    if (!readable(listener_.get(), 2000)) return false;
    server_ = Fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    return server_.get() >= 0;
  }

  // Both directions.
  bool exchange() const {
    char byte = 'x';
    for (const auto& [from, to] : {std::pair(client_.get(), server_.get()), {server_.get(), client_.get()}}) {
      if (write(from, &byte, 1) != 1 || !readable(to, 2000) || read(to, &byte, 1) != 1) return false;
    }
    return true;
  }

  TcpAoKeys listening_{kLoopback, 32};
  TcpAoKeys calling_{kLoopback, 32};
  Fd listener_;
  Fd client_;
  Fd server_;
};

TEST(TcpAo, ThisKernelHasIt) { ASSERT_TRUE(has_tcp_ao()); }

TEST(TcpAo, TheSameKeyConnects) {
  Pair pair;
  ASSERT_TRUE(pair.connect({key(5, "secret")}, {key(5, "secret")}, 0));
  EXPECT_TRUE(pair.exchange());
  const auto state = tcp_ao_state(pair.client_.get());
  ASSERT_TRUE(state) << state.error();
  EXPECT_EQ(state->current_id, 5);
  EXPECT_GT(state->good, 0U);
  EXPECT_EQ(state->bad, 0U);
}

TEST(TcpAo, AnotherSecretDoesNot) {
  Pair pair;
  EXPECT_FALSE(pair.connect({key(5, "secret")}, {key(5, "another")}, 0));
  const auto state = tcp_ao_state(pair.listener_.get());
  ASSERT_TRUE(state) << state.error();
  EXPECT_GT(state->bad, 0U);
  const auto keys = tcp_ao_keys(pair.listener_.get());
  ASSERT_TRUE(keys) << keys.error();
  ASSERT_EQ(keys->size(), 1U);
  EXPECT_EQ(keys->front().peer, kLoopback);
  EXPECT_EQ(keys->front().prefix_length, 32U);
  EXPECT_EQ(keys->front().key, key(5, "another"));
  EXPECT_EQ(keys->front().bad, state->bad) << "by peer";
}

TEST(TcpAo, AnotherIdDoesNot) {
  Pair pair;
  EXPECT_FALSE(pair.connect({key(5, "secret")}, {key(6, "secret")}, 0));
  const auto state = tcp_ao_state(pair.listener_.get());
  ASSERT_TRUE(state) << state.error();
  EXPECT_GT(state->no_key, 0U);
}

// One end changes to the new key first; the connection lives on through every state in between.
TEST(TcpAo, RolloverKeepsTheConnection) {
  const KeyChain chain{key(1, "old", {0, 200}, {0, 300}), key(2, "new", {.from = 200}, {.from = 100})};
  Pair pair;
  ASSERT_TRUE(pair.connect(chain, chain, 50));
  auto accepted = TcpAoKeys::of(pair.server_.get(), chain);
  ASSERT_TRUE(accepted) << accepted.error();
  for (const std::int64_t now : {50, 100, 200, 300}) {
    ASSERT_EQ(pair.calling_.apply(pair.client_.get(), chain, now, false), Status()) << now;
    EXPECT_TRUE(pair.exchange()) << now;
    ASSERT_EQ(accepted->apply(pair.server_.get(), chain, now, false), Status()) << now;
    EXPECT_TRUE(pair.exchange()) << now;
  }
  const auto state = tcp_ao_state(pair.server_.get());
  ASSERT_TRUE(state) << state.error();
  EXPECT_EQ(state->current_id, 2);
  EXPECT_EQ(state->bad + state->no_key, 0U);
}

// The kernel hashes an AES secret of another size than 16 bytes: what comes back is not what was given.
TEST(TcpAo, AcceptedAesKeysAreTakenForWhatTheyAre) {
  TcpKey aes = key(9, "a secret of another size");
  aes.algorithm = KeyAlgorithm::AesCmac;
  Pair pair;
  ASSERT_TRUE(pair.connect({aes}, {aes}, 0));
  auto accepted = TcpAoKeys::of(pair.server_.get(), {aes});
  ASSERT_TRUE(accepted) << accepted.error();
  EXPECT_EQ(accepted->apply(pair.server_.get(), {aes}, 0, false), Status());
  EXPECT_TRUE(pair.exchange());
}

// Lifetimes are ours alone: another one is no other key.
TEST(TcpAo, AnotherLifetimeLeavesTheKeyInUse) {
  Pair pair;
  ASSERT_TRUE(pair.connect({key(5, "secret")}, {key(5, "secret")}, 0));
  EXPECT_EQ(pair.calling_.apply(pair.client_.get(), {key(5, "secret", {0, 100})}, 0, false), Status());
  EXPECT_TRUE(pair.exchange());
}

TEST(TcpAo, WithoutKeysAConnectionIsNotSigned) {
  Pair pair;
  EXPECT_EQ(pair.listening_.apply(pair.listener_.get(), {key(5, "secret")}, 0, true), Status());
  EXPECT_EQ(pair.listening_.clear(pair.listener_.get()), Status());
  const auto keys = tcp_ao_keys(pair.listener_.get());
  EXPECT_TRUE(keys && keys->empty());
  sockaddr_in to{};
  socklen_t size = sizeof to;
  getsockname(pair.listener_.get(), reinterpret_cast<sockaddr*>(&to), &size);
  ASSERT_EQ(connect(pair.client_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  ASSERT_TRUE(readable(pair.listener_.get(), 2000));
  const Fd accepted(accept4(pair.listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_FALSE(TcpAoKeys::of(accepted.get(), {key(5, "secret")}));
}

}  // namespace
}  // namespace lossless::net
