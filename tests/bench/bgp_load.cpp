// SPDX-License-Identifier: Apache-2.0
// Clients of a route reflector in one process: the first announces, the others count what reaches them.
// Prints JSON: seconds until all have all routes, and the latency of single routes.
//   bgp_load ROUTER CLIENTS ROUTES EVENTS RATE
// ROUTER listens on port 179 and takes clients of AS 65001 at 10.99.1.1, 10.99.1.2, ... that must be
// addresses of this namespace.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "daemon/bgp/packet.h"
#include "daemon/bgp/update.h"

namespace {

using namespace lossless;
using namespace lossless::bgp;
using Clock = std::chrono::steady_clock;

constexpr auto kLimit = std::chrono::seconds(120);
constexpr std::size_t kRouteSize = 80;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bgp_load: %s\n", what.c_str());
  std::exit(1);
}

struct Client {
  int fd = -1;
  Framer in;
  bool up = false;
  std::size_t routes = 0;  // announced less withdrawn
  Bytes out;
  std::size_t sent = 0;
  Clock::time_point heard{};  // when the last route came
};

class Load {
 public:
  Load(const char* router, unsigned clients) : router_(router) {
    for (unsigned i = 0; i < clients + 1; ++i) clients_.push_back(open(i));
    wait([&] { return std::ranges::all_of(clients_, &Client::up); }, "sessions");
    context_.families.add(Family::Inof);
  }

  // Seconds from the first byte until every client has `routes`.
  double bulk(std::size_t first, std::size_t count, bool announce) {
    const Bytes stream = messages(first, count, announce);
    const std::size_t target = announce ? first + count : first;
    const auto start = Clock::now();
    queue(clients_[0], stream);
    wait(
        [&] {
          return std::all_of(clients_.begin() + 1, clients_.end(),
                             [&](const Client& c) { return c.routes == target; });
        },
        "routes");
    return seconds(Clock::now() - start);
  }

  // Milliseconds of single routes, one for each client and route.
  std::vector<double> events(std::size_t first, std::size_t count, unsigned rate) {
    std::vector<double> out;
    auto next = Clock::now();
    for (std::size_t i = 0; i < count; ++i) {
      next += std::chrono::microseconds(1'000'000 / rate);
      std::this_thread::sleep_until(next);
      queue(clients_[0], messages(first + i, 1, true));
      const auto start = Clock::now();
      wait(
          [&] {
            return std::all_of(clients_.begin() + 1, clients_.end(),
                               [&](const Client& c) { return c.routes == first + i + 1; });
          },
          "a route");
      for (std::size_t c = 1; c < clients_.size(); ++c)
        out.push_back(seconds(clients_[c].heard - start) * 1000);
    }
    std::ranges::sort(out);
    return out;
  }

 private:
  static double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

  Client open(unsigned index) {
    Client c;
    c.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl((10U << 24U) + (99U << 16U) + (1U << 8U) + index + 1);
    sockaddr_in far{};
    far.sin_family = AF_INET;
    far.sin_port = htons(kPort);
    if (inet_pton(AF_INET, router_, &far.sin_addr) != 1) fail("no address: " + std::string(router_));
    if (bind(c.fd, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0) fail("cannot use 10.99.1.x");
    if (connect(c.fd, reinterpret_cast<sockaddr*>(&far), sizeof far) != 0) fail("cannot connect");
    const int at_once = 1;
    setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    Open hello{.asn = 65001, .hold_s = 180, .router_id = ntohl(own.sin_addr.s_addr)};
    hello.families.add(Family::Inof);
    hello.extended_message = false;
    c.out = encode_open(hello);
    return c;
  }

  // Opaque routes of a kind that nobody has, so that all of it is the key.
  static Bytes messages(std::size_t first, std::size_t count, bool announce) {
    std::vector<Bytes> routes(count, Bytes(kRouteSize));
    std::vector<ByteView> views;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t n = first + i;
      for (unsigned b = 0; b < 4; ++b) routes[i][6 + b] = static_cast<std::uint8_t>(n >> (8 * b));
      views.emplace_back(routes[i]);
    }
    const UpdateShape shape{.family = Family::Inof};
    Bytes out;
    if (!announce) {
      encode_withdraw(shape, views, out);
      return out;
    }
    const PathAttributes attributes{.origin = Origin::Igp, .as_path = AsPath{}, .local_pref = 100};
    encode_announce(shape, encode_attributes(attributes, {}, false), *parse_ip("10.99.1.1"), views, out);
    return out;
  }

  template <class Condition>
  void wait(const Condition& done, const char* what) {
    const auto end = Clock::now() + kLimit;
    while (!done()) {
      if (Clock::now() > end) fail(std::string("no ") + what + " within the limit");
      std::vector<pollfd> fds;
      fds.reserve(clients_.size());
      for (const Client& c : clients_)
        fds.push_back({c.fd, static_cast<short>(POLLIN | (c.sent < c.out.size() ? POLLOUT : 0)), 0});
      poll(fds.data(), fds.size(), 100);
      for (std::size_t i = 0; i < fds.size(); ++i) {
        if ((fds[i].revents & POLLOUT) != 0) write_some(clients_[i]);
        if ((fds[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_some(clients_[i]);
      }
    }
  }

  // Behind what is not out yet.
  static void queue(Client& c, const Bytes& bytes) {
    c.out.erase(c.out.begin(), c.out.begin() + static_cast<std::ptrdiff_t>(c.sent));
    c.sent = 0;
    c.out.insert(c.out.end(), bytes.begin(), bytes.end());
  }

  static void write_some(Client& c) {
    const ssize_t n = ::send(c.fd, c.out.data() + c.sent, c.out.size() - c.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) c.sent += static_cast<std::size_t>(n);
  }

  void read_some(Client& c) {
    static Bytes buffer(256U << 10U);
    const ssize_t n = recv(c.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n == 0) fail("the router closed a session");
    if (n < 0) return;
    c.in.feed(ByteView(buffer).first(static_cast<std::size_t>(n)));
    for (auto next = c.in.next();; next = c.in.next()) {
      if (!next) fail("a bad message");
      if (!*next) return;
      take(c, **next);
    }
  }

  void take(Client& c, const Message& message) {
    if (message.type == MessageType::Notification)
      fail("NOTIFICATION: " + to_string(*decode_notification(message.body)));
    if (message.type == MessageType::Open) {
      queue(c, encode_keepalive());
    }
    if (message.type == MessageType::Keepalive) c.up = true;
    if (message.type != MessageType::Update) return;
    const auto update = decode_update(message.body, context_);
    if (!update) fail("a bad UPDATE");
    for (const auto& r : update->announced) c.routes += r.nlris.size();
    for (const auto& r : update->withdrawn) c.routes -= r.nlris.size();
    c.heard = Clock::now();
  }

  const char* router_;
  std::vector<Client> clients_;
  UpdateContext context_;
};

double at(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) fail("usage: bgp_load ROUTER CLIENTS ROUTES EVENTS RATE");
  const auto number = [&](int i) { return static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10)); };
  const unsigned routes = number(3);
  Load load(argv[1], number(2));
  const double announce = load.bulk(0, routes, true);
  const double withdraw = load.bulk(0, routes, false);
  load.bulk(0, routes, true);
  const auto events = load.events(routes, number(4), number(5));
  std::printf(
      "{\"clients\": %u, \"routes\": %u, \"announce_s\": %.4f, \"withdraw_s\": %.4f, \"event_ms\": {\"p50\": "
      "%.3f, \"p99\": %.3f, \"max\": %.3f}}\n",
      number(2), routes, announce, withdraw, at(events, 0.5), at(events, 0.99), events.back());
  return 0;
}
