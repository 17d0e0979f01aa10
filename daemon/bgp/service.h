// SPDX-License-Identifier: Apache-2.0
// BGP on the daemon's event loop: sockets and timers go to the speaker, what it wants goes out, and routes of
// iNOF go to and from the switch (inof_bridge.h).
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/bfd/service.h"
#include "daemon/bgp/inof_bridge.h"
#include "daemon/bgp/speaker.h"
#include "daemon/bgp/tcp_io.h"
#include "daemon/core/config.h"
#include "daemon/core/wake_timer.h"
#include "daemon/inof/switch_service.h"
#include "daemon/restart/keeper_io.h"
#include "daemon/restart/named_fd.h"

namespace lossless::bgp {

class BgpService final : private TcpEvents {
 public:
  // `restarted`: this daemon takes up what an earlier one left, and peers may still have its routes.
  BgpService(asio::io_context& loop, inof::SwitchService& inof, bfd::BfdService& bfd, bool restarted);
  ~BgpService() override;

  // The whole configuration, at the start and after each reload.
  void apply(const Config& config);
  // What an earlier process left (docs/restart.md): before the first apply(). Takes out of `fds` what is its
  // own.
  void restore(restart::NamedFds& fds);
  // After the switch has its own back; `hosts_known`: it has, else they must be heard again.
  void finish_restore(bool hosts_known);
  // From now on what is needed after a kill is kept where a service manager keeps descriptors.
  void keep();
  // What the next process goes on with. Nothing may be called after it but stop().
  std::vector<restart::Lent> hand_over();
  // The daemon ends; `for_good`, or without graceful restart, neighbours are told.
  void stop(bool for_good);

  const Speaker& speaker() const { return speaker_; }
  const BgpConfig& config() const { return config_; }
  // Why nobody can connect to us; empty: nothing is wrong.
  const std::string& listen_error() const { return listen_error_; }
  // An operator's calls; what is wrong, or nothing.
  std::optional<std::string> clear(const PeerAddress& address, std::optional<Speaker::Soft> soft);
  std::optional<std::string> set_shutdown(const PeerAddress& address, bool down, const std::string& text);
  static Time now();
  // How the neighbour's segments are signed, and what did not match.
  Dropped dropped() { return tcp_.dropped(); }
  Authentication authentication(const Neighbor& neighbor, const Dropped& dropped) {
    return tcp_.authentication(neighbor.connection(), neighbor.settings(), dropped);
  }
  // What of the configuration this kernel cannot do; nothing: it can do all.
  static std::optional<std::string> find_kernel_fault(const Config& config);

 private:
  struct Range {
    AddressRange addresses;
    NeighborSettings settings;
  };

  // TcpEvents
  const NeighborSettings* tcp_wanted(const PeerAddress& remote, ConnId& conn) override;
  bool tcp_accepted(ConnId conn, const PeerAddress& remote, const IpAddress& local) override;
  void tcp_connected(ConnId conn, const IpAddress& local) override;
  void tcp_disconnected(ConnId conn, const std::string& why) override;
  void tcp_begins() override { keeper_.begin(); }
  void tcp_ends(bool changed) override { keeper_.end(changed); }
  void tcp_received(ConnId conn, ByteView bytes) override;
  void tcp_drained(ConnId conn) override;
  void tcp_trouble(const std::string& what) override;

  // BFD lost the neighbour.
  void bfd_down(const PeerAddress& address);
  void watch_by_bfd();
  void listen(const BgpConfig& config);
  std::optional<std::string> set_keys(const Config& config, const std::vector<TcpKey>& md5);
  void end();
  // What follows from each event: routes go out, timers are set.
  void after();
  void soon();
  void reap();
  void log_states();
  void schedule();
  // Restart, in service_restart.cpp
  struct Restored;
  void restore_speaker(SpeakerConfig& wanted);
  ConnId adopt(const SavedNeighbor& neighbor, const NeighborSettings& settings);
  Bytes image() const;
  void store_sockets();
  std::uint64_t stamp() const;
  void keep_event();

  asio::io_context& loop_;
  bfd::BfdService& bfd_;
  WakeTimer timer_;
  Tcp tcp_;
  InofBridge bridge_;
  Speaker speaker_;
  BgpConfig config_;
  std::vector<Range> ranges_;
  std::string listen_error_;
  std::map<PeerAddress, State> states_;  // as logged last
  std::optional<Time> restart_ends_;
  bool posted_ = false;
  std::map<PeerAddress, bfd::Clients::Handle> watched_;
  restart::Keeper keeper_;
  std::string config_text_;               // that is in force
  std::uint64_t stamp_ = 0;               // of what was kept last
  std::uint64_t sessions_ = 0;            // which ones the store has, as one number
  std::uint64_t own_changes_ = 0;         // of our routes, and by operators
  std::map<ConnId, std::string> stored_;  // sockets in the fd store
  bool handed_over_ = false;
  // After a restart: some of our routes are of hosts that nobody has heard since.
  bool hosts_unheard_ = false;
  unsigned age_s_ = 1;
  Restored* restored_ = nullptr;  // while restore() is at work
};

}  // namespace lossless::bgp
