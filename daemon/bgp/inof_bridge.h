// SPDX-License-Identifier: Apache-2.0
// Between the iNOF switch and BGP: hosts and configuration of ours become routes, routes of other switches
// become remote hosts, and zones and switches with a rule for who overrides whom (docs/inof-bgp.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "daemon/bgp/inof_config.h"
#include "daemon/bgp/inof_nlri.h"
#include "daemon/bgp/speaker.h"
#include "daemon/inof/remote.h"
#include "daemon/inof/switch_service.h"

namespace lossless::bgp {

// A host that left stays for so long as a route that says why, so that every switch hears the reason.
inline constexpr Time kSayWhy = std::chrono::seconds(10);

class InofBridge final : public RouteSink, public inof::RemoteSink {
 public:
  explicit InofBridge(inof::SwitchService& inof) : inof_(inof) {}
  ~InofBridge() override;

  // `wake`: our routes changed; carry them out soon, not in the call.
  void set_speaker(Speaker* speaker, std::function<void()> wake);
  void configure(bool on, RouterId router_id, std::uint32_t local_pref);
  // Instead of configure(), before the speaker has its routes back: nothing is announced.
  void begin_restore(RouterId router_id, std::uint32_t local_pref);
  // After it has: the routes of ours that neighbours have.
  void finish_restore();
  // What is ours now and what was: the difference is told. `hosts_known`: hosts that are not there have left.
  void compare_ours(bool hosts_known);
  // Tells the switch what routes say.
  void carry_out();
  void advance(Time now);
  std::optional<Time> due() const;

  void route_changed(Family family, ByteView key, const Path* used) override;

  void local_host(const inof::Host& host, bool online) override;
  void zone(std::string_view name, bool there) override;
  void zone_member(std::string_view name, const AddressRange& member, bool there) override;
  void default_zone(bool on) override;
  void hard_zoning(bool on) override;

  std::uint64_t unreadable() const { return unreadable_; }

 private:
  struct Known {
    InofRoute route;
    std::uint32_t local_pref = kDefaultLocalPref;
  };
  struct News {
    Bytes key;
    std::optional<Known> now;
  };

  void announce(const InofRoute& route);
  void withdraw(const InofRoute& route);
  void announce_all();
  void withdraw_all();
  void learn_all();
  void forget_all();
  void tell_host(const HostRoute* before, const HostRoute* now);
  void tell_config();

  inof::SwitchService& inof_;
  Speaker* speaker_ = nullptr;
  std::function<void()> wake_;
  bool on_ = false;
  RouterId router_id_ = 0;
  std::uint32_t local_pref_ = kDefaultLocalPref;
  std::vector<News> news_;
  std::map<Bytes, Known> known_;   // of other switches
  std::map<Bytes, Bytes> ours_;    // key -> route
  std::map<Bytes, Time> leaving_;  // our hosts that left: when the route goes
  bool config_changed_ = false;
  std::optional<std::set<Bytes>> still_ours_;  // while compare_ours() looks
  std::uint64_t unreadable_ = 0;
};

}  // namespace lossless::bgp
