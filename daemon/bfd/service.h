// SPDX-License-Identifier: Apache-2.0
// BFD on the daemon's event loop: who wants which session, the thread that keeps them, news for the clients.
//
// Other subjects call add() with an address and a listener. The listener is called on the loop, for each time
// that the session comes up or goes down from then on.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "daemon/bfd/clients.h"
#include "daemon/bfd/thread_io.h"
#include "daemon/restart/keeper_io.h"
#include "daemon/restart/named_fd.h"

namespace lossless::bfd {

class BfdService {
 public:
  explicit BfdService(asio::io_context& loop) : loop_(loop), keeper_(loop, restart::Kind::Bfd) {}

  // The configuration, or interfaces, may have changed.
  void apply(const Config& config);
  // The session is made unless it is there already. A session that is Up then is told at once.
  Clients::Handle add(Client client);
  void remove(Clients::Handle handle);
  // Sessions of an earlier process (docs/restart.md) go on as soon as somebody wants them: before all else.
  void restore(restart::NamedFds& inherited);
  // Everybody had the time to want them.
  void finish_restore() { inherited_.clear(); }
  // Asks the neighbours for patience, ends the sessions silently, and has them ready for the next process.
  std::vector<restart::Lent> hand_over();
  // Ends all sessions and says so to the neighbours.
  void stop();

  struct Down {
    Diag diag = Diag::None;
    bool by_neighbour_admin = false;
    Nanos at = 0;
  };
  // nullptr: it has not gone down yet.
  const Down* last_down(const PeerKey& key) const;
  const Clients& clients() const { return clients_; }
  // Empty while no session is wanted.
  BfdThread::Snapshot snapshot() const { return thread_ ? thread_->snapshot() : BfdThread::Snapshot{}; }
  bool real_time() const { return thread_ && thread_->real_time(); }
  // Why there are no sessions though they are wanted; empty: all is well.
  const std::string& error() const { return error_; }

 private:
  void settle();
  bool run_thread();
  void wait_for_news();
  void on_news(const BfdThread::News& news);

  asio::io_context& loop_;
  Clients clients_;
  std::map<PeerKey, Peer> posted_;  // what the thread was told
  std::map<PeerKey, State> states_;
  std::map<PeerKey, Down> downs_;
  std::unique_ptr<BfdThread> thread_;
  std::optional<asio::posix::stream_descriptor> news_;
  std::string error_;
  restart::Keeper keeper_;
  std::map<PeerKey, SavedSession> inherited_;  // that nobody has wanted yet
};

}  // namespace lossless::bfd
