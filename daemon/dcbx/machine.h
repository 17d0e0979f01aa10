// SPDX-License-Identifier: Apache-2.0
// DCBX of one port: what we are configured to, what the neighbour says, and what holds. IEEE 802.1Q, 38.4
// (asymmetric machine for ETS, symmetric for PFC), and CEE 1.01 (control and feature machines). Pure; time is
// of no meaning to it, LLDP ages what was said.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/config.h"
#include "daemon/core/wire.h"
#include "daemon/dcbx/config.h"
#include "daemon/dcbx/packet.h"
#include "daemon/lldp/agent.h"

namespace lossless::dcbx {

// One feature's settings together.
struct Params {
  Table ets;
  std::uint8_t pfc = 0;  // priorities, bit by bit
  std::vector<App> apps;
  bool operator==(const Params&) const = default;
};

enum class Dialect : std::uint8_t { Ieee, Cee };
std::string_view to_string(Dialect dialect);

// Where what holds of a feature comes from.
enum class Source : std::uint8_t { Local, Peer };
std::string_view to_string(Source source);

struct Operational {
  Params params;
  Source ets = Source::Local;
  Source pfc = Source::Local;
  Source apps = Source::Local;
  bool operator==(const Operational&) const = default;
};

// What is wrong between the two ends.
enum class Alarm : std::uint8_t {
  MultiplePeers,    // more than one neighbour speaks DCBX: none of them counts (38.4)
  VersionMismatch,  // the neighbour speaks a dialect that we are told not to, or cannot speak
  PfcMismatch,
  AppMismatch,
  PeerError,  // the neighbour reports an error, so a willing end does not take over what it has (CEE)
  Malformed,  // TLVs that were left out
};
std::string_view to_string(Alarm alarm);
using Alarms = std::map<Alarm, std::string>;  // with what it is about

// What the neighbour says, in terms of both dialects, for people.
struct PeerView {
  Said said;
  Mac mac{};
};

class Machine {
 public:
  Machine() = default;

  // `config.on` must be true. `mac` decides between two willing ends (38.4.2).
  void configure(const DcbxConfig& config, const Params& local, const Mac& mac);
  // A neighbour's TLVs; none of DCBX: it is no peer (any more).
  void heard(const lldp::NeighbourKey& from, Said said, const Mac& mac);
  void gone(const lldp::NeighbourKey& from);

  // To be sent now.
  std::vector<lldp::OrgTlv> tlvs() const;
  const Params& local() const { return local_; }
  const DcbxConfig& config() const { return config_; }
  const Operational& operational() const { return operational_; }
  const Alarms& alarms() const { return alarms_; }
  Dialect dialect() const { return dialect_; }
  std::size_t peers() const { return peers_.size(); }
  // The neighbour that counts; nullptr: there is none.
  const PeerView* peer() const;
  // Of CEE; peer_acked: it has seen what we say now.
  std::uint32_t sequence() const { return sequence_; }
  bool peer_acked() const;

 private:
  void run();
  void choose_dialect(const PeerView* peer);
  void run_ieee(const Ieee& peer, const Mac& mac);
  void run_cee(const Cee& peer);
  bool cee_takes_peer(std::string_view what, bool willing, const CeeFeature& theirs);
  void number_changes();
  Ieee ieee() const;
  Cee cee() const;

  DcbxConfig config_;
  Params local_;
  Mac mac_{};
  std::map<lldp::NeighbourKey, PeerView> peers_;
  Operational operational_;
  Alarms alarms_;
  Dialect dialect_ = Dialect::Ieee;
  std::uint32_t sequence_ = 0;
  std::uint32_t peer_sequence_ = 0;  // that we acknowledge
  Cee numbered_;                     // what had the sequence number, without its control
};

// What a port's configuration says to DCBX, and what the port is to be when `operational` holds. Pure.
std::vector<App> apps_of(const std::vector<Application>& applications);
Params local_params(const PortConfig& port, std::vector<App> apps);
PortConfig operational_config(const PortConfig& port, const Operational& operational);

}  // namespace lossless::dcbx
