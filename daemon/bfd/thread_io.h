// SPDX-License-Identifier: Apache-2.0
// The real-time thread of BFD: owns sockets and sessions. Orders come in as values by a queue, changes of
// state go out by another.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "daemon/bfd/saved.h"
#include "daemon/bfd/sockets_io.h"
#include "daemon/bfd/table.h"
#include "daemon/core/pi_mutex.h"
#include "loader/fd.h"
#include "loader/result.h"

namespace lossless::bfd {

class BfdThread {
 public:
  // Opens its sockets in the calling thread's network namespace and starts.
  static Result<std::unique_ptr<BfdThread>> start();
  ~BfdThread();  // neighbours are told that it is on purpose
  BfdThread(const BfdThread&) = delete;
  BfdThread& operator=(const BfdThread&) = delete;

  void set(const Peer& peer) { post(peer); }
  void remove(const PeerKey& key) { post(Remove{key}); }
  // See Table.
  void adopt(const Peer& peer, const SavedSession& saved) { post(Adopt{peer, saved}); }
  void prepare_hand_over() { post(Prepare{}); }
  // Ends all sessions silently; those that were Up.
  std::vector<SavedPeer> freeze();

  struct News {
    PeerKey key;
    Change change;
  };
  // Readable when there is news.
  int news_fd() const { return news_fd_.get(); }
  std::vector<News> take_news();

  struct View {
    Table::Entry entry;
    std::string error;  // why the last packet did not go out
  };
  struct Snapshot {
    std::vector<View> sessions;
    Strays strays;
    Nanos now = 0;
  };
  // Waits for the thread, which takes microseconds.
  Snapshot snapshot();
  bool real_time() const { return real_time_; }

 private:
  struct Remove {
    PeerKey key;
  };
  struct Query {
    std::shared_ptr<std::promise<Snapshot>> answer;
  };
  struct Stop {};
  struct Adopt {
    Peer peer;
    SavedSession session;
  };
  struct Prepare {};
  struct Freeze {
    std::shared_ptr<std::promise<std::vector<SavedPeer>>> answer;
  };
  using Order = std::variant<Peer, Remove, Query, Adopt, Prepare, Freeze, Stop>;

  explicit BfdThread(std::uint64_t seed);
  Status open();
  void post(Order order);
  void run();
  void take_orders();
  void obey(const Order& order);
  void forget_sender(const Peer& peer);
  Snapshot make_snapshot() const;
  std::vector<SavedPeer> save_and_freeze();
  void set_timer();

  Table table_;
  std::map<std::uint32_t, Sender> senders_;  // by discriminator
  std::vector<Receiver> receivers_;
  Fd epoll_, timer_, wake_, news_fd_;
  PiMutex mutex_;
  std::vector<Order> orders_;  // guarded by mutex_
  std::vector<News> news_;     // guarded by mutex_
  std::atomic<bool> has_orders_ = false;
  bool stopping_ = false;
  std::atomic<bool> real_time_ = false;
  std::thread thread_;
};

}  // namespace lossless::bfd
